//===- ir.h - the parts of the extension module octet._ir -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PYTHON_IR_H
#define OCTET_PYTHON_IR_H

#include <nanobind/nanobind.h>

namespace octet::python {

/// The operators of a network, read from bytecode.
void defineListing(nanobind::module_ &module);
/// Observers on arrays, as on constants at compile time.
void defineObserver(nanobind::module_ &module);

} // namespace octet::python

#endif // OCTET_PYTHON_IR_H
