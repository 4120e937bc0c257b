# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/bench/node_tests.py: a sample of ONNX's own tests is right, and the command tells right from wrong."""
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))
import node_tests  # noqa: E402

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

RIGHT = """
test_abs test_acos test_acosh test_asin test_asinh test_atan test_atanh test_averagepool_2d_ceil_last_window_starts_on_pad test_ceil test_celu
test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True test_convtranspose_3d test_maxpool_3d_dilations
test_compress_default_axis test_hardmax_one_hot test_maxpool_with_argmax_2d_precomputed_strides test_maxunpool_export_with_output_shape
test_mod_float_edge_cases_fmod_0_float32 test_mod_mixed_sign_float16 test_optional_get_element_tensor test_reversesequence_batch test_maxpool_2d_uint8
test_cosh test_dequantizelinear_blocked test_depthtospace_crd_mode_example test_dropout_default_mask test_training_dropout_zero_ratio_mask test_expand_dim_changed
test_floor test_group_normalization_epsilon test_instancenorm_example test_layer_normalization_4d_axis1 test_log test_logsoftmax_large_number
test_lppool_2d_dilations test_lrn test_max_float32 test_mean_example test_min_float32 test_mish test_mvn test_pow test_prelu_broadcast
test_reduce_l1_keep_dims_random test_reduce_log_sum_asc_axes test_reduce_prod_do_not_keepdims_random test_reduce_sum_default_axes_keepdims_random
test_rms_normalization_4d_axis1 test_round test_selu_example test_shrink_soft test_sign test_sin test_sinh test_softsign
test_spacetodepth test_swish
test_and_bcast4v3d test_argmax_keepdims_random test_bitshift_left_uint8 test_bitwise_not_3d test_cast_FLOAT_to_FLOAT16 test_cast_FLOAT_to_DOUBLE
test_cumsum_2d_axis_0 test_cumsum_1d_reverse_exclusive test_equal test_gather_elements_negative_indices test_gather_negative_indices test_gathernd_example_int32_batch_dim1
test_isinf test_isnan test_less_bcast test_mod_mixed_sign_int32 test_onehot_with_negative_axis test_scatter_elements_with_axis test_scatternd_max
test_sub_uint8 test_top_k_smallest test_tril_neg test_where_long_example test_xor2d test_tan test_thresholdedrelu test_tile
test_resize_downsample_scales_cubic_antialias test_resize_tf_crop_and_resize_extrapolation_value
test_affine_grid_3d_align_corners_expanded test_gridsample_bicubic_align_corners_1_additional_1 test_gridsample_volumetric_nearest_align_corners_0
test_blackmanwindow_symmetric test_dft_irfft test_dft_rfft_opset19 test_melweightmatrix test_stft_with_window
test_attention_4d_causal_nonpad_batch_prefill test_attention_4d_gqa_with_past_and_present_fp16 test_basic_deform_conv_with_padding test_bitcast_uint16_to_int16
test_causal_conv_with_state_silu test_cumprod_2d_int32 test_flexattention_gqa test_flexattention_relative_positional test_linear_attention_gated_delta_mqa
test_swiglu_float16 test_pow_types_int64_float32 test_quantizelinear_int16 test_range_int32_type_negative_delta_expanded test_tensorscatter_circular
test_center_crop_pad_crop_and_pad test_col2im_5d test_det_nd test_roialign_aligned_true test_roialign_mode_max
test_nonmaxsuppression_two_classes test_nonmaxsuppression_two_batches test_nonmaxsuppression_center_point_box_format test_dequantizelinear_e4m3fn_zero_point
test_dequantizelinear_float4e2m1
test_reduce_max_empty_set test_reduce_min_empty_set test_reduce_prod_empty_set test_reduce_l1_empty_set test_reduce_log_sum_empty_set
test_reduce_log_sum_exp_empty_set test_matmulinteger test_unique_sorted_with_negative_axis
""".split()


@pytest.fixture(scope="module")
def cases():
    return {case.name: case for case in node_tests.collect_cases()}


@pytest.mark.parametrize("name", RIGHT)
def test_right(compiler, cases, name):
    import octet

    verdict, text = node_tests.judge(octet, cases[name])
    assert verdict == "right", text


def test_refusal_names_the_operator(compiler, cases):
    import octet

    assert node_tests.judge(octet, cases["test_image_decoder_decode_png_rgb"]) == ("refused", "ImageDecoder: the shape of its result depends on data")


class FakeCompiler:
    """A package whose networks give `results`, or raise them."""

    class CompileError(Exception):
        pass

    def __init__(self, results):
        self.results = results

    def compile(self, data, cpu_level):
        if isinstance(self.results, Exception):
            raise self.results
        return SimpleNamespace(run=self.results if callable(self.results) else lambda feeds: {"y": self.results})


