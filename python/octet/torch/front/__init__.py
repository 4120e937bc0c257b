# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From PyTorch's graphs to the dialect nn: tracing, a table of operators, a network made operator by operator."""
from .export import make_graph, make_graph_of_module, translate_exported
from .net import hold
from .translate import Network, Output, translate

__all__ = ["Network", "Output", "hold", "make_graph", "make_graph_of_module", "translate", "translate_exported"]
