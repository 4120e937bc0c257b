//===- FileTest.cpp - files written whole or not at all, libraries read -===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <csignal>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace octet;
using namespace octet::test;

namespace {

class File : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(sys::fs::createUniqueDirectory("octet-file-test", folder)); }
  void TearDown() override { sys::fs::remove_directories(folder); }

  std::string path(StringRef name) { return (folder + "/" + name).str(); }
  static std::string write(StringRef path, StringRef text) {
    return toString(writeFileAtomically(path, ArrayRef<char>(text.data(), text.size())));
  }
  static std::string read(StringRef path) {
    auto buffer = MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "cannot be read";
  }
  int countFiles() {
    int count = 0;
    std::error_code code;
    for (sys::fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code))
      ++count;
    return count;
  }

  SmallString<128> folder;
};

TEST_F(File, ReplacesAFile) {
  EXPECT_EQ(write(path("a"), "old"), "");
  EXPECT_EQ(write(path("a"), "new"), "");
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(countFiles(), 1);
}

TEST_F(File, ReplacesWhatALinkPointsTo) {
  EXPECT_EQ(write(path("a"), "old"), "");
  ASSERT_FALSE(sys::fs::create_link(path("a"), path("link")));
  EXPECT_EQ(write(path("link"), "new"), "");
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(countFiles(), 2);
}

TEST_F(File, NamesThePathThatCannotBeWritten) {
  std::string missing = path("no/such/folder");
  EXPECT_EQ(write(missing, "text"), "cannot write '" + missing + "': No such file or directory");
  EXPECT_EQ(write(folder, "text"), "cannot write '" + folder.str().str() + "': Is a directory");
  EXPECT_EQ(countFiles(), 0);
}

TEST_F(File, ReportsAFullDevice) {
  EXPECT_EQ(write("/dev/full", std::string(100000, 'x')),
            "cannot write '/dev/full': No space left on device");
}

TEST_F(File, WritesAllOrNone) {
  std::string first = path("first"), second = path("second"), missing = path("no/such/folder");
  ArrayRef<char> bytes("text", 4);
  ASSERT_EQ(write(first, "old"), "");
  for (StringRef broken : {StringRef(missing), StringRef("/dev/full"), folder.str()})
    EXPECT_NE(toString(writeFiles({{first, bytes}, {broken, bytes}, {second, bytes}})), "");
  // A rename that fails is noticed late: those before it are there.
  EXPECT_EQ(read(first), "text");
  ASSERT_EQ(write(first, "old"), "");
  EXPECT_NE(toString(writeFiles({{first, bytes}, {"/dev/full", bytes}})), "");
  EXPECT_NE(toString(writeFiles({{missing, bytes}, {first, bytes}})), "");
  EXPECT_EQ(read(first), "old");
  EXPECT_EQ(countFiles(), 1);
  EXPECT_EQ(toString(writeFiles({{first, bytes}, {second, bytes}})), "");
  EXPECT_EQ(read(first) + read(second), "texttext");
}

/// The process ends as if nobody had caught the signal.
TEST_F(File, SignalsLeaveNothing) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current;
    ASSERT_EQ(sigaction(signal, nullptr, &current), 0);
    if (current.sa_handler == SIG_IGN)
      GTEST_SKIP() << "the shell ignores signal " << signal;
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::error_code code;
      raw_fd_ostream(reserveTemporaryFile(path("x.%%%%.tmp")), code) << "text";
      raise(code ? SIGKILL : signal);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(countFiles(), 0);
  }
}

/// Under nohup, a process goes on and keeps its files.
TEST_F(File, IgnoredSignalsStayIgnored) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGHUP, SIG_IGN);
    std::error_code code;
    raw_fd_ostream(reserveTemporaryFile(path("x.%%%%.tmp")), code) << "text";
    raise(SIGHUP);
    _exit(code ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(countFiles(), 1);
}

TEST_F(File, ReadsWhatHasAnEnd) {
  write(path("a"), "text");
  auto buffer = readFile(path("a"), 4);
  ASSERT_TRUE(bool(buffer)) << toString(buffer.takeError());
  EXPECT_EQ((*buffer)->getBuffer(), "text");
  EXPECT_EQ(getError(readFile(path("a"), 3)),
            "has 4 bytes, more than the 3 that are read of such a file");
  EXPECT_EQ(getError(readFile(path("b"), 9)), "No such file or directory");
  EXPECT_EQ(getError(readFile(folder, 9)), "is a folder");
  EXPECT_EQ(getError(readFile("/dev/zero", 9)), "is not a regular file");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(getError(readFile(path("pipe"), 9)), "is not a regular file");
  for (std::string file : {std::string("/dev/zero"), path("pipe")})
    EXPECT_EQ(getError(ModelLibrary::load(file)), "cannot load '" + file + "': not a regular file");
}

