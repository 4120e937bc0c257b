//===- EmitTest.cpp - what emitProgram makes and refuses --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include "llvm/Object/ELFObjectFile.h"
#include <set>

using namespace llvm;
using namespace octet;
using namespace octet::test;

namespace {

using Bytes = SmallVector<char, 0>;

/// Names of the symbols that another object could bind to.
std::set<std::string> getGlobalSymbols(const Bytes &bytes, bool dynamic, bool defined) {
  auto file = cantFail(object::ObjectFile::createObjectFile(
      MemoryBufferRef(StringRef(bytes.data(), bytes.size()), "")));
  auto *elf = cast<object::ELFObjectFileBase>(file.get());
  std::set<std::string> names;
  auto add = [&](const object::ELFSymbolRef &symbol) {
    bool isDefined = !(cantFail(symbol.getFlags()) & object::SymbolRef::SF_Undefined);
    if (symbol.getBinding() != ELF::STB_LOCAL && isDefined == defined)
      names.insert(cantFail(symbol.getName()).str());
  };
  if (dynamic)
    for (const object::ELFSymbolRef &symbol : elf->getDynamicSymbolIterators())
      add(symbol);
  else
    for (const object::ELFSymbolRef &symbol : elf->symbols())
      add(symbol);
  return names;
}

const std::set<std::string> publicSymbols = {
    "net_create",        "net_destroy",  "net_frame",  "net_octet_model_v1",
    "net_program",       "net_reset",    "net_run",    "net_run_steps",
    "net_set_step_hook", "net_supports", "net_threads"};

TEST(Emit, LibraryExportsOnlyPrefixedSymbols) {
  for (StringRef triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    Bytes library =
        TestNetwork("net").level("reference").emitOrFail(with(OutputKind::SharedLibrary, triple));
    EXPECT_EQ(getGlobalSymbols(library, /*dynamic=*/true, /*defined=*/true), publicSymbols);
  }
}

TEST(Emit, NeedsOnlyLibc) {
  Bytes library = TestNetwork("net").level("reference").emitOrFail(with(OutputKind::SharedLibrary));
  EXPECT_EQ(getGlobalSymbols(library, /*dynamic=*/true, /*defined=*/false),
            (std::set<std::string>{"clock_gettime", "free", "getenv", "getpid", "memset",
                                   "posix_memalign", "pthread_create", "pthread_join",
                                   "pthread_sigmask", "sched_yield", "sigfillset", "snprintf",
                                   "strcmp", "strlen", "syscall"}));
}

TEST(Emit, EveryGlobalSymbolOfAnObjectHasThePrefix) {
  Bytes object =
      TestNetwork("net").level("sse2").level("reference").emitOrFail(with(OutputKind::Object));
  std::set<std::string> names = getGlobalSymbols(object, /*dynamic=*/false, /*defined=*/true);
  for (const std::string &name : names)
    EXPECT_TRUE(StringRef(name).starts_with("net_")) << name;
  EXPECT_TRUE(names.count("net_create"));
}

TEST(Emit, ObjectsDefineTheWeightsOutsideOfTheCode) {
  for (StringRef triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    TestNetwork network("net");
    ArrayRef<char> weights = network.info.weights;
    Bytes object = network.level("reference").emitOrFail(with(OutputKind::Object, triple));
    auto file = cantFail(object::ObjectFile::createObjectFile(
        MemoryBufferRef(StringRef(object.data(), object.size()), "")));
    auto symbols = cast<object::ELFObjectFileBase>(*file).symbols();
    auto symbol = find_if(symbols, [](const object::ELFSymbolRef &symbol) {
      return cantFail(symbol.getName()) == "net_weights";
    });
    ASSERT_NE(symbol, symbols.end());
    EXPECT_EQ(symbol->getSize(), weights.size());
    EXPECT_EQ(symbol->getOther() & 3, ELF::STV_HIDDEN);
    object::ELFSectionRef section(*cantFail(symbol->getSection()));
    uint64_t offset = cantFail(symbol->getValue());
    EXPECT_EQ(offset % 64, 0u);
    EXPECT_GE(section.getAlignment(), Align(64));
    EXPECT_EQ(section.getFlags() & (ELF::SHF_WRITE | ELF::SHF_EXECINSTR), 0u);
    StringRef contents = cantFail(section.getContents()).substr(offset, weights.size());
    EXPECT_EQ(ArrayRef<char>(contents.data(), contents.size()), weights);
  }
}

TEST(Emit, TellsWhenTheWeightsAreStored) {
  for (OutputKind kind : {OutputKind::SharedLibrary, OutputKind::LLVMIR}) {
    std::vector<char> weights(64, 1);
    TestNetwork network("net");
    network.info.weights = weights;
    network.level("reference");
    Bytes expected = network.emitOrFail(with(kind));
    auto overwrite = [&] { weights.assign(64, 0); };
    EXPECT_EQ(cantFail(network.level("reference").emit(with(kind), nullptr, overwrite)), expected);
    EXPECT_EQ(weights[0], 0);
  }
}

TEST(Emit, DescribesTheNetwork) {
  TestNetwork network("my net/1");
  network.info.inputs[0] = {"data \"0\"", OCTET_U8, {1, 3, 2}, 0.5f, 128};
  network.info.reportJson = "{\"a\": 1}";
  auto library = network.level("sse2").level("reference").load();
  ASSERT_TRUE(library);
  const octet_descriptor &descriptor = library->descriptor();
  EXPECT_STREQ(descriptor.name, "my net/1");
  EXPECT_EQ(descriptor.arena_bytes, 4 * TestNetwork::size);
  EXPECT_EQ(descriptor.state_bytes, 16);
  EXPECT_EQ(descriptor.weights_bytes, 4 * TestNetwork::size);
  EXPECT_EQ(static_cast<const float *>(descriptor.weights)[7], 7);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(descriptor.weights) % 64, 0u);
  EXPECT_STREQ(descriptor.report_json, "{\"a\": 1}");
  ASSERT_EQ(descriptor.num_inputs, 1);
  const octet_tensor &input = descriptor.inputs[0];
  EXPECT_STREQ(input.name, "data \"0\"");
  EXPECT_EQ(input.dtype, OCTET_U8);
  EXPECT_EQ(ArrayRef<int64_t>(input.shape, input.rank), ArrayRef<int64_t>({1, 3, 2}));
  EXPECT_EQ(input.bytes, 6);
  EXPECT_EQ(input.scale, 0.5f);
  EXPECT_EQ(input.zero_point, 128);
  ASSERT_EQ(descriptor.num_levels, 2);
  EXPECT_STREQ(descriptor.levels[0].name, "sse2");
  ASSERT_EQ(descriptor.levels[0].num_steps, 2);
  const octet_step_record &step = getNetwork(*library).programs[0].steps[1];
  EXPECT_STREQ(reinterpret_cast<const char *>(&step) + step.name, "add/y");
  EXPECT_EQ(step.range, TestNetwork::size);
}

