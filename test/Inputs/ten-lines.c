#include "net.h"
#include <stdio.h>
int main(void) {
  static float x[net_input_0_elements] = {1, 2, 3}, y[net_output_0_elements];
  octet_model *model = net_create(1, NULL, NULL, 0);
  int failed = !model || net_run(model, (const void *[]){x}, (void *[]){y});
  printf("%d %g %g %g %s\n", failed, y[0], y[1], y[2], model ? net_program(model)->level : "");
  net_destroy(model);
  return failed;
}