TEST_F(File, InMemoryHasAPathAndNoFolder) {
  auto file = MemoryFile::create(ArrayRef<char>("text", 4));
  ASSERT_TRUE(bool(file)) << toString(file.takeError());
  EXPECT_EQ(read(file->getPath()), "text");
}

TEST_F(File, WritesToDevices) { EXPECT_EQ(write("/dev/null", "text"), ""); }

TEST_F(File, LibraryIsLoadedAsItIsNow) {
  std::string file = path("net.so");
  std::vector<std::unique_ptr<ModelLibrary>>
      loaded; // The first stays loaded while the next is loaded from the same path.
  for (StringRef name : {"first", "second"}) {
    auto bytes = TestNetwork(name).level("reference").emitOrFail();
    ASSERT_EQ(write(file, StringRef(bytes.data(), bytes.size())), "");
    auto library = ModelLibrary::load(file);
    ASSERT_TRUE(bool(library)) << toString(library.takeError());
    EXPECT_EQ((*library)->descriptor().name, name);
    loaded.push_back(std::move(*library));
  }
}

TEST_F(File, RefusesWhatIsNoLibrary) {
  std::string file = path("net.so"), prefix = "cannot load '" + file + "': ";
  EXPECT_EQ(getError(ModelLibrary::load(file)), prefix + "No such file or directory");
  write(file, "text");
  EXPECT_EQ(getError(ModelLibrary::load(file)),
            prefix + "The file was not recognized as a valid object file");
  auto emit = [&](OutputKind kind, StringRef triple) {
    EmitOptions options;
    options.kind = kind;
    options.triple = triple.str();
    auto bytes = TestNetwork("net").level("reference").emitOrFail(options);
    write(file, StringRef(bytes.data(), bytes.size()));
  };
  emit(OutputKind::Object, getHostTriple());
  EXPECT_EQ(getError(ModelLibrary::load(file)), prefix + "not a shared library");
  bool isX86 = StringRef(getHostTriple()).starts_with("x86_64");
  emit(OutputKind::SharedLibrary, isX86 ? "aarch64-linux-gnu" : "x86_64-linux-gnu");
  EXPECT_EQ(getError(ModelLibrary::load(file)),
            prefix + (isX86 ? "made for aarch64, but this machine is x86_64"
                            : "made for x86_64, but this machine is aarch64"));
  std::string libz = "/usr/lib/x86_64-linux-gnu/libz.so.1";
  if (sys::fs::exists(libz)) {
    EXPECT_EQ(getError(ModelLibrary::load(libz)),
              "cannot load '" + libz +
                  "': not a network compiled by Octet (it exports no symbol that ends in "
                  "_octet_model_v1)");
  }
}

TEST(Library, WeightsLeftOutAreMappedWhenTheLibraryIsLoaded) {
  EmitOptions options = with(OutputKind::SharedLibrary, getHostTriple());
  options.leavesWeightsOut = true;
  for (size_t size : {4 * TestNetwork::size, int64_t(1) << 20}) {
    TestNetwork network("net");
    std::vector<char> weights(network.info.weights.begin(), network.info.weights.end());
    weights.resize(size);
    network.info.weights = weights;
    MemoryFile file = cantFail(MemoryFile::create(ArrayRef<char>(weights)));
    fill(weights, 1); // nobody reads them any more
    SmallVector<char, 0> bytes = network.level("reference").emitOrFail(options);
    EXPECT_LT(bytes.size(), size_t(1) << 18);
    auto library = cantFail(ModelLibrary::loadBytes(bytes, &file));
    ASSERT_EQ(library->descriptor().weights_bytes, (int64_t)size);
    std::vector<float> input(TestNetwork::size, 1), output(TestNetwork::size);
    const void *inputs[] = {input.data()};
    void *outputs[] = {output.data()};
    ASSERT_EQ(library->api().run(create(*library).get(), inputs, outputs), 0);
    for (int64_t i = 0; i < TestNetwork::size; ++i)
      EXPECT_EQ(output[i], 2 + i);
  }
}

TEST(Library, WithoutWeightsNothingIsLeftOut) {
  TestNetwork network("net");
  network.info.weights = {};
  EmitOptions options = with(OutputKind::SharedLibrary, getHostTriple());
  options.leavesWeightsOut = true;
  const char *nothing = "define void @f(i64 %begin, i64 %end) { ret void }";
  SmallVector<char, 0> bytes =
      network.level("reference", nothing, {{"f", 1, "f"}}).emitOrFail(options);
  MemoryFile file = cantFail(MemoryFile::create(ArrayRef<char>()));
  EXPECT_EQ(cantFail(ModelLibrary::loadBytes(bytes, &file))->descriptor().weights_bytes, 0);
}

} // namespace
