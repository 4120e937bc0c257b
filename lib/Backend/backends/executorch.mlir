// PyTorch's get_executorch_backend_config().
octet.backend @executorch includes "torch" {
  octet.dtypes @symmetric input = <si8 scale_min 2.44140625e-4 : f32> output = <si8 scale_min 2.44140625e-4 : f32>
    weight = <si8 range [-127, 127] scale_min 2.44140625e-4 : f32> bias = si32
  octet.dtypes @weighted input = <ui8> output = <ui8> weight = <si8> bias = si32
  octet.dtypes @dynamic dynamic input = <ui8> output = <f32> weight = <si8> bias = f32
  octet.dtypes @dynamic_symmetric dynamic input = <si8 scale_min 2.44140625e-4 : f32> output = <f32>
    weight = <si8 range [-127, 127] scale_min 2.44140625e-4 : f32> bias = f32
  octet.dtypes @dynamic_f16 dynamic input = <f16> output = <f32> weight = <f16> bias = f32
  octet.dtypes @symmetric_values input = <si8 scale_min 2.44140625e-4 : f32> output = <si8 scale_min 2.44140625e-4 : f32>
  octet.dtypes @values input = <ui8> output = <ui8>
  octet.dtypes @bytes input = <f32> output = <f32> weight = <ui8>

  octet.dtypes_list @conv2d_types [@symmetric, @weighted]
  octet.dtypes_list @linear_types [@symmetric, @weighted, @dynamic, @dynamic_symmetric, @dynamic_f16]
  octet.dtypes_list @binary_types [@symmetric_values, @weighted]
  octet.dtypes_list @difference_types [@symmetric_values, @weighted]
  octet.dtypes_list @batch_norm_types [@symmetric_values, @values]
  octet.dtypes_list @embedding_types [@bytes]
  octet.dtypes_list @functional_embedding_types [@bytes]
  octet.dtypes_list @copy_types [@symmetric_values, @values]

  //===--- Operators that share their input's observer here only ---===//

  octet.chain @further dtypes = [@copy_types] observation = shared : ["torch.nn.ELU", "torch.nn.functional.elu",
      "torch.nn.LeakyReLU", "torch.nn.functional.leaky_relu", "torch.nn.functional.leaky_relu_", "torch.Tensor.leaky_relu",
      "torch.nn.Flatten", "torch.nn.functional.pad", "torch.nn.ConstantPad2d", "torch.permute", "torch.permute_copy",
      "torch.concat", "torch.concatenate"]
}
