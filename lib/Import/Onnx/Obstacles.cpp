//===- Obstacles.cpp - what keeps a network from being imported -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Obstacles.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <vector>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// How the title counts the obstacles of a kind.
struct KindRow {
  ObstacleKind kind;
  llvm::StringLiteral one, several;
};
} // namespace

static constexpr KindRow kKinds[] = {
    {ObstacleKind::Operator, "operator is not supported", "operators are not supported"},
    {ObstacleKind::Node, "node is invalid", "nodes are invalid"},
    {ObstacleKind::Input, "input cannot be used", "inputs cannot be used"},
    {ObstacleKind::Initializer, "initializer cannot be used", "initializers cannot be used"},
};

/// So many nodes are named on a line, and so many lines are printed of a kind; of the others, only
/// the number is given.
static constexpr size_t kMostNames = 8, kMostLines = 40;

/// "node "a" (GRU, domain ai.onnx, opset 13): …", or "23 nodes (…): …: "a", "b" and 21 more".
static void printLine(Diagnostic &diagnostic, ArrayRef<const Obstacle *> alike) {
  const Obstacle &first = *alike.front();
  std::string type = first.nodeType.empty() ? "" : " (" + first.nodeType + ")";
  diagnostic << "\n  ";
  if (first.node.empty()) {
    diagnostic << first.getText();
    return;
  }
  if (alike.size() == 1) {
    diagnostic << "node " << quote(first.node) << type << ": " << first.getText();
    return;
  }
  diagnostic << alike.size() << " nodes" << type << ": " << first.getText() << ": ";
  llvm::interleave(
      alike.take_front(kMostNames), [&](auto *each) { diagnostic << quote(each->node); },
      [&] { diagnostic << ", "; });
  if (alike.size() > kMostNames)
    diagnostic << " and " << alike.size() - kMostNames << " more";
}

/// Obstacles of one kind, those of one type of node with one reason together.
static std::vector<SmallVector<const Obstacle *>> groupByLine(ArrayRef<Obstacle> obstacles,
                                                              ObstacleKind kind) {
  std::vector<SmallVector<const Obstacle *>> lines;
  llvm::StringMap<size_t> lineOfKey;
  for (const Obstacle &obstacle : obstacles) {
    if (obstacle.kind != kind)
      continue;
    std::string key = obstacle.nodeType + '\0' + obstacle.getText();
    size_t line = lineOfKey.try_emplace(key, lines.size()).first->second;
    if (line == lines.size())
      lines.emplace_back();
    lines[line].push_back(&obstacle);
  }
  return lines;
}

LogicalResult octet::onnx_import::reportObstacles(Location fileLoc, ArrayRef<Obstacle> obstacles) {
  const Obstacle &first = obstacles.front();
  if (obstacles.size() == 1 && first.kind != ObstacleKind::Operator)
    return emitError(first.loc) << first.reason << Remedy(first.remedy);
  auto error = emitError(fileLoc);
  StringRef separator;
  for (const KindRow &row : kKinds) {
    size_t count = llvm::count_if(obstacles, [&](auto &each) { return each.kind == row.kind; });
    if (count == 0)
      continue;
    error << separator << count << " " << (count == 1 ? row.one : row.several);
    separator = ", ";
  }
  Diagnostic &diagnostic = *error.getUnderlyingDiagnostic();
  for (const KindRow &row : kKinds) {
    auto lines = groupByLine(obstacles, row.kind);
    for (auto &line : ArrayRef(lines).take_front(kMostLines))
      printLine(diagnostic, line);
    if (lines.size() > kMostLines)
      diagnostic << "\n  and " << lines.size() - kMostLines << " other " << row.several;
  }
  if (llvm::any_of(obstacles, [](auto &each) { return each.kind == ObstacleKind::Operator; }))
    error.attachNote(fileLoc)
        << "`octet-compile --list-operators` shows what is supported; nothing was written";
  return error;
}
