// The QConfig that PyTorch's tests give to the TensorRT backend: signed symmetric values, one scale for a weight.
octet.qconfig_mapping @tensorrt_default {
  octet.global #octet.qconfig<activation = #octet.histogram<dtype = si8, scheme = symmetric>,
    weight = #octet.min_max<dtype = si8, scheme = symmetric>>
}
