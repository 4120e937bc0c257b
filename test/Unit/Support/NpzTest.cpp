//===- NpzTest.cpp - NumPy's array files ------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Npz.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fstream>

using namespace llvm;
using namespace octet;

namespace {

/// Every array with its elements.
Expected<std::vector<NpyArray>> readNpz(StringRef path) {
  auto reader = NpzReader::open(path);
  if (!reader)
    return reader.takeError();
  std::vector<NpyArray> arrays = (*reader)->headers();
  for (size_t i = 0; i < arrays.size(); ++i) {
    arrays[i].data.resize(arrays[i].numElements() * getDTypeBytes(arrays[i].dtype));
    int64_t rows = arrays[i].shape.empty() ? 1 : arrays[i].shape[0];
    if (Error error = (*reader)->read(i, 0, rows, arrays[i].data.data()))
      return std::move(error);
  }
  return arrays;
}

class Npz : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createTemporaryFile("octet-npz-test", "npz", path));
  }
  void TearDown() override { sys::fs::remove(path); }

  void write(StringRef bytes) {
    std::ofstream(path.c_str(), std::ios::binary).write(bytes.data(), bytes.size());
  }

  /// The error of reading the given bytes, without the file's name in front.
  std::string getError(StringRef bytes) {
    write(bytes);
    auto arrays = readNpz(path);
    if (arrays)
      return "no error";
    std::string message = toString(arrays.takeError()), prefix = "'" + path.str().str() + "': ";
    EXPECT_TRUE(StringRef(message).starts_with(prefix)) << message;
    return message.substr(prefix.size());
  }

  SmallString<128> path;
};

template <typename T>
NpyArray makeArray(std::string name, NpyDType dtype, std::vector<int64_t> shape,
                   std::vector<T> values) {
  const char *data = reinterpret_cast<const char *>(values.data());
  return {std::move(name), dtype, std::move(shape),
          std::vector<char>(data, data + values.size() * sizeof(T))};
}

/// A .npy file with the given dictionary and data.
std::string makeNpy(StringRef header, StringRef data = "") {
  std::string text("\x93NUMPY\1\0", 8);
  char length[2];
  support::endian::write16le(length, header.size());
  return text + std::string(length, 2) + header.str() + data.str();
}

std::vector<NpyArray> makeArrays() {
  return {makeArray<float>("images/x", NpyDType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}),
          makeArray<int64_t>("labels", NpyDType::I64, {2}, {-1, 7}),
          makeArray<uint8_t>("scalar", NpyDType::U8, {}, {9}),
          makeArray<float>("empty", NpyDType::F32, {0, 3}, {})};
}

TEST_F(Npz, RoundTrips) {
  std::vector<NpyArray> arrays = makeArrays();
  std::string bytes = cantFail(writeNpz(arrays));
  EXPECT_EQ(bytes, cantFail(writeNpz(arrays)));
  write(bytes);
  auto read = readNpz(path);
  ASSERT_TRUE(bool(read)) << toString(read.takeError());
  ASSERT_EQ(read->size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ((*read)[i].name, arrays[i].name);
    EXPECT_EQ((*read)[i].dtype, arrays[i].dtype);
    EXPECT_EQ((*read)[i].shape, arrays[i].shape);
    EXPECT_EQ((*read)[i].data, arrays[i].data);
  }
}

TEST_F(Npz, ReadsOneArray) {
  write(makeNpy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n",
                StringRef("\1\0\2\0", 4)));
  auto read = readNpz(path);
  ASSERT_TRUE(bool(read)) << toString(read.takeError());
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].name, "");
  EXPECT_EQ((*read)[0].dtype, NpyDType::I16);
  EXPECT_EQ((*read)[0].data, (std::vector<char>{1, 0, 2, 0}));
}

