// PyTorch's get_qnnpack_backend_config().
octet.backend @qnnpack includes "torch" {
  octet.dtypes @symmetric input = <si8 scale_min 2.44140625e-4 : f32> output = <si8 scale_min 2.44140625e-4 : f32>
    weight = <si8 range [-127, 127] scale_min 2.44140625e-4 : f32> bias = si32
  octet.dtypes @weighted input = <ui8> output = <ui8> weight = <si8> bias = si32
  octet.dtypes @dynamic dynamic input = <ui8> output = <f32> weight = <si8> bias = f32
  octet.dtypes @dynamic_f16 dynamic input = <f16> output = <f32> weight = <f16> bias = f32
  octet.dtypes @symmetric_values input = <si8 scale_min 2.44140625e-4 : f32> output = <si8 scale_min 2.44140625e-4 : f32>
  octet.dtypes @values input = <ui8> output = <ui8>
  octet.dtypes @unit input = <ui8> output = <ui8 range [0, 255] scale 3.90625e-3 : f32 zero_point 0>
  octet.dtypes @signed_unit input = <ui8> output = <ui8 range [0, 255] scale 7.8125e-3 : f32 zero_point 128>
  octet.dtypes @bytes input = <f32> output = <f32> weight = <ui8>
  octet.dtypes @nibbles input = <f32> output = <f32> weight = <ui4>

  octet.dtypes_list @conv2d_types [@symmetric, @weighted]
  octet.dtypes_list @conv_types [@symmetric, @weighted]
  octet.dtypes_list @linear_types [@symmetric, @weighted, @dynamic, @dynamic_f16]
  octet.dtypes_list @fused_linear_types [@symmetric, @weighted, @dynamic, @dynamic_f16]
  octet.dtypes_list @binary_types [@symmetric_values, @values]
  octet.dtypes_list @matmul_types [@symmetric_values, @values]
  octet.dtypes_list @recurrent_types [@dynamic, @dynamic_f16]
  octet.dtypes_list @embedding_types [@bytes, @nibbles]
  octet.dtypes_list @default_types [@symmetric_values, @values]
  octet.dtypes_list @rectified_types [@symmetric_values, @values]
  octet.dtypes_list @batch_norm_types [@symmetric_values, @values]
  octet.dtypes_list @unit_types [@symmetric_values, @unit]
  octet.dtypes_list @signed_unit_types [@symmetric_values, @signed_unit]
  octet.dtypes_list @copy_types [@symmetric_values, @values]
  octet.dtypes_list @more_copy_types [@symmetric_values, @values]
}
