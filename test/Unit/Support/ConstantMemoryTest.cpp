//===- ConstantMemoryTest.cpp - constants whose bytes are freed -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/ConstantMemory.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "octet/Support/Constants.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace octet;

namespace {

class ConstantMemory : public testing::Test {
protected:
  ConstantMemory() : builder(&context), module(ModuleOp::create(builder.getUnknownLoc())) {}

  DenseResourceElementsAttr makeConstant(StringRef name) {
    auto type = RankedTensorType::get({4}, builder.getI8Type());
    return cast<DenseResourceElementsAttr>(makeElements(name, type, ArrayRef<char>("abc", 4)));
  }

  static size_t countBytes(DenseResourceElementsAttr elements) {
    return elements.getRawHandle().getBlob()->getData().size();
  }

  MLIRContext context;
  Builder builder;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ConstantMemory, FindsConstantsInsideOfAttributesAndOperators) {
  DenseResourceElementsAttr a = makeConstant("a"), b = makeConstant("b"), other = makeConstant("c");
  OwningOpRef<ModuleOp> inner(ModuleOp::create(builder.getUnknownLoc()));
  (*inner)->setAttr("test.constants", builder.getArrayAttr({a, builder.getUnitAttr()}));
  (*module)->setAttr("test.constant", b);
  module->push_back(inner.release());
  StoredConstants found = getStoredConstants(*module);
  EXPECT_TRUE(found.contains(a) && found.contains(b));
  EXPECT_FALSE(found.contains(other));
}

TEST_F(ConstantMemory, FreesWhatTheReaderHasNoLonger) {
  DenseResourceElementsAttr a = makeConstant("a"), b = makeConstant("b");
  (*module)->setAttr("test.constants", builder.getArrayAttr({a, b}));
  StoredConstants before = getStoredConstants(*module);
  freeConstants(before, *module);
  EXPECT_EQ(countBytes(a), 4u);
  (*module)->setAttr("test.constants", builder.getArrayAttr({b}));
  freeConstants(before, *module);
  EXPECT_EQ(countBytes(a), 0u);
  EXPECT_EQ(countBytes(b), 4u);
}

TEST_F(ConstantMemory, FreesConstantsOfACopy) {
  DenseResourceElementsAttr own = makeConstant("a"), early = makeConstant("b"),
                            late = makeConstant("c");
  (*module)->setAttr("test.constant", own);
  {
    TemporaryConstants temporary(*module);
    OwningOpRef<ModuleOp> copy(module->clone());
    (*copy)->setAttr("test.early", early);
    temporary.note(*copy);
    EXPECT_EQ(countBytes(early), 4u);
    temporary.free();
    EXPECT_EQ(countBytes(early), 0u);
    (*copy)->setAttr("test.late", late);
    temporary.note(*copy);
    EXPECT_EQ(countBytes(late), 4u);
  }
  EXPECT_EQ(countBytes(late), 0u);
  EXPECT_EQ(countBytes(own), 4u);
}

TEST_F(ConstantMemory, WithoutAnOriginalAllAreTemporary) {
  DenseResourceElementsAttr own = makeConstant("a");
  (*module)->setAttr("test.constant", own);
  {
    TemporaryConstants temporary;
    temporary.note(*module);
  }
  EXPECT_EQ(countBytes(own), 0u);
  EXPECT_TRUE(failed(getConstantValues<int8_t>(own)));
}

} // namespace
