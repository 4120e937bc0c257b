// PyTorch's get_default_qat_qconfig_mapping("x86"), which is that of "fbgemm".
octet.qconfig_mapping @x86_default_qat includes "fbgemm_default_qat_mapping" {
}
