// simhash/v0.1/hash.hpp: a program for the interface of simhash-cpp 0.1. The expected values are those
// of simhash-cpp 0.1.0, those of a text with a length of simhash-cpp of August 2012.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

#include "hash.hpp"

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

/// A hash of a program.
struct Fnv {
  uint64_t operator()(const char* data, size_t length, uint64_t seed) {
    uint64_t hash = 0xcbf29ce484222325u ^ seed;
    for (size_t at = 0; at < length; ++at) hash = (hash ^ static_cast<unsigned char>(data[at])) * 0x100000001b3u;
    return hash;
  }
};

/// A tokenizer of a program.
struct Spaces {
  const char* operator()(const char* last) const { return *last == '\0' ? NULL : last + strcspn(last, " \n"); }
};

static const char* const FOX = "the quick brown fox jumps over the lazy dog. ";

void jenkins() {
  const Simhash::jenkins hash = Simhash::jenkins();
  const char* const score = "Four score and seven years ago";
  CHECK(hash(score, strlen(score), 0) == 0x17770551ce7226e6u);
  CHECK(hash(score, strlen(score), 0x0000000100000002u) == 0x4804a039e7111896u);
  char bytes[64];
  for (int at = 0; at < 64; ++at) bytes[at] = static_cast<char>(at * 7 + 200);
  CHECK(hash(bytes, 0, 0) == 0xdeadbeefdeadbeefu);
  CHECK(hash(bytes, 12, 12 * 0x9e3779b97f4a7c15u) == 0xc908ec02ce55d19cu);
  CHECK(hash(bytes, 13, 13 * 0x9e3779b97f4a7c15u) == 0x3cf4750b72c25a7eu);
  uint64_t all = 0;
  for (size_t length = 0; length <= 40; ++length) {
    for (int offset = 0; offset < 4; ++offset) {
      all = all * 31 + hash(bytes + offset, length, length * 0x9e3779b97f4a7c15u);
    }
  }
  CHECK(all == 0xb0e4fe0aec8e144bu);
}

void cyclic() {
  Simhash::Cyclic<uint64_t> five(5);
  uint64_t last = 0;
  for (int at = 1; at <= 20; ++at) last = five.push(0x123456789abcdef1u * at);
  CHECK(last == 0x5ef1cde9e35e4fd0u);
  Simhash::Cyclic<uint32_t> four;
  uint32_t narrow = 0;
  for (int at = 1; at <= 9; ++at) narrow = four.push(0x12345671u * at);
  CHECK(narrow == 0x14fb2f86u);
  CHECK(Simhash::Cyclic<uint64_t>::rotate(1, 64) == 1 && Simhash::Cyclic<uint64_t>::rotate(1, 1) == 2);
}

void texts() {
  Simhash::Simhash<> simhash;
  CHECK(simhash.hash_tokenizer(FOX, Simhash::Strspn()) == 0xaf822ffecc56eed5u);
  CHECK(simhash.hash_tokenizer("one ", Simhash::Strspn()) == 0x3ecdd531663ffec4u);
  CHECK(simhash.hash_tokenizer("", Simhash::Strspn()) == 0);
  CHECK(simhash.hash_tokenizer(FOX, Spaces()) == 0xafb02feccc52e8c1u);

  Simhash::Simhash<Fnv> other;
  CHECK(other.hash_tokenizer(FOX, Spaces()) == 0x16e0b500e2e66fe5u);

  char the[] = "the", quick[] = "quick", empty[] = "", brown[] = "brown", fox[] = "fox", jumps[] = "jumps";
  char* tokens[] = {the, quick, empty, brown, fox, jumps, NULL};
  CHECK(simhash.hash(tokens) == 0x39a23be54456eac1u && simhash(tokens) == 0x39a23be54456eac1u);
  uint64_t numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  int64_t with_signs[] = {-1, -2, -3, -4, 5};
  CHECK(simhash.hash_fp(numbers, 9) == 0x7bc31b7574808adau);
  CHECK(simhash.hash_fps(with_signs, 5) == 0x559b0e6929288feau);
}

/// The interface of 2012: the tokenizer is a parameter of the class.
void texts_with_length() {
  Simhash::Simhash<> simhash;
  CHECK(simhash(FOX, strlen(FOX)) == 0xaf822ffecc56eed5u && simhash.hash("", 0) == 0);
  Simhash::Simhash<Fnv, Spaces> other;
  CHECK(other.hash(FOX, strlen(FOX)) == 0x16e0b500e2e66fe5u);
  Simhash::Simhash<Fnv, Spaces>::tokenizer_type tokenizer;
  Simhash::Simhash<Fnv, Spaces>::hash_type hasher;
  CHECK(tokenizer("ab c")[0] == ' ' && hasher("", 0, 0) != 0);
}

/// Nothing behind a text is read, whether it ends in a token or not.
void ends() {
  Simhash::Simhash<> simhash;
  std::string text = "the quick brown fox";
  const uint64_t whole = simhash.hash_tokenizer((text + ".").c_str(), Simhash::Strspn());
  char* const exact = static_cast<char*>(malloc(text.size()));
  memcpy(exact, text.data(), text.size());
  CHECK(simhash(exact, text.size()) == whole);
  CHECK(simhash(exact, 3) == simhash("the", 3) && simhash(exact, 3) != whole);
  free(exact);
  char* const with_null = static_cast<char*>(malloc(text.size() + 1));
  memcpy(with_null, text.c_str(), text.size() + 1);
  CHECK(simhash.hash_tokenizer(with_null, Simhash::Strspn()) == whole);
  free(with_null);
}

int main() {
  jenkins();
  cyclic();
  texts();
  texts_with_length();
  ends();
  puts("simhash 0.1: jenkins, cyclic, texts");
  return 0;
}
