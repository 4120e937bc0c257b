// PyTorch's get_default_qconfig_mapping("x86"), which is that of "fbgemm".
octet.qconfig_mapping @x86_default includes "fbgemm_default_mapping" {
}
