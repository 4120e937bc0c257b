//===- TreeEnsembles.cpp - TreeEnsembleClassifier, TreeEnsembleRegressor --- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All rows walk all trees at once, from the roots down to the deepest leaf: each step looks up what
// their nodes compare, and chooses the next nodes. A leaf leads to itself.
//
//===----------------------------------------------------------------------===//

#include "Classes.h"
#include "Operators.h"
#include <map>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// Nodes of all trees, numbered through.
struct Trees {
  std::vector<int64_t> features, yes, no, modes, missing, roots;
  std::vector<float> thresholds;
  std::map<std::pair<int64_t, int64_t>, int64_t> numbers; ///< by tree and node
  int64_t depth = 0;

  int64_t size() const { return features.size(); }
};

class TreeImporter {
public:
  /// `leaves`: how the names of the lists of leaves begin.
  TreeImporter(Node &node, StringRef leaves) : node(node), leaves(leaves) {}
  /// The numbers that the leaves give each row, [rows, trees, targets].
  MaybeValue walk(int64_t targets);
  /// Adds `base_values`, one for each target.
  MaybeValue addBase(MaybeValue scores, int64_t targets);
  int64_t countTrees() const { return trees.roots.size(); }
  Shape getTargets() const { return node.getInts((leaves + "_ids").str()).value_or(Shape()); }

private:
  Shape ints(const Twine &name) { return node.getInts(name.str()).value_or(Shape()); }
  LogicalResult readNodes();
  LogicalResult connect();
  LogicalResult findDepth();
  /// What each node gives, [nodes, targets].
  FailureOr<HostTensor> readLeaves(int64_t targets);
  MaybeValue step(Value x, Value places);
  MaybeValue compareAt(MaybeValue x, MaybeValue threshold, MaybeValue places);
  /// What a list says of the nodes at which the rows are.
  template <typename T> MaybeValue lookUp(StringRef role, const std::vector<T> &list, Value places);

  Node &node;
  StringRef leaves;
  Trees trees;
};
} // namespace

namespace {
/// How a node compares an element with its threshold.
struct Mode {
  StringLiteral name;
  nn::Predicate predicate;
  bool isReversed = false, isNegated = false;
};
} // namespace

static constexpr Mode kModes[] = {{"BRANCH_LEQ", nn::Predicate::less_or_equal},
                                  {"BRANCH_LT", nn::Predicate::less},
                                  {"BRANCH_GTE", nn::Predicate::less_or_equal, true},
                                  {"BRANCH_GT", nn::Predicate::less, true},
                                  {"BRANCH_EQ", nn::Predicate::equal},
                                  {"BRANCH_NEQ", nn::Predicate::equal, false, true}};
static constexpr int64_t kLeaf = 7; ///< 6: none

static int64_t findMode(StringRef name) {
  auto isMode = [&](const Mode &mode) { return mode.name == name; };
  return name == "LEAF" ? kLeaf : llvm::find_if(kModes, isMode) - std::begin(kModes);
}

LogicalResult TreeImporter::readNodes() {
  Shape features = ints("nodes_featureids"), missing = ints("nodes_missing_value_tracks_true");
  Shape treeIds = ints("nodes_treeids"), nodeIds = ints("nodes_nodeids");
  trees.features.assign(features.begin(), features.end());
  trees.thresholds = node.getFloatList("nodes_values");
  if (const onnx::AttributeProto *modes = node.attribute("nodes_modes"))
    for (const std::string &mode : modes->strings())
      trees.modes.push_back(findMode(mode));
  missing.resize(missing.empty() ? trees.size() : missing.size(), 0);
  trees.missing.assign(missing.begin(), missing.end());
  size_t sizes[] = {trees.thresholds.size(),
                    trees.modes.size(),
                    trees.missing.size(),
                    treeIds.size(),
                    nodeIds.size(),
                    ints("nodes_truenodeids").size(),
                    ints("nodes_falsenodeids").size()};
  if (features.empty() || llvm::any_of(sizes, [&](size_t s) { return s != features.size(); }))
    return node.invalid("has lists of nodes of different sizes");
  for (int64_t i = 0; i < trees.size(); ++i)
    if (trees.modes[i] == std::size(kModes) ||
        !trees.numbers.insert({{treeIds[i], nodeIds[i]}, i}).second)
      return node.invalid("has the node " + Twine(nodeIds[i]) + " of the tree " +
                          Twine(treeIds[i]) + " twice, or in an unknown mode");
  return success();
}

