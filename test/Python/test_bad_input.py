# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong policies and wrong data: one message each, with its place and what would be right."""
import re

import pytest

NETWORK = """func.func @main(%x: tensor<1x2xf32> {nn.name = "x"}) -> tensor<1x2xf32> {
  %w = nn.constant dense<0.5> : tensor<2x2xf32>
  %l = nn.linear %x, %w {octet.origin = #octet.origin<"fc", "torch.nn.Linear", 0>} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %y = nn.relu %l {octet.origin = #octet.origin<"act", "torch.nn.ReLU", 0>} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
"""
RELU = "{ %x = octet.activation %y = octet.match [\"nn.relu\"](%x) octet.yield %y : none }"
QCONFIG = "#octet.qconfig<activation = #octet.min_max<dtype = ui8>, weight = #octet.min_max<dtype = si8>>"
OTHER = "#octet.qconfig<activation = #octet.histogram<dtype = ui8>, weight = #octet.min_max<dtype = si8>>"

BACKENDS = {
    "two patterns of one graph": (
        f"octet.dtypes @d octet.pattern @a dtypes = [@d] {RELU} octet.pattern @b dtypes = [@d] {RELU}",
        "expected a graph of its own, but an earlier pattern has the same; omit one of them"),
    "an operator with a pattern stays float": (
        f'octet.dtypes @d octet.pattern @a dtypes = [@d] {RELU} octet.float ["nn.relu"] because "so"',
        'expected operators that no pattern takes, but a pattern takes "nn.relu"; omit one of them'),
    "unknown data types": (f"octet.pattern @a dtypes = [@none] {RELU}", "expected the symbol of an 'octet.dtypes' of this backend, but got @none"),
    "a type that is no type": ("octet.dtypes @d input = <u8>", "types are written ui8, si8, si32, f16 or f32"),
    "a range outside of the type": ("octet.dtypes @d input = <ui8 range [0, 300]>", "expected a range within 'ui8', but got [0, 300]"),
    "an unknown kind of observation": (
        "octet.pattern @a dtypes = [] observation = often {}",
        "one of the following enum values for attribute 'observation' [different, shared, none]"),
    "an unknown leaf": ("octet.pattern @a dtypes = [] { %x = octet.activaton }", '; the nearest names are "octet.activation"'),
    "an unknown operator": (
        'octet.dtypes @d octet.pattern @a dtypes = [@d] { %x = octet.activation %y = octet.match ["nn.relo"](%x) octet.yield %y : none }',
        'names the operator "nn.relo", which its dialect does not have; the nearest names are "nn.relu"'),
}
MAPPINGS = {
    "an unknown observer": ("octet.global #octet.qconfig<activation = #octet.maxmin<dtype = ui8>>", "; observers are "),
    "an unknown scheme": (
        "octet.global #octet.qconfig<activation = #octet.min_max<dtype = ui8, scheme = sym>>", "expected one of [affine, symmetric"),
    "a type that is no type": ("octet.global #octet.qconfig<activation = #octet.min_max<dtype = u8>>", "types are written ui8, si8"),
    "an unknown entry": ("octet.globl none", 'the nearest names are "octet.global"'),
    "two entries of one subject": (f'octet.global none octet.object_type "nn.relu" none octet.object_type "nn.relu" {QCONFIG}',
                                   "expected one entry of this kind and key, but there is another"),
    "an entry that applies to nothing": (f'octet.global {QCONFIG} octet.module_name "fcc" none', '; the nearest names are "fc"'),
    "unequal QConfigs of a group": (
        f'octet.object_type "torch.nn.Linear" {QCONFIG} octet.object_type "torch.nn.ReLU" {OTHER}', "; give both object types the same activation observer"),
}


@pytest.fixture
def refuse(tool, tmp_path):
    """refuse(options, passes) gives the only error of octet-opt on the network."""

    def refuse(policy, *passes):
        (tmp_path / "network.mlir").write_text(NETWORK)
        done = tool("octet-opt", "network.mlir", f"--octet-attach-policy={policy}", *passes, "-o", "/dev/null", check=False, cwd=tmp_path)
        errors = re.findall(r"^\S*:? ?error: .*|^\S+:\d+:\d+: error: .*", done.stderr, re.M)
        assert done.returncode == 1 and len(errors) == 1, done.stderr
        return errors[0]

    return refuse


@pytest.mark.parametrize("name", BACKENDS)
def test_backend(refuse, tmp_path, name):
    text, message = BACKENDS[name]
    (tmp_path / "backend.mlir").write_text(f"octet.backend @mine {{\n{text}\n}}\n")
    error = refuse("backend=backend.mlir qconfig-mapping=cpu_default_mapping", "--octet-fuse", "--octet-prepare")
    assert message in error and re.match(r"backend.mlir:[12]:\d+: ", error)


@pytest.mark.parametrize("name", MAPPINGS)
def test_mapping(refuse, tmp_path, name):
    text, message = MAPPINGS[name]
    (tmp_path / "mapping.mlir").write_text(f"octet.qconfig_mapping @mine {{\n{text}\n}}\n")
    error = refuse("backend=cpu qconfig-mapping=mapping.mlir", "--octet-fuse", "--octet-prepare=strict=true")
    place = "network.mlir:3" if name.startswith("unequal") else r"mapping.mlir:[12]"
    assert message in error and re.match(place + r":\d+: ", error)


def test_mappings_that_include_each_other(refuse, tmp_path):
    for own, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{own}.mlir").write_text(f'octet.qconfig_mapping @{own} includes "{other}.mlir" {{}}\n')
    error = refuse("backend=cpu qconfig-mapping=a.mlir")
    assert re.match(r"b.mlir:1:1: error: .*includes 'a.mlir', which includes this one; omit one of them", error)


def test_calibration_never_run(refuse):
    error = refuse("backend=cpu", "--octet-fuse", "--octet-prepare", "--octet-convert")
    assert re.match(r"network.mlir:1:\d+: error: .*'octet.observer' op has seen nothing; calibrate before octet-convert", error)


def test_statistics_of_another_network(refuse, tmp_path):
    (tmp_path / "other.mlir").write_text("octet.observer @other #octet.min_max<dtype = ui8> statistics dense<0> : tensor<8xi8>\n")
    error = refuse("backend=cpu", "--octet-fuse", "--octet-prepare", "--octet-calibrate=load-statistics=other.mlir")
    assert "'other.mlir': the network has no observer 'other'; give statistics that were saved with this network" in error
