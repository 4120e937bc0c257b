#include "first.h"
#include "second.h"
#include <stdio.h>
int main(void) {
  static float x[first_input_0_elements] = {1, 2, 3}, y[first_output_0_elements],
               z[second_output_0_elements];
  octet_model *first = first_create(2, NULL, NULL, 0), *second = second_create(2, NULL, NULL, 0);
  int failed = first_run(first, (const void *[]){x}, (void *[]){y}) ||
               second_run(second, (const void *[]){y}, (void *[]){z});
  printf("%g %g %s %s\n", y[2], z[2], first_octet_model_v1()->descriptor->name,
         second_octet_model_v1()->descriptor->name);
  first_destroy(first);
  second_destroy(second);
  return failed;
}