def test_reference_decides_where_outputs_are_rounded(cases):
    case = cases["test_roialign_aligned_true"]
    exact = node_tests.run_reference(*node_tests.bind_inputs(case, lambda value: True))[0].astype(np.float32)
    verdict, text = node_tests.judge(FakeCompiler(exact), case)
    assert verdict == "right" and text.startswith("as ONNX's reference; ")
    assert node_tests.judge(FakeCompiler(exact * np.float32(1 + 3e-5)), case)[0] == "wrong"


def test_other_verdicts(cases):
    case = cases["test_relu"]
    expected = case.data_sets[0][1][0]
    judge = lambda results: node_tests.judge_apart(FakeCompiler(results), case)  # noqa: E731
    assert judge(expected * (1 + 1e-7))[0] == "right"
    assert judge(expected * (1 + 1e-4))[0] == "wrong"
    assert judge(expected[:1])[0] == "wrong"
    assert judge(FakeCompiler.CompileError("net.onnx: error: too long\nmore")) == ("refused", "too long")
    assert judge(FakeCompiler.CompileError("octet-compile ended with signal 11")) == ("crashed", "octet-compile ended with signal 11")
    assert judge(ValueError("odd"))[:2] == ("crashed", "ValueError: odd")
    assert judge(lambda feeds: os.kill(os.getpid(), signal.SIGKILL)) == ("crashed", "ended with code -9")


def test_integers_are_exact_and_have_their_type():
    expected = np.array([10**6, 0])
    assert node_tests.get_error(expected.copy(), expected) == 0
    for got in (expected + 1, expected.astype(np.int32), expected.astype(np.float32)):
        assert node_tests.get_error(got, expected) == np.inf


def test_error_is_relative_to_the_largest_magnitude():
    assert node_tests.get_error(np.array([1, -4.0]), np.array([1, -5.0])) == 0.2
    assert node_tests.get_error([np.nan, np.inf, 2], [np.nan, np.inf, 2]) == 0
    for got in ([1, np.inf, 2], [np.nan, -np.inf, 2], [np.nan, np.inf, np.nan], [[np.nan, np.inf, 2]]):
        assert node_tests.get_error(got, [np.nan, np.inf, 2]) == np.inf


def test_table_counts_by_operator(capsys):
    verdicts = {"a": ("right", "0"), "b": ("refused", "Fancy: no"), "c": ("wrong", "1.0"), "d": ("refused", "NonZero: its shape depends on data")}
    counts, reasons = node_tests.count_by_operator({"a": "Relu", "b": "Fancy", "c": "Relu", "d": "NonZero"}, verdicts)
    assert node_tests.print_table(counts, reasons) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [["Fancy", "1", "Fancy:", "no", "(1)"], ["NonZero", "1", "shapes", "that", "depend", "on", "data", "(1)"],
                         ["Relu", "1", "1", "1.0", "(1)"], "4 tests: 1 right, 2 refused, 1 wrong, 0 crashed".split(),
                         "right of all but training, shapes that depend on data, random numbers: 1 of 3 (33.3%)".split()]


def test_page_says_what_is_not_taken():
    verdicts = {"a": ("right", "0"), "b": ("refused", "Fancy: its result is random"), "c": ("refused", "Relu: a|b"), "d": ("refused", "Relu: a|b")}
    page = node_tests.format_page(*node_tests.count_by_operator({"a": "Relu", "b": "Fancy", "c": "Relu", "d": "Relu"}, verdicts))
    assert "1 of 4 are right, 0 wrong, 0 crashed" in page and "random numbers: 1 of 3 (33.3%)." in page
    assert "\n| `Fancy` |  | 1 | random numbers (1) |\n| `Relu` | 1 | 2 | Relu: a\\|b (2) |\n" in page
    assert page.endswith("All refusals: Relu: a|b (2); random numbers (1).\n")


def test_page_is_of_these_tests(cases):
    """`tools/bench/node_tests.py --markdown docs/operators.md` writes it anew."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "operators.md").read_text()
    assert f"of {len(cases)} are right, 0 wrong, 0 crashed" in page
    assert {operator for operator in node_tests.name_operators(list(cases.values())).values() if f"`{operator}`" not in page} == set()


def test_what_is_written_out_counts_as_its_function(cases):
    names = [name for name in cases if name.startswith("test_softmax_example")]
    assert len(names) > 1 and set(node_tests.name_operators([cases[name] for name in names]).values()) == {"Softmax"}


def test_every_case_has_an_input_of_numbers_and_an_opset_that_is_read(cases):
    assert len(cases) > 1000
    assert Counter(any(map(node_tests.is_number_input, case.model.graph.input)) for case in cases.values()) == {True: len(cases)}
    assert min(node_tests.get_opset(case.model) for case in cases.values()) >= node_tests.OLDEST_OPSET