/// Files of NumPy: stored and deflated, forwards and backwards.
TEST_F(Npz, ReadsRowsOfNumPysFiles) {
  for (const char *name : {"numpy-stored.npz", "numpy-deflated.npz"}) {
    auto reader = NpzReader::open(std::string(OCTET_TEST_INPUTS "/") + name);
    ASSERT_TRUE(bool(reader)) << toString(reader.takeError());
    const std::vector<NpyArray> &headers = (*reader)->headers();
    ASSERT_EQ(headers.size(), 2u);
    EXPECT_EQ(headers[0].name, "x");
    EXPECT_EQ(headers[0].dtype, NpyDType::F32);
    EXPECT_EQ(headers[0].shape, (std::vector<int64_t>{100, 7}));
    EXPECT_EQ(headers[1].name, "label");
    EXPECT_EQ(headers[1].dtype, NpyDType::I64);
    for (int64_t row : {0, 1, 5, 99, 3, 98}) {
      float values[14];
      int64_t rows = row == 98 ? 2 : 1;
      ASSERT_EQ(toString((*reader)->read(0, row, row + rows, reinterpret_cast<char *>(values))),
                "");
      for (int64_t i = 0; i < rows * 7; ++i)
        EXPECT_EQ(values[i], row * 7 + i);
      int64_t label;
      ASSERT_EQ(toString((*reader)->read(1, row, row + 1, reinterpret_cast<char *>(&label))), "");
      EXPECT_EQ(label, row % 10);
    }
  }
}

TEST_F(Npz, NamesTheFile) {
  EXPECT_EQ(toString(readNpz("/no/such.npz").takeError()),
            "'/no/such.npz': No such file or directory");
  EXPECT_EQ(toString(readNpz("/").takeError()), "'/': not a regular file");
}

TEST_F(Npz, RefusesWhatIsNoArray) {
  EXPECT_EQ(getError(""), "not a NumPy array");
  EXPECT_EQ(getError("some text that is no array"), "not a NumPy array");
  EXPECT_EQ(getError(makeNpy("")), "the header is malformed");
  EXPECT_EQ(getError(makeNpy("{'descr': '<f4'")), "the header is malformed");
  EXPECT_EQ(getError(makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }")),
            "the header is malformed");
  EXPECT_EQ(getError(makeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 'x'), }")),
            "the header is malformed");
  EXPECT_EQ(getError(makeNpy("{'descr': '<f4', 'fortran_order': False, }")),
            "the header is malformed");
  EXPECT_EQ(getError(makeNpy("{'fortran_order': Maybe}")), "the header is malformed");
  EXPECT_EQ(getError(makeNpy("{'other': 1}")), "the header is malformed");
}

TEST_F(Npz, RefusesWhatItCannotRead) {
  auto header = [](StringRef type, StringRef order, StringRef shape) {
    return makeNpy(
        ("{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }")
            .str());
  };
  EXPECT_EQ(getError(header("'>f4'", "False", "(1,)")), "big-endian numbers are not supported");
  EXPECT_EQ(getError(header("'|O'", "False", "(1,)")), "elements of type '|O' are not supported");
  EXPECT_EQ(getError(header("[('a', '<f4')]", "False", "(1,)")), "records are not supported");
  EXPECT_EQ(getError(header("'<f4'", "True", "(2, 3)")),
            "column-major order is not supported; save numpy.ascontiguousarray(array)");
  EXPECT_EQ(getError(header("'<f4'", "False", "(4611686018427387904, 4)")),
            "the shape is too large");
  EXPECT_EQ(getError(header("'<f4'", "False", "(1000000000,)")),
            "expected 4000000000 bytes of data, but got 0");
}

