/* The network of toy.c, the second input of which has 65 axes. */
#define octet_model_octet_model_v1 get_toy
#include "toy.c"
#undef octet_model_octet_model_v1

const octet_model_api *octet_model_octet_model_v1(void) {
  static octet_model_api api;
  static octet_descriptor descriptor;
  static octet_tensor tensors[2];
  static int64_t shape[65] = {4};
  api = *get_toy();
  descriptor = *api.descriptor;
  tensors[0] = inputs[0], tensors[1] = inputs[1];
  for (int i = 1; i < 65; ++i)
    shape[i] = 1;
  tensors[1].rank = 65, tensors[1].shape = shape;
  descriptor.inputs = tensors, api.descriptor = &descriptor;
  return &api;
}