/// The values of a list of the network.
ArrayRef<int32_t> getList(const octet_network &network, int32_t place) {
  return ArrayRef<int32_t>(network.lists + place + 1, network.lists[place]);
}

TEST(Emit, SharesListsOfArguments) {
  const char *kernels = R"(
define void @f(ptr %x, ptr %y, i64 %a, i64 %b, i64 %begin, i64 %end) { ret void }
define void @g(ptr %x, ptr %y, i64 %begin, i64 %end) { ret void }
)";
  std::vector<StepAddress> addresses = {{OCTET_WEIGHTS, 4}, {OCTET_OUTPUT, 0}},
                           others = {{OCTET_ARENA, 64}, {OCTET_INPUT, 0}};
  std::vector<StepInfo> steps = {
      {"f", 1, "f", addresses, {7, -1}}, {"f", 1, "f", others, {7, -1}}, {"g", 1, "g", addresses}};
  auto library =
      TestNetwork("net").level("sse2", kernels, steps).level("reference", kernels, steps).load();
  ASSERT_TRUE(library);
  const octet_network &network = getNetwork(*library);
  const octet_step_record *first = network.programs[0].steps, *second = network.programs[1].steps;
  EXPECT_EQ(getList(network, first[0].addresses),
            ArrayRef<int32_t>({1 << 3 | OCTET_WEIGHTS, 0 << 3 | OCTET_OUTPUT}));
  EXPECT_EQ(getList(network, first[1].addresses),
            ArrayRef<int32_t>({1 << 3 | OCTET_ARENA, 0 << 3 | OCTET_INPUT}));
  EXPECT_EQ(getList(network, first[0].bounds), ArrayRef<int32_t>({7, -1}));
  EXPECT_EQ(getList(network, first[2].bounds), ArrayRef<int32_t>());
  EXPECT_EQ(first[0].addresses, first[2].addresses);
  EXPECT_EQ(first[0].bounds, first[1].bounds);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(first[i].addresses, second[i].addresses);
    EXPECT_EQ(first[i].bounds, second[i].bounds);
  }
  for (int number = 0; number < 5; ++number)
    EXPECT_EQ(network.calls[number] != 0, number == 2 || number == 4) << number;
}