TEST_F(Npz, RefusesDamagedArchives) {
  std::string whole = cantFail(writeNpz(makeArrays()));
  EXPECT_EQ(getError(StringRef(whole).drop_back(30)),
            "the file is truncated: it has no archive directory");

  std::string changed = whole;
  changed[whole.find("\x93NUMPY") + 128] ^= 1; // The first element of the first array.
  EXPECT_EQ(getError(changed),
            "array 'images/x': damaged archive: the checksum of 'images/x.npy' is wrong");

  changed = whole;
  changed[0] = 'p'; // The first member; then it is no archive at all.
  EXPECT_EQ(getError(changed), "not a NumPy array");

  size_t entry = whole.rfind("PK\1\2");
  changed = whole;
  uint32_t place = support::endian::read32le(&changed[entry + 42]);
  support::endian::write32le(&changed[entry + 42], place + 1);
  EXPECT_EQ(getError(changed),
            "array 'empty': damaged archive: 'empty.npy' is not where the directory says");
  support::endian::write32le(&changed[entry + 42], place - 5);
  EXPECT_EQ(getError(changed),
            "damaged archive: 'scalar.npy' and 'empty.npy' lie over one another");
  support::endian::write32le(&changed[entry + 42], 1u << 30);
  EXPECT_EQ(getError(changed), "damaged archive: 'empty.npy' has an impossible size or place");
  changed = whole;
  support::endian::write32le(&changed[entry + 24], 1u << 30);
  EXPECT_EQ(getError(changed), "damaged archive: 'empty.npy' has an impossible size or place");
  changed = whole;
  changed[entry + 8] |= 1;
  EXPECT_EQ(getError(changed), "'empty.npy' is encrypted");
  changed = whole;
  changed[entry + 10] = 12;
  EXPECT_EQ(getError(changed), "'empty.npy' is compressed by an unknown method (12)");
  changed = whole;
  changed[entry] = 'p';
  EXPECT_EQ(getError(changed), "damaged archive: its directory ends early");
  changed = whole;
  support::endian::write32le(&changed[whole.rfind("PK\5\6") + 12], 1u << 30);
  EXPECT_EQ(getError(changed), "damaged archive: the directory is larger than the file");
}

TEST_F(Npz, RefusesArchivesOfOtherThings) {
  std::vector<NpyArray> arrays = {makeArray<float>("a", NpyDType::F32, {1}, {1}),
                                  makeArray<float>("a", NpyDType::F32, {1}, {1})};
  EXPECT_EQ(getError(cantFail(writeNpz(arrays))), "array 'a': is there twice");
  std::string bytes = cantFail(writeNpz(makeArrays()));
  bytes.replace(bytes.rfind("labels.npy"), 10, "labels.txt");
  EXPECT_EQ(getError(bytes), "'labels.txt' is not a NumPy array");
}

/// Names are from the file: many of them, long ones, and such that move a terminal's cursor.
TEST_F(Npz, ListsNamesBriefly) {
  std::vector<NpyArray> arrays;
  for (int i = 0; i < 60000; ++i)
    arrays.push_back(makeArray<float>("a" + std::to_string(i), NpyDType::F32, {1}, {1}));
  EXPECT_EQ(listNames(ArrayRef(arrays).take_front(2)), "'a0', 'a1'");
  EXPECT_TRUE(StringRef(listNames(arrays)).ends_with("'a7' and 59992 more"));
  arrays.resize(1);
  arrays[0].name = "\x1b[2J" + std::string(100000, 'x');
  EXPECT_LT(listNames(arrays).size(), 300u);
  EXPECT_EQ(listNames(arrays).find('\x1b'), std::string::npos);
}

/// Every prefix and every changed byte is read or refused, never more.
TEST_F(Npz, SurvivesAnything) {
  std::ifstream file(OCTET_TEST_INPUTS "/numpy-deflated.npz", std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(whole.size(), 500u);
  int refused = 0;
  for (size_t i = 0; i < whole.size(); i += 7) {
    std::string changed = whole;
    changed[i] ^= 0xff;
    refused += getError(changed) != "no error";
    EXPECT_NE(getError(whole.substr(0, i)), "no error") << i;
  }
  EXPECT_GT(refused, int(whole.size() / 14));
}

} // namespace
