// PyTorch's get_x86_backend_config().
octet.backend @x86 includes "torch" {
  octet.dtypes @weighted input = <ui8> output = <ui8> weight = <si8> bias = f32
  octet.dtypes @dynamic dynamic input = <ui8> output = <f32> weight = <si8> bias = f32
  octet.dtypes @dynamic_f16 dynamic input = <f16> output = <f32> weight = <f16> bias = f32
  octet.dtypes @values input = <ui8> output = <ui8>
  octet.dtypes @unit input = <ui8> output = <ui8 range [0, 255] scale 3.90625e-3 : f32 zero_point 0>
    weight = <si8> bias = f32
  octet.dtypes @signed_unit input = <ui8> output = <ui8 range [0, 255] scale 7.8125e-3 : f32 zero_point 128>
    weight = <si8> bias = f32
  octet.dtypes @bytes input = <f32> output = <f32> weight = <ui8>
  octet.dtypes @nibbles input = <f32> output = <f32> weight = <ui4>

  octet.dtypes_list @conv2d_types [@weighted]
  octet.dtypes_list @conv_types [@weighted]
  octet.dtypes_list @linear_types [@weighted, @dynamic, @dynamic_f16]
  octet.dtypes_list @fused_linear_types [@weighted, @dynamic, @dynamic_f16]
  octet.dtypes_list @binary_types [@weighted]
  octet.dtypes_list @matmul_types [@weighted]
  octet.dtypes_list @recurrent_types [@dynamic, @dynamic_f16]
  octet.dtypes_list @embedding_types [@bytes, @nibbles]
  octet.dtypes_list @default_types [@values]
  octet.dtypes_list @rectified_types [@values]
  octet.dtypes_list @batch_norm_types [@values]
  octet.dtypes_list @unit_types [@unit]
  octet.dtypes_list @signed_unit_types [@signed_unit]
  octet.dtypes_list @copy_types [@values]
  octet.dtypes_list @more_copy_types [@values]
  octet.dtypes_list @shape_types [@values]
}