LogicalResult TreeImporter::connect() {
  Shape treeIds = ints("nodes_treeids"), yes = ints("nodes_truenodeids"),
        no = ints("nodes_falsenodeids");
  int64_t columns = shapeOf(node.entry(0)).back();
  std::vector<bool> isChild(trees.size());
  for (int64_t i = 0; i < trees.size(); ++i) {
    bool isLeaf = trees.modes[i] == kLeaf;
    auto find = [&](int64_t id) {
      auto found = trees.numbers.find({treeIds[i], id});
      return isLeaf ? i : found == trees.numbers.end() ? -1 : found->second;
    };
    trees.yes.push_back(find(yes[i])), trees.no.push_back(find(no[i]));
    if (isLeaf)
      trees.features[i] = 0;
    if (trees.yes[i] < 0 || trees.no[i] < 0 || trees.features[i] < 0 ||
        trees.features[i] >= columns)
      return node.invalid("has a node that leads nowhere, or reads the feature " +
                          Twine(trees.features[i]) + " of " + Twine(columns));
    if (!isLeaf)
      isChild[trees.yes[i]] = isChild[trees.no[i]] = true;
  }
  for (int64_t i = 0; i < trees.size(); ++i)
    if (!isChild[i])
      trees.roots.push_back(i);
  return findDepth();
}

LogicalResult TreeImporter::findDepth() {
  int64_t visited = 0;
  std::vector<int64_t> level = trees.roots;
  for (; !level.empty() && visited <= trees.size(); ++trees.depth) {
    std::vector<int64_t> next;
    for (int64_t i : level)
      if (trees.modes[i] != kLeaf)
        next.insert(next.end(), {trees.yes[i], trees.no[i]});
    visited += level.size();
    level = std::move(next);
  }
  --trees.depth;
  return visited == trees.size() && !trees.roots.empty()
             ? success()
             : node.invalid("has nodes that form no trees");
}

FailureOr<HostTensor> TreeImporter::readLeaves(int64_t targets) {
  Shape treeIds = ints(leaves + "_treeids"), nodeIds = ints(leaves + "_nodeids"),
        ids = getTargets();
  std::vector<float> weights = node.getFloatList((leaves + "_weights").str()),
                     table(trees.size() * targets);
  if (treeIds.size() != ids.size() || nodeIds.size() != ids.size() || weights.size() != ids.size())
    return node.invalid("has lists of leaves of different sizes");
  for (size_t i = 0; i < ids.size(); ++i) {
    auto found = trees.numbers.find({treeIds[i], nodeIds[i]});
    if (found == trees.numbers.end() || ids[i] < 0 || ids[i] >= targets)
      return node.invalid("has a leaf that is no node, or of a target that there is not");
    table[found->second * targets + ids[i]] += weights[i];
  }
  return HostTensor{node.nameConstant("leaves"), {trees.size(), targets}, std::move(table)};
}

template <typename T>
MaybeValue TreeImporter::lookUp(StringRef role, const std::vector<T> &list, Value places) {
  auto table = node.materialize(HostTensor{node.nameConstant(role), {trees.size()}, list});
  return failed(table) ? table : node.create<nn::GatherOp>(*table, places, /*axis=*/0);
}

/// By the one way in which all nodes compare, or by that of each.
MaybeValue TreeImporter::compareAt(MaybeValue x, MaybeValue threshold, MaybeValue places) {
  auto by = [&](int64_t number) {
    const Mode &mode = kModes[number];
    auto holds = mode.isReversed ? compare(node, mode.predicate, threshold, x)
                                 : compare(node, mode.predicate, x, threshold);
    return mode.isNegated ? node.compute<nn::NotOp>(holds) : holds;
  };
  std::vector<int64_t> present;
  for (int64_t mode = 0; mode < (int64_t)std::size(kModes); ++mode)
    if (llvm::is_contained(trees.modes, mode))
      present.push_back(mode);
  if (present.size() <= 1)
    return by(present.empty() ? 0 : present[0]);
  auto modes = failed(places) ? places : lookUp("modes", trees.modes, *places);
  MaybeValue any = failure();
  for (int64_t mode : present) {
    auto is = compare(node, nn::Predicate::equal, modes,
                      integerConstant(node, ("mode_" + Twine(mode)).str(), {}, {mode}));
    auto holds = node.compute<nn::AndOp>(is, by(mode));
    any = mode == present[0] ? holds : node.compute<nn::OrOp>(any, holds);
  }
  return any;
}

MaybeValue TreeImporter::step(Value x, Value places) {
  int64_t rows = shapeOf(x)[0], columns = shapeOf(x)[1];
  std::vector<int64_t> starts;
  for (int64_t row = 0; row < rows; ++row)
    starts.push_back(row * columns);
  auto feature = node.compute<nn::AddOp>(lookUp("features", trees.features, places),
                                         integerConstant(node, "rows", {rows, 1}, starts));
  auto read = failed(feature) ? feature
                              : node.create<nn::GatherOp>(node.reshape(x, {rows * columns}),
                                                          *feature, /*axis=*/0);
  auto holds = compareAt(read, lookUp("thresholds", trees.thresholds, places), places);
  if (llvm::is_contained(trees.missing, 1)) {
    auto isMissing = node.compute<nn::NotOp>(compare(node, nn::Predicate::equal, read, read));
    auto tracks = compare(node, nn::Predicate::equal, lookUp("missing", trees.missing, places),
                          integerConstant(node, "one", {}, {1}));
    holds = node.compute<nn::OrOp>(holds, node.compute<nn::AndOp>(isMissing, tracks));
  }
  return select(node, holds, lookUp("yes", trees.yes, places), lookUp("no", trees.no, places));
}

