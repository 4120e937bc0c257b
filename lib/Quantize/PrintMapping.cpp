//===- PrintMapping.cpp - which entry applies to which operator -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Support/FileUtilities.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Quote.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_PRINTMAPPINGPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

/// The name in the source, or the name of the op.
static StringRef getName(Operation *op) {
  StringRef name = getSourceName(op);
  return name.empty() ? op->getName().getStringRef() : name;
}

/// The row of an operator that gets the QConfig of `anchor`, which may be itself.
static llvm::json::Object describe(const QConfigMapping &mapping, Operation *op,
                                   Operation *anchor) {
  Operation *entry = mapping.lookup(anchor);
  OriginAttr origin = getOrigin(op);
  llvm::json::Object row{{"name", getName(op)},
                         {"operator", op->getName().getStringRef()},
                         {"entry", entry ? describeEntry(entry) : "(no entry)"}};
  if (origin && origin.getSourceClass())
    row["class"] = origin.getSourceClass().getValue();
  if (anchor != op)
    row["fused_with"] = getName(anchor);
  if (QConfigAttr qconfig = getQConfig(entry)) {
    std::string text;
    llvm::raw_string_ostream(text) << qconfig;
    row["qconfig"] = text;
  }
  return row;
}

static llvm::json::Array describe(ModuleOp module, const Backend &backend,
                                  const QConfigMapping &mapping) {
  llvm::json::Array rows;
  auto add = [&](Operation *op, Operation *anchor) {
    if (!op->hasTrait<OpTrait::ConstantLike>() && !op->hasTrait<OpTrait::IsTerminator>())
      rows.push_back(describe(mapping, op, anchor));
  };
  for (auto function : module.getOps<FunctionOpInterface>())
    for (Block *block : getNetworkBlocks(function))
      for (Operation &op : *block) {
        auto group = dyn_cast<GroupOp>(op);
        if (!group) {
          add(&op, &op);
          continue;
        }
        std::optional<Unit> unit = backend.matchUnit(group);
        for (Operation &part : group.getBody().front())
          add(&part, unit ? getAnchor(*unit) : &part);
      }
  return rows;
}

/// One line per operator. Texts may come from files.
static void printTable(const llvm::json::Array &rows, raw_ostream &os) {
  constexpr StringLiteral keys[] = {"name", "class", "operator", "entry"};
  std::vector<std::array<std::string, 4>> lines{{"layer", "class", "operator", "entry"}};
  size_t widths[4] = {};
  for (const llvm::json::Value &row : rows) {
    auto &line = lines.emplace_back();
    for (int column = 0; column < 4; ++column)
      line[column] = row.getAsObject()->getString(keys[column]).value_or("").str();
    for (int column = 0; column < 3; ++column)
      line[column] = escapeText(line[column]);
    if (auto anchor = row.getAsObject()->getString("fused_with"))
      line[3] += " (fused with " + escapeText(*anchor) + ")";
  }
  for (const auto &line : lines)
    for (int column = 0; column < 4; ++column)
      widths[column] = std::max(widths[column], line[column].size());
  for (const auto &line : lines) {
    for (int column = 0; column < 3; ++column)
      os << line[column] << std::string(widths[column] - line[column].size() + 2, ' ');
    os << line[3] << '\n';
  }
}

namespace {
struct PrintMapping : octet::impl::PrintMappingPassBase<PrintMapping> {
  using PrintMappingPassBase::PrintMappingPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    const auto &policy = getAnalysis<PolicyAnalysis>();
    const Backend *backend = policy.getBackend();
    const QConfigMapping *mapping = backend ? policy.getMapping() : nullptr;
    if (!mapping)
      return signalPassFailure();
    llvm::json::Array rows = describe(getOperation(), *backend, *mapping);
    std::string message;
    auto file = openOutputFile(output, &message);
    if (!file) {
      emitError(getOperation().getLoc()) << message;
      return signalPassFailure();
    }
    if (json)
      file->os() << llvm::formatv("{0:2}", llvm::json::Value(std::move(rows))) << '\n';
    else
      printTable(rows, file->os());
    file->keep();
  }
};
} // namespace
