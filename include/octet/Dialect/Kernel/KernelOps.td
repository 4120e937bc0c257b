//===- KernelOps.td - programs, steps and micro-kernel ops ------*- tablegen -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_KERNEL_KERNELOPS_TD
#define OCTET_DIALECT_KERNEL_KERNELOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::octet::kernel";
  let summary = "Compiled programs: steps over one arena, and micro-kernel ops on sixteen virtual lanes";
  let description = [{
    A program is a list of steps; a step calls a kernel function on addresses that are known at compile time. Kernel
    functions compute on sixteen 32-bit lanes whatever the register width (four, two or one register), so every level
    gives the same bits. Each level's lowering file turns the vector ops here into instructions. Why: `docs/rationale`, its
    pages on kernels, on sixteen lanes and on the table of steps.

    Offsets and sizes are in bytes. What a library cannot hold is refused when it is emitted, with the step's name.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

// The numbers are those of octet_space in records.h.
def Kernel_SpaceAttr : I32EnumAttr<"Space", "which memory an argument points into", [
    I32EnumAttrCase<"arena", 0>, I32EnumAttrCase<"weights", 1>, I32EnumAttrCase<"state", 2>,
    I32EnumAttrCase<"prepared", 3>, I32EnumAttrCase<"input", 4>, I32EnumAttrCase<"output", 5>,
    I32EnumAttrCase<"status", 6>]> {
  let description = [{
    `arena`: values between steps. `weights`: constants in the library, which all models share. `state`: what is kept from
    run to run, the network's states and behind them the statistics of observers. `prepared`: weights in the order of
    kernels, which the prologue writes when a model is made. `input`, `output`: the caller's memory. `status`: 64 bits,
    where a kernel writes 1 if it meets a value with which the network cannot run. Source: `octet_space` in records.h.
  }];
  let cppNamespace = "::octet::kernel";
}

def Kernel_ArgAttr : AttrDef<Kernel_Dialect, "Arg"> {
  let mnemonic = "arg";
  let summary = "an address: byte offset into arena, weights, state or prepared memory, or the number of an input or output";
  let description = [{
    `#kernel.arg<weights 64>` is byte 64 of the weights, `#kernel.arg<input 0>` the first input. A library counts offsets into
    the weights in units of 4 bytes and those into a model's memory in units of 64: anything but a multiple below 2^29 units,
    or the number of an input or output that is not there, is an error when the library is emitted. Source: `octet_address`
    in records.h.
  }];
  let parameters = (ins "::octet::kernel::Space":$space, "int64_t":$offset);
  let assemblyFormat = "`<` $space $offset `>`";
}

def Kernel_TensorAttr : AttrDef<Kernel_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "name and type of a program's input or output";
  let description = [{
    `type` is a tensor of static shape, row-major, of a type in `Runtime/DTypes.def` (floats of 16, 32 and 64 bits, integers of
    8 to 64 bits except `ui64`, `i1`), or a quantized type stored in one of these; a library cannot take or give another, which is an error when it is emitted. Source: `octet_tensor` in octet.h.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::TypeAttr":$type);
  let assemblyFormat = "`<` $name `,` $type `>`";
}

def Kernel_ProgramOp : Kernel_Op<"program", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "the steps of one network for one CPU level";
  let description = [{
    Sizes in bytes. `observers` gives the byte offset of each observer's statistics in the state. `weights` is the packed
    constant data, shared by all levels. The steps of the prologue run once, when a model is made, and write the prepared
    memory: weights in the order in which kernels read them. Their functions are the same at all levels, so that a library
    has each of them once. The steps of the body run in order in every run; each may be split over its range among threads.
    `inputs` and `outputs` are arrays of `#kernel.tensor`. Errors: a step of the prologue with an address that is neither in
    the weights nor in the prepared memory. Source: `octet_program_record` in records.h; `docs/rationale/prologue.md`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$level, I64Attr:$arena_bytes, I64Attr:$state_bytes,
      I64Attr:$prepared_bytes, ArrayAttr:$inputs, ArrayAttr:$outputs, OptionalAttr<ElementsAttr>:$weights,
      OptionalAttr<DictionaryAttr>:$observers);
  let regions = (region SizedRegion<1>:$body, MaxSizedRegion<1>:$prologue);
  let assemblyFormat = [{
    $sym_name `level` $level `arena` $arena_bytes `state` $state_bytes `prepared` $prepared_bytes `inputs` $inputs `outputs` $outputs (`weights` $weights^)? (`observers` $observers^)? attr-dict-with-keyword (`prologue` $prologue^)? $body
  }];
  let hasVerifier = 1;
}

def Kernel_StepOp : Kernel_Op<"step", [HasParent<"ProgramOp">]> {
  let summary = "one call of a kernel function";
  let description = [{
    Calls `kernel(args..., bounds..., begin, end)` for sub-ranges that cover [0, `range`) once, in any order and on any
    thread. `bounds` are the sizes and strides that a kernel of several shapes takes as arguments (`octet-merge-kernels`).
    `octet.origin` carries the operator's name. `of`: other levels have the kernel, too, with the same name, and this is
    the last of them (`octet-share-kernels`). `kernel` is a function of as many memrefs as there are `args` and as many
    indices as there are `bounds`, and two. Errors: `args` that are no addresses; when the library is emitted, a kernel with
    another signature, a range that is not 1 to 2^31 - 1, a bound of more than 32 bits. Source: `octet_step_record` in
    records.h.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, TypedArrayAttrBase<Kernel_ArgAttr, "addresses">:$args,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$bounds, I64Attr:$range, OptionalAttr<StrAttr>:$shared_level);
  let assemblyFormat = "$kernel $args (`bounds` $bounds^)? `range` $range (`of` $shared_level^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Micro-kernel ops
//===----------------------------------------------------------------------===//

def Kernel_I32x16 : Type<CPred<"::octet::kernel::isVector($_self, 16, 32, false)">, "vector<16xi32>">, BuildableType<"::mlir::VectorType::get({16}, $_builder.getI32Type())">;
def Kernel_F32x16 : Type<CPred<"::octet::kernel::isVector($_self, 16, 32, true)">, "vector<16xf32>">, BuildableType<"::mlir::VectorType::get({16}, $_builder.getF32Type())">;
def Kernel_I16x32 : Type<CPred<"::octet::kernel::isVector($_self, 32, 16, false)">, "vector<32xi16>">, BuildableType<"::mlir::VectorType::get({32}, $_builder.getI16Type())">;
def Kernel_I32x32 : Type<CPred<"::octet::kernel::isVector($_self, 32, 32, false)">, "vector<32xi32>">, BuildableType<"::mlir::VectorType::get({32}, $_builder.getI32Type())">;
def Kernel_I16x64 : Type<CPred<"::octet::kernel::isVector($_self, 64, 16, false)">, "vector<64xi16>">, BuildableType<"::mlir::VectorType::get({64}, $_builder.getI16Type())">;
def Kernel_I8x64 : Type<CPred<"::octet::kernel::isVector($_self, 64, 8, false)">, "vector<64xi8>">, BuildableType<"::mlir::VectorType::get({64}, $_builder.getI8Type())">;

def Kernel_Dot4Op : Kernel_Op<"dot4", [Pure]> {
  let summary = "4-way dot product into 32-bit lanes";
  let description = [{
    Lane i: `acc[i] + sum over j < 4 of u8(a[4 i + j]) * s8(b[4 i + j])`, exact, wrapping in 32 bits; never saturates. With
    `signed`, the bytes of `a` are signed, too. Source: [N.accumulate]; VPDPBUSD of AVX-512 VNNI, SDOT of AArch64.
  }];
  let arguments = (ins Kernel_I32x16:$acc, Kernel_I8x64:$a, Kernel_I8x64:$b, UnitAttr:$is_signed);
  let results = (outs Kernel_I32x16:$result);
  let assemblyFormat = "$acc `,` $a `,` $b (`signed` $is_signed^)? attr-dict";
}

def Kernel_PairsOp : Kernel_Op<"pairs", [Pure]> {
  let summary = "sums of two products of bytes each, which fit in i16";
  let description = [{
    Lane i: `u8(a[2 i]) * s8(b[2 i]) + u8(a[2 i + 1]) * s8(b[2 i + 1])`, which the caller knows to fit (`|b[2 i] + b[2 i + 1]| <= 128`
    does for any `a`). Only AVX2 gets these. Source: [N.accumulate]; VPMADDUBSW.
  }];
  let arguments = (ins Kernel_I8x64:$a, Kernel_I8x64:$b);
  let results = (outs Kernel_I16x32:$result);
  let assemblyFormat = "$a `,` $b attr-dict";
}

def Kernel_Reorder4Op : Kernel_Op<"reorder4", [Pure]> {
  let summary = "the four bytes of each lane in another order";
  let description = [{
    Byte j of each lane of 32 bits: byte `order[j]` of the lane, where the bytes of `order`, the lowest first, are 0 to 3. All lanes of the
    input are alike (`kernel.broadcast4`). Only AVX2 gets these. Source: VPSHUFB.
  }];
  let arguments = (ins Kernel_I8x64:$input, I32:$order);
  let results = (outs Kernel_I8x64:$result);
  let assemblyFormat = "$input `,` $order attr-dict";
}

def Kernel_Dot8Op : Kernel_Op<"dot8", [Pure, AllTypesMatch<["acc", "result"]>,
    TypesMatchWith<"eight bytes of two rows for four lanes", "acc", "a", "getBytesOfLanes($_self)">,
    TypesMatchWith<"eight bytes of two columns for four lanes", "acc", "b", "getBytesOfLanes($_self)">]> {
  let summary = "products of two rows of eight bytes with two columns";
  let description = [{
    Lane 2 i + j of each four: `acc[2 i + j] + sum over k < 8 of a[8 i + k] * b[8 j + k]` of the same sixteen bytes, signed, wrapping in
    32 bits; as many fours as fill a register. Only levels that multiply matrices get these. Source: [N.accumulate]; SMMLA of AArch64.
  }];
  let arguments = (ins VectorOfLengthAndType<[4, 8, 16], [I32]>:$acc, VectorOfLengthAndType<[16, 32, 64], [I8]>:$a, VectorOfLengthAndType<[16, 32, 64], [I8]>:$b);
  let results = (outs VectorOfLengthAndType<[4, 8, 16], [I32]>:$result);
  let assemblyFormat = "$acc `,` $a `,` $b attr-dict `:` type($acc)";
}

def Kernel_AddPairsOp : Kernel_Op<"add_pairs", [Pure]> {
  let summary = "adds pairs of neighbouring i16 to 32-bit lanes";
  let description = [{
    Lane i: `acc[i] + x[2 i] + x[2 i + 1]` of signed i16, wrapping in 32 bits. Sums of two lanes for each result, as `x` has
    four products for each. Source: [N.accumulate]; SADALP of AArch64.
  }];
  let arguments = (ins Kernel_I32x32:$acc, Kernel_I16x64:$x);
  let results = (outs Kernel_I32x32:$result);
  let assemblyFormat = "$acc `,` $x attr-dict";
}

def Kernel_Dot2Op : Kernel_Op<"dot2", [Pure]> {
  let summary = "2-way dot product of i16 into 32-bit lanes";
  let description = [{
    Lane i: `acc[i] + sum over j < 2 of a[2 i + j] * b[2 i + j]` of signed i16, wrapping in 32 bits. Two of them
    are a `kernel.dot4` whose bytes were widened beforehand, for levels that multiply i16. Source: [N.accumulate]; PMADDWD
    of SSE2 and AVX2.
  }];
  let arguments = (ins Kernel_I32x16:$acc, Kernel_I16x32:$a, Kernel_I16x32:$b);
  let results = (outs Kernel_I32x16:$result);
  let assemblyFormat = "$acc `,` $a `,` $b attr-dict";
}

def Kernel_Broadcast4Op : Kernel_Op<"broadcast4", [MemoryEffects<[MemRead]>]> {
  let summary = "loads four bytes and repeats them in sixteen lanes";
  let description = [{
    Bytes `base[index .. index + 3]`, which must lie inside `base` (not checked); no alignment is assumed. What a
    `kernel.dot4` multiplies with sixteen channels' weights.
  }];
  let arguments = (ins MemRefRankOf<[I8], [1]>:$base, Index:$index);
  let results = (outs Kernel_I8x64:$result);
  let assemblyFormat = "$base `[` $index `]` attr-dict `:` type($base)";
}

def Kernel_ReloadOp : Kernel_Op<"reload", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "loads a vector that no register keeps";
  let description = [{
    Elements `base[index .. index + lanes - 1]`, loaded each time that the op is executed, for levels where instructions overwrite an
    operand and a load takes less than a copy. The write that it claims keeps reads of one place from becoming one.
  }];
  let arguments = (ins MemRefRankOf<[I8, I32, F32], [1]>:$base, Index:$index);
  let results = (outs VectorOfRankAndType<[1], [I8, I32, F32]>:$result);
  let assemblyFormat = "$base `[` $index `]` attr-dict `:` type($base) `,` type($result)";
}

def Kernel_RoundOp : Kernel_Op<"round", [Pure]> {
  let summary = "float to integer, ties to even";
  let description = [{
    One value or lane by lane, for |x| < 2^31; the caller has clamped. The result for NaN is unspecified, but
    for sixteen lanes on AArch64, where it is zero. Source: `rne` in
    section 1 of `docs/numerics.md`; `llvm.lrint`, CVTPS2DQ.
  }];
  let arguments = (ins AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$input);
  let results = (outs AnyTypeOf<[I32, VectorOfRankAndType<[1], [I32]>]>:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Kernel_ScaleOp : Kernel_Op<"scale", [Pure, SameOperandsAndResultShape]> {
  let summary = "multiplication by a power of two";
  let description = [{
    Lane by lane `input * 2^exponent`, where that is a normal number, so that the exponent can be added to the input's bits.
    Source: the last step of [N.exp]; VSCALEFPS of AVX-512.
  }];
  let arguments = (ins AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$input,
                       AnyTypeOf<[I32, VectorOfRankAndType<[1], [I32]>]>:$exponent);
  let results = (outs AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$result);
  let assemblyFormat = "$input `,` $exponent attr-dict `:` functional-type(operands, results)";
}

def Kernel_PackOp : Kernel_Op<"pack", [Pure]> {
  let summary = "32-bit lanes to bytes, saturating";
  let description = [{
    One or four vectors of sixteen lanes to 16 or 64 bytes in the same order: `clamp(x, 0, 255)` for any x, or with `signed`
    `clamp(x, -128, 127)`. With `in_lanes`, byte `16 l + 4 v + k` is lane `4 l + k` of vector v: the order that packing inside 16-byte lanes gives.
    Errors: another number of vectors; `in_lanes` with one; a result of another size. Source: PACKSSDW and PACKUSWB.
  }];
  let arguments = (ins Variadic<Kernel_I32x16>:$inputs, UnitAttr:$in_lanes, UnitAttr:$is_signed);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$inputs (`in_lanes` $in_lanes^)? (`signed` $is_signed^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "bool":$isSigned, CArg<"bool", "false">:$inLanes)>];
}

#endif // OCTET_DIALECT_KERNEL_KERNELOPS_TD
