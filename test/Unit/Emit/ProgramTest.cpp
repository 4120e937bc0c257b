//===- ProgramTest.cpp - C programs that use emitted networks ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/Program.h"
#include "TestNetwork.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>

using namespace llvm;
using namespace octet;
using namespace octet::test;

namespace {

class Program : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("octet-program-test", folder));
  }
  void TearDown() override { sys::fs::remove_directories(folder); }

  std::string path(const Twine &name) { return (folder + "/" + name).str(); }

  void emit(StringRef name, float slope, std::vector<std::string> levels, EmitOptions options,
            StringRef suffix) {
    TestNetwork network(name, slope);
    for (const std::string &level : levels)
      network.level(level);
    std::string header = emitHeader(network.info);
    auto bytes = network.emitOrFail(options);
    EXPECT_EQ(toString(writeFileAtomically(path(name + suffix), bytes)), "");
    EXPECT_EQ(toString(writeFileAtomically(path(name + ".h"), header)), "");
  }

  /// Runs a shell command in the test's folder; its output, and its exit code if that is not 0.
  std::string shell(const std::string &command) {
    std::string line = "cd " + folder.str().str() + " && ( " + command + " ) > output 2>&1";
    int code = std::system(line.c_str());
    auto buffer = MemoryBuffer::getFile(path("output"));
    std::string text = buffer ? (*buffer)->getBuffer().str() : "";
    return code ? text + "exit code " + std::to_string(WEXITSTATUS(code)) : text;
  }

  static std::string input(StringRef name) { return (OCTET_TEST_INPUTS "/" + name).str(); }
  static bool has(StringRef program) { return bool(sys::findProgramByName(program)); }
  /// Under tools/dev/check everything is installed: what is not there is lost.
  static void skip(const char *reason) {
    StringRef complete = std::getenv("OCTET_COMPLETE") ? std::getenv("OCTET_COMPLETE") : "";
    if (!complete.empty())
      FAIL() << reason;
    GTEST_SKIP() << reason;
  }

  SmallString<128> folder;
};

EmitOptions options(OutputKind kind, StringRef triple) {
  EmitOptions result;
  result.kind = kind;
  result.triple = triple.str();
  return result;
}

TEST_F(Program, TenLinesUseALibrary) {
  emit("net", 1, {"reference"}, options(OutputKind::SharedLibrary, getHostTriple()), ".so");
  EXPECT_EQ(shell("cc -std=c99 -Wall -Wextra -Werror -pedantic -I. " + input("ten-lines.c") +
                  " ./net.so -o program && ./program"),
            "0 2 5 8 reference\n");
}

TEST_F(Program, HeaderIsValidCxx) {
  emit("net", 1, {"reference"}, options(OutputKind::Object, getHostTriple()), ".o");
  EXPECT_EQ(shell("c++ -std=c++11 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c++ net.h"), "");
}

TEST_F(Program, HeaderSurvivesHostileNames) {
  TestNetwork network("a*/ b");
  network.info.inputs[0].name = "*/ #error \\\n x";
  EXPECT_EQ(toString(writeFileAtomically(path("net.h"), emitHeader(network.info))), "");
  EXPECT_EQ(shell("cc -Wall -Werror -fsyntax-only -x c net.h"), "");
}

TEST_F(Program, ObjectsOfTwoNetworksLinkTogether) {
  for (StringRef name : {"first", "second"})
    emit(name, name == "first" ? 1 : 10, {"reference"},
         options(OutputKind::Object, getHostTriple()), ".o");
  EXPECT_EQ(
      shell("cc -I. " + input("two-networks.c") + " first.o second.o -o program && ./program"),
      "8 36 first second\n");
}

TEST_F(Program, LibrariesOfTwoNetworksLinkTogether) {
  for (StringRef name : {"first", "second"})
    emit(name, name == "first" ? 1 : 10, {"reference"},
         options(OutputKind::SharedLibrary, getHostTriple()), ".so");
  EXPECT_EQ(shell("cc -I. " + input("two-networks.c") +
                  " ./first.so ./second.so -o program && ./program"),
            "8 36 first second\n");
}

TEST_F(Program, AssemblyAndIRAreTheSameNetwork) {
  emit("net", 1, {"reference"}, options(OutputKind::Assembly, getHostTriple()), ".s");
  EXPECT_EQ(shell("cc -I. " + input("ten-lines.c") + " net.s -o program && ./program"),
            "0 2 5 8 reference\n");
  if (!has("clang-22"))
    return skip("needs clang-22");
  emit("net", 1, {"reference"}, options(OutputKind::LLVMIR, getHostTriple()), ".ll");
  EXPECT_EQ(shell("clang-22 -Wno-override-module -I. " + input("ten-lines.c") +
                  " net.ll -o program && ./program"),
            "0 2 5 8 reference\n");
}

TEST_F(Program, CrossCompiledNetworkPicksItsLevel) {
  if (!has("aarch64-linux-gnu-gcc") || !has("qemu-aarch64-static"))
    return skip("needs aarch64-linux-gnu-gcc and qemu-aarch64-static");
  std::string run = "qemu-aarch64-static -L /usr/aarch64-linux-gnu -cpu ";
  emit("net", 1, {"sve512", "sve256", "i8mm", "dotprod", "neon", "reference"},
       options(OutputKind::SharedLibrary, "aarch64-linux-gnu"), ".so");
  EXPECT_EQ(shell("aarch64-linux-gnu-gcc -I. " + input("ten-lines.c") + " ./net.so -o program"),
            "");
  EXPECT_EQ(shell(run + "a64fx ./program"), "0 2 5 8 sve512\n");
  EXPECT_EQ(shell(run + "max,sve512=on ./program"), "0 2 5 8 sve512\n");
  EXPECT_EQ(shell(run + "max,sve256=on ./program"), "0 2 5 8 sve256\n");
  for (StringRef other :
       {"sve=off", "sve128=on", "sve384=on", "sve1024=on,sve-default-vector-length=128"})
    EXPECT_EQ(shell(run + "max," + other.str() + " ./program"), "0 2 5 8 i8mm\n") << other.str();
  EXPECT_EQ(shell(run + "neoverse-n1 ./program"), "0 2 5 8 dotprod\n");
  EXPECT_EQ(shell(run + "cortex-a72 ./program"), "0 2 5 8 neon\n");
  EXPECT_EQ(shell("OCTET_CPU_LEVEL=reference " + run + "max ./program"), "0 2 5 8 reference\n");
  EXPECT_EQ(shell("OCTET_CPU_LEVEL=dotprod " + run + "cortex-a72 ./program"),
            "1 0 0 0 \nexit code 1");
  EXPECT_EQ(shell("OCTET_CPU_LEVEL=sve512 " + run + "max,sve256=on ./program"),
            "1 0 0 0 \nexit code 1");
  EXPECT_EQ(shell("OCTET_CPU_LEVEL=i8mm " + run + "neoverse-n1 ./program"),
            "1 0 0 0 \nexit code 1");

  for (StringRef name : {"first", "second"})
    emit(name, name == "first" ? 1 : 10, {"neon"}, options(OutputKind::Object, "aarch64-linux-gnu"),
         ".o");
  EXPECT_EQ(shell("aarch64-linux-gnu-gcc -I. " + input("two-networks.c") +
                  " first.o second.o -o program && " + run + "max ./program"),
            "8 36 first second\n");
}

} // namespace