TEST(Emit, NetworkWithoutWeightsOrInputs) {
  TestNetwork network("net");
  network.info.weights = {};
  network.info.inputs.clear();
  const char *nothing = "define void @f(i64 %begin, i64 %end) { ret void }";
  auto library = network.level("reference", nothing, {{"f", 1, "f"}}).load();
  ASSERT_TRUE(library);
  EXPECT_EQ(library->descriptor().weights_bytes, 0);
  EXPECT_EQ(library->descriptor().num_inputs, 0);
}

TEST(Emit, SameBytesWhateverTheParallelism) {
  for (OutputKind kind :
       {OutputKind::SharedLibrary, OutputKind::Object, OutputKind::LLVMIR, OutputKind::Assembly}) {
    auto emit = [&](unsigned parallelism) {
      return TestNetwork("net")
          .level("avx2", "+avx2")
          .level("sse2")
          .emitOrFail(with(kind, "x86_64-linux-gnu", parallelism));
    };
    Bytes once = emit(1);
    EXPECT_FALSE(once.empty());
    EXPECT_EQ(once, emit(1));
    EXPECT_EQ(once, emit(2));
  }
}

/// A level of twenty functions, each of which adds 1 to an output 500 times, and once in a function
/// that all share.
TestNetwork makeLongNetwork() {
  std::string code = R"(
define internal void @increment(ptr %y) {
  %v = load float, ptr %y
  %w = fadd float %v, 1.0
  store float %w, ptr %y
  ret void
})";
  raw_string_ostream os(code);
  std::vector<StepInfo> steps;
  for (int number = 0; number < 20; ++number) {
    std::string name = "f" + std::to_string(number);
    os << "define void @" << name
       << "(ptr %y, i64 %begin, i64 %end) {\n  %v0 = load float, ptr %y\n";
    for (int i = 0; i < 500; ++i)
      os << "  %v" << i + 1 << " = fadd float %v" << i << ", 1.0\n";
    os << "  store float %v500, ptr %y\n  call void @increment(ptr %y)\n  ret void\n}\n";
    steps.push_back({name, 1, name, {{OCTET_OUTPUT, 0}}});
  }
  TestNetwork network("net");
  network.level("reference", code, steps);
  return network;
}