MaybeValue TreeImporter::walk(int64_t targets) {
  auto x = getFeatures(node);
  if (failed(x) || failed(readNodes()) || failed(connect()))
    return failure();
  auto leavesOf = readLeaves(targets);
  if (failed(leavesOf))
    return failure();
  int64_t rows = shapeOf(*x)[0];
  std::vector<int64_t> roots;
  for (int64_t row = 0; row < rows; ++row)
    llvm::append_range(roots, trees.roots);
  auto places = integerConstant(node, "roots", {rows, countTrees()}, std::move(roots));
  for (int64_t i = 0; i < trees.depth && succeeded(places); ++i)
    places = step(*x, *places);
  auto table = node.materialize(std::move(*leavesOf));
  if (failed(places) || failed(table))
    return failure();
  return node.create<nn::GatherOp>(*table, *places, /*axis=*/0);
}

MaybeValue TreeImporter::addBase(MaybeValue scores, int64_t targets) {
  std::vector<float> base = node.getFloatList("base_values");
  if (base.empty())
    return scores;
  if ((int64_t)base.size() != targets)
    return node.unsupported(Twine(base.size()) + " base values of " + Twine(targets) + " targets");
  return node.compute<nn::AddOp>(
      scores, node.materialize(HostTensor{node.nameConstant("base"), {targets}, std::move(base)}));
}

LogicalResult onnx_import::importTreeEnsembleRegressor(Node &node) {
  TreeImporter importer(node, "target");
  int64_t targets = node.getInt("n_targets", 1);
  if (targets < 1)
    return node.invalid("has " + Twine(targets) + " targets");
  auto given = importer.walk(targets);
  StringRef by = node.getString("aggregate_function", "SUM");
  Reduction reduction = by == "SUM"   ? Reduction::sum
                        : by == "MIN" ? Reduction::min
                        : by == "MAX" ? Reduction::max
                                      : Reduction::mean;
  auto scores = reduce(node, given, reduction, {1}, /*keepDims=*/false);
  return node.setResult(importer.addBase(scores, targets));
}

/// Two classes may have one score: as that of the first it stands for both, as that of the second
/// beside 0. onnxruntime's thresholds.
static LogicalResult setByOneScore(Node &node, ShapeRef labels, MaybeValue score, bool isSecond) {
  bool isShare = llvm::all_of(node.getFloatList("class_weights"),
                              [](float weight) { return weight >= 0; }),
       isPlain = node.getString("post_transform", "NONE") == "NONE";
  auto other = node.compute<nn::NegOp>(score);
  if (isSecond)
    other = node.compute<nn::SubOp>(score, score);
  else if (isShare && isPlain)
    other = node.compute<nn::SubOp>(node.number("one", 1), score);
  if (failed(score) || failed(other))
    return failure();
  auto both = node.create<nn::ConcatOp>(ValueRange{*other, *score}, /*axis=*/1);
  auto isAbove =
      compare(node, nn::Predicate::less, node.number("threshold", isShare ? 0.5f : 0), score);
  return setOneOfTwo(node, labels, isAbove, transformScores(node, both));
}

LogicalResult onnx_import::importTreeEnsembleClassifier(Node &node) {
  TreeImporter importer(node, "class");
  auto labels = getClassLabels(node, "classlabels_int64s");
  if (failed(labels))
    return failure();
  Shape targets = importer.getTargets();
  int64_t classes = labels->size();
  if (classes > 2) {
    auto scores = reduce(node, importer.walk(classes), Reduction::sum, {1}, /*keepDims=*/false);
    return setClasses(node, *labels, importer.addBase(scores, classes));
  }
  bool isSecond = !targets.empty() && targets[0] == 1;
  if (targets.empty() || !llvm::all_equal(targets) ||
      node.getString("post_transform", "NONE") == "SOFTMAX" ||
      (isSecond && node.attribute("base_values")))
    return node.unsupported("two classes whose scores are not one; export it with one score");
  auto scores =
      reduce(node, importer.walk(targets[0] + 1), Reduction::sum, {1}, /*keepDims=*/false);
  if (succeeded(scores) && isSecond)
    scores =
        node.create<nn::SliceOp>(*scores, Shape{0, 1}, Shape{shapeOf(*scores)[0], 1}, Shape{1, 1});
  return setByOneScore(node, *labels, importer.addBase(scores, 1), isSecond);
}
