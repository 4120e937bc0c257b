//===- FloatRules.td - what a backend keeps float -------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by BackendOps.td, which says what is part of a backend.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_FLOATRULES_TD
#define OCTET_DIALECT_OCTET_FLOATRULES_TD

def Octet_FloatOp : Octet_BackendPart<"float"> {
  let summary = "operators that stay float on purpose";
  let description = [{
    Operators of these `names` that no pattern matches stay float without being reported as refused, also in strict mode; the
    report gives `reason` (OCT104). PyTorch: operators without a pattern in the `BackendConfig`.
  }];
  let arguments = (ins StrArrayAttr:$names, StrAttr:$reason);
  let assemblyFormat = "$names `because` $reason attr-dict";
}

class Octet_FloatByPlaceOp<string mnemonic> : Octet_BackendPart<mnemonic> {
  let arguments = (ins StrAttr:$reason);
  let assemblyFormat = "`because` $reason attr-dict";
}

def Octet_FloatStatesOp : Octet_FloatByPlaceOp<"float_states"> {
  let summary = "values that pass from an input to an output stay float";
  let description = [{
    A state comes in as an input of floats and leaves as an output (a recurrent network's memory) with nothing on its way but operators
    that move values or compute element by element, which belong to no unit with weights. These stay float, and so does an
    `nn.slice` of such an input; the report gives `reason` (OCT107). Units with weights keep their integers, also those that
    read the state. So do the states of a recurrence whose steps stand in one network: of at least three units with the same
    weights, each of which reads the result of one before, computed with element by element; the inputs of these have one scale. And so do at least three
    sums each of which adds to the one before, times what is no constant: the scan of a state space model.
    Without this operator states are quantized as other values are. It does not apply where the network's
    inputs and outputs are to be quantized. PyTorch: no counterpart.
  }];
}

def Octet_FloatNormsOp : Octet_FloatByPlaceOp<"float_norms"> {
  let summary = "values that a normalization reads or scales by stay float";
  let description = [{
    A normalization averages the squares of its input. What it reads, as the residual stream of a transformer, has a few elements far larger than the others,
    and what it scales by is far larger in rows of zeros: one scale cannot hold either. The element-wise operators and means in front of it, up to the units with
    weights whose results they take, and those that read the average stay float (OCT109). octet-fuse puts no sum in front of it into a unit with weights. PyTorch: none.
  }];
}

def Octet_FloatAnglesOp : Octet_FloatByPlaceOp<"float_angles"> {
  let summary = "values of which sines and cosines are taken stay float";
  let description = [{
    Products and element-wise operators whose results are read by `nn.sin` and `nn.cos` alone, moved and scaled at most, stay float: angles may be
    many turns, of which 8 bits with one scale lose the part that counts (OCT123). So do layers whose activation is a sine, and element-wise operators and moves that
    others read, too, if the angle is eight times the value or more. PyTorch: no counterpart.
  }];
}

def Octet_FloatRatiosOp : Octet_FloatByPlaceOp<"float_ratios"> {
  let summary = "values of which ratios count stay float, if they are computed from inputs directly";
  let description = [{
    What computes the operand of an `nn.log`, or both operands of an `nn.div`, from inputs of the network stays float if it is made of products, sums,
    powers, magnitudes, means and moves alone, with clamps behind the last product at most: frames, Fourier transforms and mel filters in front of a speech network,
    gradients whose directions are taken. Small values count as much there as large ones, and 8 bits with one scale lose them (OCT124). PyTorch: no counterpart.
  }];
}

def Octet_FloatSumsOp : Octet_BackendPart<"float_sums"> {
  let summary = "residual sums stay float where many follow on each other";
  let description = [{
    A residual sum adds a value, moved, pooled or computed element by element at most, and what layers compute of the same value. Where each of at least `length` such
    sums adds to the one before, or each of at least `linear_length`, if that is given, whose layers end with an `nn.linear`, all of them stay float (OCT127): each would
    round what all before have added. octet-fuse puts none of them into a unit with weights. Errors: a length below 1. PyTorch: no counterpart.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$length, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$linear_length, StrAttr:$reason);
  let assemblyFormat = "`length` `=` $length (`linear_length` `=` $linear_length^)? `because` $reason attr-dict";
}

def Octet_FloatEndsOp : Octet_BackendPart<"float_ends"> {
  let summary = "small first and last layers stay float";
  let description = [{
    A unit with weights whose activation is `splittable` stays float if it is small and its activation is an input of the network, moved at most, or all that
    reads its result leads to outputs and has no other activations: the columns of an input may have very different ranges, and of a last layer all error is seen.
    Small: less than `share` of the network's weights, counted as often as they are read; last layers together. The report gives `reason` (OCT113). It does not apply to
    inputs and outputs that are to be quantized. Errors: a share that is not between 0 and 1. PyTorch: no counterpart.
  }];
  let arguments = (ins F64Attr:$share, StrAttr:$reason);
  let assemblyFormat = "`share` `=` $share `because` $reason attr-dict";
  let hasVerifier = 1;
}

def Octet_FloatProductsOp : Octet_BackendPart<"float_products"> {
  let summary = "products of two activations stay float where they are few, or of a single row or column";
  let description = [{
    Both operands of a product of two activations lose by 8 bits, and so does what their readers compute. If all `nn.matmul` of
    the network have less than `share` of its multiply-adds, or it is one of several buckets, they stay float; the report gives `reason` (OCT115).
    So does one with a single row or column, whose other operand would be quantized for one product of each number; not in one of several buckets, whose numbers of rows differ. Errors: a share
    that is not between 0 and 1. PyTorch: no counterpart.
  }];
  let arguments = (ins F64Attr:$share, StrAttr:$reason);
  let assemblyFormat = "`share` `=` $share `because` $reason attr-dict";
  let hasVerifier = 1;
}

#endif // OCTET_DIALECT_OCTET_FLOATRULES_TD