TEST(Emit, DividesLongCode) {
  auto library = makeLongNetwork().load();
  ModelPtr model = create(*library);
  std::vector<float> x(TestNetwork::size), y(TestNetwork::size);
  const void *inputs[] = {x.data()};
  void *outputs[] = {y.data()};
  ASSERT_EQ(library->api().run(model.get(), inputs, outputs), 0);
  EXPECT_EQ(y[0], 20 * 501.0f);
  auto emit = [&](OutputKind kind, unsigned parallelism) {
    return makeLongNetwork().emitOrFail(with(kind, "x86_64-linux-gnu", parallelism));
  };
  EXPECT_EQ(emit(OutputKind::Object, 1), emit(OutputKind::Object, 3));
  // Functions that several parts call are not internal.
  Bytes text = emit(OutputKind::LLVMIR, 2);
  StringRef ir(text.data(), text.size());
  EXPECT_TRUE(ir.contains("define hidden void @net_reference_increment("))
      << ir.substr(ir.find("@net_reference_increment("), 80).str();
}

TEST(Emit, AlignsTheStackOfWideLevels) {
  Bytes text = TestNetwork("net")
                   .level("avx512vnni", "+avx512f,+avx512bw")
                   .level("avx2", "+avx2")
                   .level("sse2")
                   .emitOrFail(with(OutputKind::LLVMIR));
  StringRef ir(text.data(), text.size());
  for (StringRef attribute : {"alignstack(64)", "alignstack(32)", "\"stackrealign\""})
    EXPECT_TRUE(ir.contains(attribute)) << attribute.str();
  Bytes plain = TestNetwork("net").level("sse2").emitOrFail(with(OutputKind::LLVMIR));
  EXPECT_FALSE(StringRef(plain.data(), plain.size()).contains("alignstack"));
}

TEST(Emit, TellsTheRangesOfBounds) {
  const char *kernel = "define void @f(ptr %x, i64 %a, i64 %b, i64 %begin, i64 %end) { ret void }";
  std::vector<StepInfo> steps = {{"f", 1, "f", {{OCTET_ARENA, 0}}, {7, 5}},
                                 {"f", 1, "f", {{OCTET_ARENA, 0}}, {-1, 5}}};
  Bytes text = TestNetwork("net").level("sse2", kernel, steps).emitOrFail(with(OutputKind::LLVMIR));
  StringRef ir(text.data(), text.size());
  EXPECT_TRUE(ir.contains("range(i64 -1, 8) %a, i64 range(i64 5, 6) %b, i64 %begin"))
      << ir.substr(ir.find("@net_sse2_f("), 200).str();
}

TEST(Emit, DoesNotContract) {
  const char *multiplyAdd = R"(
declare float @llvm.fmuladd.f32(float, float, float)
define void @f(ptr %x, i64 %begin, i64 %end) "target-features"="+avx2,+fma" {
  %a = load float, ptr %x
  %product = fmul float %a, %a
  %sum = fadd float %product, %a
  %fused = call float @llvm.fmuladd.f32(float %a, float %sum, float %a)
  store float %fused, ptr %x
  ret void
})";
  Bytes text = TestNetwork("net")
                   .level("avx2", multiplyAdd, {{"f", 1, "f", {{OCTET_ARENA, 0}}}})
                   .emitOrFail(with(OutputKind::Assembly));
  EXPECT_FALSE(StringRef(text.data(), text.size()).contains("vfm"));
  EXPECT_TRUE(StringRef(text.data(), text.size()).contains("vmulss"));
}

TEST(Emit, RefusesFunctionsOfTheMathLibrary) {
  const char *fma = R"(
declare float @llvm.fma.f32(float, float, float)
define void @f(ptr %x, i64 %begin, i64 %end) {
  %a = load float, ptr %x
  %b = call float @llvm.fma.f32(float %a, float %a, float %a)
  store float %b, ptr %x
  ret void
})";
  TestNetwork network("net");
  EXPECT_EQ(getError(network.level("sse2", fma, {{"f", 1, "f", {{OCTET_ARENA, 0}}}}).emit()),
            "the code for CPU level 'sse2' needs the function 'fmaf', which a compiled network "
            "does not have");
}

TEST(Emit, RefusesWhatContradictsItself) {
  EXPECT_EQ(getError(TestNetwork("net").emit()),
            "a network needs the code of at least one CPU level");
  EXPECT_EQ(getError(TestNetwork("net").level("sse2").level("sse2").emit()),
            "CPU level 'sse2' is there twice");
  EXPECT_EQ(getError(TestNetwork("net").level("sse2").emit(
                with(OutputKind::Object, "riscv64-linux-gnu"))),
            "unknown target 'riscv64-linux-gnu'; possible: x86_64-linux-gnu, aarch64-linux-gnu");
}

