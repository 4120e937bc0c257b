//===- NearMiss.cpp - why no pattern matches an operator ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays every graph of the backend over the program, so that one of its octet.match lies on the
// operator, and counts what differs: the fewest differences are the nearest graph.
//
//===----------------------------------------------------------------------===//

#include "NearMiss.h"
#include "Alignment.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;

namespace {
/// A pattern or a fold, with how it lies over the program.
struct Candidate {
  Operation *graph;
  Alignment alignment;
};

/// The nearest graph with `op` on one of its matches, or, if `between`, with it between two.
class Search {
public:
  Search(const Backend &backend, Operation *op) : backend(backend), subject(op) {}

  /// Graphs with the operator itself; where there is none, those that it interrupts.
  std::optional<Candidate> run() {
    forEachGraph([&](Operation *graph, MatchOp match) {
      if (isNamed(match, subject))
        consider(graph, alignAround(match, subject));
    });
    if (best)
      return best;
    for (Value operand : subject->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        forEachGraph([&](Operation *graph, MatchOp match) {
          if (!isNamed(match, producer))
            return;
          Alignment alignment = alignAround(match, producer);
          if (alignment.isInterruptedBy(subject))
            consider(graph, std::move(alignment));
        });
    return best;
  }

private:
  void forEachGraph(llvm::function_ref<void(Operation *, MatchOp)> visit) {
    auto visitAll = [&](auto graph) {
      for (auto match : graph.getBody().template getOps<MatchOp>())
        visit(graph, match);
    };
    llvm::for_each(backend.getPatterns(), visitAll);
    llvm::for_each(backend.getFolds(), visitAll);
  }

  /// A graph of which most is elsewhere is no near miss; one without differences was not applied
  /// for other reasons.
  void consider(Operation *graph, Alignment alignment) {
    alignment.finish(graph->getRegion(0));
    if (alignment.differences.empty() || alignment.numMissing > (int64_t)alignment.ops.size())
      return;
    if (!best || alignment.isNearer(best->alignment))
      best = Candidate{graph, std::move(alignment)};
  }

  const Backend &backend;
  Operation *subject;
  std::optional<Candidate> best;
};
} // namespace

/// "pattern @conv_act" or "fold @conv_batch_norm".
static std::string describeGraph(Operation *graph) {
  return (isa<FoldOp>(graph) ? "fold @" : "pattern @") + SymbolTable::getSymbolName(graph).str();
}

static Reason explainBetween(const Candidate &nearest, const Difference &difference,
                             Operation *subject) {
  std::string text =
      describeAround(difference, subject) + " of the " + describeGraph(nearest.graph);
  BuiltinFold fold = findBuiltinFold(difference.between);
  if (fold.text.empty())
    return {"OCT119", text,
            "add an octet.pattern that includes " + describeOperator(difference.between) +
                ", or an octet.fold that puts it into the weights"};
  return {"OCT119", text,
          "add this fold of the built-in backend @" + fold.backend +
              " to the backend, which puts it into the weights: " + fold.text};
}

std::optional<Reason> octet::explainNearMiss(Operation *op, const Backend &backend) {
  std::optional<Candidate> nearest = Search(backend, op).run();
  if (!nearest)
    return std::nullopt;
  ArrayRef<Difference> differences = nearest->alignment.differences;
  if (differences.size() == 1 && differences.front().between)
    return explainBetween(*nearest, differences.front(), op);
  std::vector<std::string> texts;
  for (const Difference &difference : differences)
    texts.push_back(difference.between ? describeAround(difference, op) : difference.describe(op));
  std::string text = "the nearest " + describeGraph(nearest->graph) +
                     " does not match: " + llvm::join(texts, ", and ");
  if (differences.size() == 1 && !differences.front().remedy.empty())
    return Reason{"OCT116", text, differences.front().remedy};
  return Reason{"OCT116", text,
                ("add an octet.pattern that matches this " + op->getName().getStringRef()).str()};
}

std::optional<Reason> octet::findLongerPattern(Operation *op, const Backend &backend) {
  if (isa<GroupOp>(op) || op->hasOneUse())
    return std::nullopt;
  for (PatternOp pattern : backend.getPatterns())
    for (auto match : pattern.getBody().getOps<MatchOp>()) {
      if (match == getRootMatch(pattern) || !isNamed(match, op))
        continue;
      Alignment alignment = alignAround(match, op);
      alignment.finish(pattern.getBody());
      if (alignment.numMissing == 0 && alignment.differences.size() == 1 &&
          alignment.differences.front().extraReaderOf == op)
        return Reason{"OCT120",
                      "the longer " + describeGraph(pattern) +
                          " does not match: " + alignment.differences.front().describe(op),
                      "let the other reader take the pattern's result, if the network allows it"};
    }
  return std::nullopt;
}
