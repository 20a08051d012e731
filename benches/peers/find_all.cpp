// Times Simhash::find_all of random hashes, one in twenty near another one, for k = 3. Compiles against the
// headers of simhash-cpp and against those of nearprint. Prints what was timed, microseconds, and pairs found.
//
//     find_all COUNT BLOCKS
//     find_all COUNT print       the hashes

#include <simhash.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_set>
#include <vector>

static uint64_t state = 42;

/// splitmix64 (Steele, Lea and Flood, 2014).
static uint64_t random_number() {
  state += 0x9e3779b97f4a7c15u;
  uint64_t x = state;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

template <typename Find>
static void time(const char* name, Find find) {
  const auto start = std::chrono::steady_clock::now();
  const size_t found = find();
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  std::printf("%s\t%.0f\t%zu\n", name, taken.count(), found);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const size_t blocks = std::strtoul(arguments[2], nullptr, 10);
  std::vector<Simhash::hash_t> list(std::strtoul(arguments[1], nullptr, 10));
  for (auto& hash : list) hash = random_number();
  for (size_t at = 0; at < list.size(); at += 20) {
    list[at] = list[random_number() % list.size()] ^ Simhash::hash_t(5) << random_number() % 61;
  }
  if (std::strcmp(arguments[2], "print") == 0) {
    for (auto hash : list) std::printf("%llu\n", static_cast<unsigned long long>(hash));
    return 0;
  }
  std::unordered_set<Simhash::hash_t> set(list.begin(), list.end());
  time("a set of pairs", [&] { return Simhash::find_all(set, blocks, 3).size(); });
#ifdef NEARPRINT_H
  std::vector<Simhash::match_t> pairs;
  time("a vector of pairs", [&] { return Simhash::find_all_pairs(set, blocks, 3, pairs), pairs.size(); });
  pairs.clear();
  time("a vector of pairs, of a vector", [&] { return Simhash::find_all_pairs(list, blocks, 3, pairs), pairs.size(); });
#endif
}
