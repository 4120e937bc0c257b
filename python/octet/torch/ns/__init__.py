# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which layer costs what (docs/numeric-suite.md). PyTorch: `torch.ao.ns`."""
from .compare import (  # noqa: F401
    OutputLogger, add_loggers, add_shadow_loggers, compare_layers, compute_cosine_similarity, compute_normalized_l2_error, compute_sqnr,
    extend_logger_results_with_comparison, extract_logger_info, extract_shadow_logger_info, extract_weights,
)
from .shadows import (  # noqa: F401
    QConfigMultiMapping, convert_n_shadows_model, extract_results_n_shadows_model, loggers_set_enabled, prepare_n_shadows_model,
    print_comparisons_n_shadows_model,
)
