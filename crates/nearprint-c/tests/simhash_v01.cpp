// simhash/v0.1/hash.hpp: a program for the interface of simhash-cpp 0.1. The expected values come
// from simhash-cpp 0.1.0; values for a text with a length come from simhash-cpp of August 2012.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hash.hpp"
#include "hashes/fnv.h"
#include "hashes/murmur.h"
#include "simhash.h"

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

/// The published values of FNV-1a, and MurmurHash64A as libstdc++ hashes strings.
void other_hashes() {
  const Simhash::fnv fnv = Simhash::fnv();
  CHECK(fnv("", 0, 0) == 0xcbf29ce484222325u && fnv("a", 1, 0) == 0xaf63dc4c8601ec8cu);
  CHECK(fnv("foobar", 6, 0) == 0x85944171f73967e8u);
#if __cplusplus >= 201103L && defined(__GLIBCXX__) && defined(__LP64__)
  const Simhash::murmur murmur = Simhash::murmur();
  std::string text;
  for (int length = 0; length < 40; ++length) {
    CHECK(murmur(text.data(), text.size(), 0xc70f6907u) == std::hash<std::string>()(text));
    text += static_cast<char>(length * 37 + 150);
  }
#endif
}

/// Tables find what brute force finds among hashes with equal leading blocks.
void tables() {
  std::vector<Simhash::hash_t> masks;
  const Simhash::hash_t blocks[6] = {0x7ff00000u, 0xffe0000000000000u, 0x1ffc0000000000u, 0x3ff80000000u, 0xffe00u, 0x1ffu};
  masks.assign(blocks, blocks + 6);
  Simhash::Table table(3, masks);
  CHECK(table.begin() == table.end() && table.find(7) == 0);
  std::vector<Simhash::hash_t> hashes;
  Simhash::hash_t state = 7;
  for (int at = 0; at < 2000; ++at) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    hashes.push_back(at % 3 == 0 ? state : hashes.back() ^ (Simhash::hash_t(1) << (state >> 58)));
  }
  table.insert(hashes.begin(), hashes.end());
  table.insert(hashes[0]);
  const Simhash::hash_t leading = blocks[0] | blocks[1] | blocks[2];
  CHECK(table.get_search_mask() == 0xffffffff80000000u);
  size_t pairs = 0;
  for (size_t a = 0; a < hashes.size(); ++a) {
    CHECK(table.unpermute(table.permute(hashes[a])) == hashes[a]);
    std::set<Simhash::hash_t> expected;
    for (size_t b = 0; b < hashes.size(); ++b) {
      const bool is_near = Simhash::num_differing_bits(hashes[a], hashes[b]) <= 3;
      if (is_near && ((hashes[a] ^ hashes[b]) & leading) == 0) expected.insert(hashes[b]);
    }
    std::vector<Simhash::hash_t> found;
    table.find(hashes[a], found);
    CHECK(std::set<Simhash::hash_t>(found.begin(), found.end()) == expected && found.size() == expected.size());
    CHECK(table.find(hashes[a]) == found[0]);
    pairs += found.size() - 1;
  }
  CHECK(pairs > 500);
  size_t listed = 0;
  Simhash::hash_t before = 0;
  for (Simhash::Table::const_iterator at = table.begin(); at != table.end(); ++at, ++listed) {
    CHECK(*at >= before);
    before = *at;
  }
  CHECK(listed == std::set<Simhash::hash_t>(hashes.begin(), hashes.end()).size());
  table.remove(hashes.begin(), hashes.end());
  CHECK(table.begin() == table.end());
  void* set = NULL;
  int changed = 0;
  J1S(changed, set, 5);
  CHECK(changed == 1);
  J1S(changed, set, 9);
  Simhash::const_iterator_t place(set, 0);
  CHECK(*place++ == 5 && *place == 9 && *--place == 5 && *--place == 0);
  J1U(changed, set, 5);
  CHECK(changed == 1);
  J1FA(changed, set);
  CHECK(set == NULL);
}

int main() {
  jenkins();
  other_hashes();
  tables();
  cyclic();
  texts();
  texts_with_length();
  ends();
  puts("simhash 0.1: jenkins, cyclic, texts");
  return 0;
}