/// The error of a network whose only step is `step`, behind its place; the kernel takes a pointer
/// and a bound.
std::string getStepError(
    StepInfo step,
    const char *kernel = "define void @f(ptr %x, i64 %a, i64 %begin, i64 %end) { ret void }") {
  std::string error =
      getError(TestNetwork("net").level("sse2", kernel, {step}).emit(with(OutputKind::Object)));
  StringRef text = error;
  return (text.consume_front("CPU level 'sse2': step 'conv1' ") ? text : "no place: " + error)
      .str();
}

TEST(Emit, RefusesStepsThatDoNotFitTheirKernel) {
  const char *message = "calls 'f', expected a function of 1 pointers and 3 i64";
  StepInfo right{"f", 1, "conv1", {{OCTET_ARENA, 0}}, {1}};
  EXPECT_EQ(getStepError(right), "no place: no error");
  EXPECT_EQ(getStepError(right, ""), message);
  EXPECT_EQ(getStepError(right, "define void @f(ptr %x, i64 %begin, i64 %end) { ret void }"),
            message);
  EXPECT_EQ(getStepError(right, "declare void @f(ptr %x, i64 %a, i64 %begin, i64 %end)"), message);
}

TEST(Emit, QuotesTheNamesOfSteps) {
  StepInfo step{"f", 0, "conv\n\x1b[2J", {}, {}};
  EXPECT_EQ(getStepError(step), "no place: CPU level 'sse2': step 'conv\\x0A\\x1B[2J' calls 'f', "
                                "expected a function of 0 pointers and 2 i64");
}

TEST(Emit, RefusesStepsThatDoNotFitTheirRecord) {
  auto step = [](StepAddress address, int64_t bound = 0, int64_t range = 1) {
    return StepInfo{"f", range, "conv1", {address}, {bound}};
  };
  EXPECT_EQ(getStepError(step({OCTET_ARENA, 0}, 0, 0)),
            "expected a range of 1 to 2147483647, but got 0");
  EXPECT_EQ(getStepError(step({OCTET_ARENA, 0}, (int64_t)1 << 31)),
            "expected a bound of 32 bits, but got 2147483648");
  EXPECT_EQ(getStepError(step({OCTET_WEIGHTS, 2})),
            "expected a multiple of 4 below 2147483648 in 'weights', but got 2");
  EXPECT_EQ(getStepError(step({OCTET_WEIGHTS, (int64_t)1 << 31})),
            "expected a multiple of 4 below 2147483648 in 'weights', but got 2147483648");
  EXPECT_EQ(getStepError(step({OCTET_ARENA, -64})),
            "expected a multiple of 64 below 34359738368 in 'arena', but got -64");
  EXPECT_EQ(getStepError(step({OCTET_STATE, 32})),
            "expected a multiple of 64 below 34359738368 in 'state', but got 32");
  EXPECT_EQ(getStepError(step({OCTET_PREPARED, 4})),
            "expected a multiple of 64 below 34359738368 in 'prepared', but got 4");
  EXPECT_EQ(getStepError(step({OCTET_INPUT, 1})),
            "expected a multiple of 1 below 1 in 'input', but got 1");
  EXPECT_EQ(getStepError(step({OCTET_OUTPUT, 1})),
            "expected a multiple of 1 below 1 in 'output', but got 1");
}

TEST(Emit, MakesSymbolsOfAnyName) {
  EXPECT_EQ(getSymbolPrefix("resnet8"), "resnet8");
  EXPECT_EQ(getSymbolPrefix("my net-1.0"), "my_net_1_0");
  EXPECT_EQ(getSymbolPrefix("8bit"), "_8bit");
  EXPECT_EQ(getSymbolPrefix(""), "_");
}

} // namespace
