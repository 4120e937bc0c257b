// PyTorch's get_tensorrt_backend_config().
octet.backend @tensorrt includes "torch" {
  octet.dtypes @weighted input = <si8> output = <si8> weight = <si8> bias = f32
  octet.dtypes @values input = <si8> output = <si8>

  octet.dtypes_list @conv2d_types [@weighted]
  octet.dtypes_list @conv_types [@weighted]
  octet.dtypes_list @linear_types [@weighted]
  octet.dtypes_list @fused_linear_types [@weighted]
  octet.dtypes_list @addmm_types [@weighted]
  octet.dtypes_list @binary_types [@weighted]
  octet.dtypes_list @matmul_types [@weighted]
  octet.dtypes_list @copy_types [@values]
  octet.dtypes_list @more_copy_types [@values]
  octet.dtypes_list @shape_types [@values]
}
