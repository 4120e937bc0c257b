// The backend of PyTorch's BackendConfig tutorial: linear layers, and convolutions with a rectifier.
octet.backend @my_backend {
  octet.dtypes @w8 input = <ui8 range [0, 255] scale_min 2.44140625e-4 : f32>
    output = <ui8 range [0, 255] scale_min 2.44140625e-4 : f32> weight = <si8> bias = f32
  octet.pattern @linear dtypes = [@w8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %y = octet.match ["nn.linear"](%x, %w, %b)
    octet.yield %y : none
  }
  octet.pattern @conv_relu dtypes = [@w8] {
    %x = octet.activation
    %w = octet.weight axis = 0
    %b = octet.bias optional
    %c = octet.match ["nn.conv"](%x, %w, %b)
    %y = octet.match ["nn.relu"](%c)
    octet.yield %y : none
  }
}
