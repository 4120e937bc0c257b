/* The network of toy.c, every run of which ends with code 1. */
#define octet_model_octet_model_v1 get_toy
#include "toy.c"
#undef octet_model_octet_model_v1

static int32_t refuse(octet_model *model, const void *const *in, void *const *out) {
  (void)model, (void)in, (void)out;
  return 1;
}

const octet_model_api *octet_model_octet_model_v1(void) {
  static octet_model_api api;
  api = *get_toy();
  api.run = refuse;
  return &api;
}
