// PyTorch's get_default_qconfig_mapping(): that of the engine "x86", which is the one of "fbgemm".
octet.qconfig_mapping @native_default includes "fbgemm_default_mapping" {
}
