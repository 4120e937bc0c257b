// A mapping as JSON, with the keys of PyTorch's QConfigMapping.to_dict(): the same as its text.
// RUN: split-file %s %t
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/mapping.json > %t/json.mlir
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/mapping.mlir | diff - %t/json.mlir
// RUN: octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/including.json | FileCheck %s
// CHECK: octet.qconfig_mapping @mapping {
// CHECK-NEXT: octet.global none
// CHECK-NEXT: octet.object_type "nn.sigmoid" #octet.qconfig<activation = #octet.mean_squared_error<dtype = ui8{{.*}}>, result =

// DEFINE: %{file} =
// DEFINE: %{wrong} = not octet-opt %t/network.mlir --octet-attach-policy=qconfig-mapping=%t/%{file}.json 2>&1 | FileCheck %s
// REDEFINE: %{file} = cut
// RUN: %{wrong} --check-prefix=CUT
// CUT: cut.json:1:1: error: expected JSON, but got something else: [{{.*}}
// REDEFINE: %{file} = key
// RUN: %{wrong} --check-prefix=KEY
// KEY: key.json:1:1: error: expected "", "object_type", "module_name_regex", "module_name", "module_name_object_type_order", "name", "includes", "quantized_inputs" and "quantized_outputs", but got "module"
// REDEFINE: %{file} = name
// RUN: %{wrong} --check-prefix=NAME
// NAME: name.json:1:1: error: expected a text as "name"
// REDEFINE: %{file} = list
// RUN: %{wrong} --check-prefix=LIST
// LIST: list.json:1:1: error: expected a list of entries as "module_name"
// REDEFINE: %{file} = entry
// RUN: %{wrong} --check-prefix=LIST-ENTRY
// LIST-ENTRY: entry.json:1:1: error: expected a list of entries as "object_type"
// REDEFINE: %{file} = pair
// RUN: %{wrong} --check-prefix=PAIR
// PAIR: pair.json:1:1: error: expected entries [key, QConfig] in "object_type"
// REDEFINE: %{file} = order
// RUN: %{wrong} --check-prefix=ORDER
// ORDER: order.json:1:1: error: expected entries [module, object type, index, QConfig] in "module_name_object_type_order"
// REDEFINE: %{file} = index
// RUN: %{wrong} --check-prefix=INDEX
// INDEX: index.json:1:1: error: expected a text and a number behind the module in "module_name_object_type_order"
// REDEFINE: %{file} = qconfig
// RUN: %{wrong} --check-prefix=QCONFIG
// QCONFIG: qconfig.json:1:1: error: expected null or an object with an "activation" as a QConfig
// REDEFINE: %{file} = member
// RUN: %{wrong} --check-prefix=MEMBER
// MEMBER: member.json:1:1: error: expected "activation", "result", "weight", "channel_activation", "column_activation" and "trunk_activation" in a QConfig, but got "bias"
// REDEFINE: %{file} = observer
// RUN: %{wrong} --check-prefix=OBSERVER
// OBSERVER: observer.json:1:1: error: expected the text of an observer as "activation", such as "#octet.min_max<dtype = ui8>"
// REDEFINE: %{file} = dtype
// RUN: %{wrong} --check-prefix=DTYPE
// DTYPE: error: expected an integer dtype with a sign and 2 to 32 bits (ui8, si8), but got 'i8'
// REDEFINE: %{file} = regex
// RUN: %{wrong} --check-prefix=REGEX
// REGEX: regex.json:1:1: error: 'octet.module_name_regex' op expected a regular expression, but got "(": {{.*}}

//--- network.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- mapping.json
{
  "name": "mine",
  "": {"activation": "#octet.min_max<dtype = ui8>", "weight": "#octet.min_max<dtype = si8>"},
  "object_type": [["nn.relu", null],
                  ["nn.sigmoid", {"activation": "#octet.min_max<dtype = ui8>", "channel_activation": "#octet.per_channel_min_max<dtype = ui8>",
                                  "column_activation": "#octet.column_min_max<dtype = ui8>",
                                  "trunk_activation": "#octet.min_max<dtype = ui16>",
                                  "result": "#octet.fixed_qparams<ui8, scale = 1.0 : f32, zero_point = 0>"}]],
  "module_name": [["head", null]],
  "module_name_regex": [["b", null], ["a", null]],
  "module_name_object_type_order": [["body", "Conv", 1, null]]
}

//--- mapping.mlir
octet.qconfig_mapping @mine {
  octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8>>
  octet.module_name "head" none
  octet.module_name_object_type_order "body", "Conv", 1 none
  octet.module_name_regex "b" none
  octet.module_name_regex "a" none
  octet.object_type "nn.relu" none
  octet.object_type "nn.sigmoid" #octet.qconfig<activation = #octet.min_max<dtype = ui8>,
    channel_activation = #octet.per_channel_min_max<dtype = ui8>, column_activation = #octet.column_min_max<dtype = ui8>,
    trunk_activation = #octet.min_max<dtype = ui16>, result = #octet.fixed_qparams<ui8, scale = 1.0 : f32, zero_point = 0>>
}

//--- including.json
{"includes": "cpu_default_mapping", "": null}

//--- cut.json
{"": null
//--- key.json
{"module": []}
//--- name.json
{"name": 1}
//--- list.json
{"module_name": {"head": null}}
//--- entry.json
{"object_type": [{"nn.relu": null}]}
//--- pair.json
{"object_type": [["nn.relu"]]}
//--- order.json
{"module_name_object_type_order": [["body", "Conv", null]]}
//--- index.json
{"module_name_object_type_order": [["body", "Conv", "1", null]]}
//--- qconfig.json
{"": {"weight": "#octet.min_max<dtype = si8>"}}
//--- member.json
{"": {"activation": "#octet.min_max<dtype = ui8>", "bias": "f32"}}
//--- observer.json
{"": {"activation": "#octet.same_shape"}}
//--- dtype.json
{"": {"activation": "#octet.min_max<dtype = i8>"}}
//--- regex.json
{"module_name_regex": [["(", null]]}
