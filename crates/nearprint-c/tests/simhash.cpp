// simhash/simhash.h compared with brute force and with simhash-cpp's definitions.

#include <simhash/permutation.h>
#include <simhash/simhash.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      std::cerr << __FILE__ << ':' << __LINE__ << ": " << #condition << '\n'; \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

/// Whether a function throws std::invalid_argument.
template <typename Function>
bool refuses(Function function) {
  try {
    function();
  } catch (const std::invalid_argument& error) {
    return std::string(error.what()).size() > 5;
  }
  return false;
}

int main() {
  std::unordered_set<Simhash::hash_t> hashes;
  Simhash::hash_t state = 1;
  for (int at = 0; at < 1500; ++at) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    hashes.insert(state);
    hashes.insert(state ^ (Simhash::hash_t(1) << (state >> 58)));
    hashes.insert(state ^ (Simhash::hash_t(5) << (state >> 59)));
  }
  const std::unordered_set<Simhash::hash_t> before = hashes;
  Simhash::matches_t expected;
  for (Simhash::hash_t a : hashes) {
    for (Simhash::hash_t b : hashes) {
      if (a < b && Simhash::num_differing_bits(a, b) <= 3) expected.insert(Simhash::match_t(a, b));
    }
  }
  CHECK(expected.size() > 3000);
  std::vector<Simhash::match_t> listed;
  Simhash::find_all_pairs(hashes, 6, 3, listed);
  CHECK(listed.size() == expected.size());
  for (size_t blocks = 4; blocks <= 64; blocks += 15) {
    CHECK(Simhash::find_all(hashes, blocks, 3) == expected);
  }
  const Simhash::clusters_t clusters = Simhash::find_clusters(hashes, 6, 3);
  CHECK(clusters.size() >= 1400);
  for (const Simhash::match_t& match : expected) {
    size_t together = 0;
    for (const Simhash::cluster_t& cluster : clusters) {
      CHECK(cluster.count(match.first) == cluster.count(match.second));
      together += cluster.count(match.first);
    }
    CHECK(together == 1);
  }
  CHECK(hashes == before);
  // So many that two threads read the set.
  std::vector<Simhash::hash_t> list;
  for (int at = 0; at < 50000; ++at) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    list.push_back(state);
    list.push_back(state ^ (Simhash::hash_t(1) << (state >> 58)));
  }
  const std::unordered_set<Simhash::hash_t> many(list.begin(), list.end());
  std::vector<Simhash::match_t> of_list, of_set;
  Simhash::find_all_pairs(list, 6, 3, of_list);
  Simhash::find_all_pairs(many, 6, 3, of_set);
  std::sort(of_list.begin(), of_list.end());
  std::sort(of_set.begin(), of_set.end());
  CHECK(of_list.size() >= 50000 && of_list == of_set);
  std::unordered_set<Simhash::hash_t> none;
  // The name of simhash-cpp has one meaning, as there.
  const auto find = &Simhash::find_all;
  CHECK(find(none, 4, 3).empty() && Simhash::find_clusters(none, 4, 3).empty());
  CHECK(refuses([&] { Simhash::find_all(hashes, 3, 3); }) && refuses([&] { Simhash::find_clusters(hashes, 65, 3); }));

  std::vector<Simhash::Permutation> permutations = Simhash::Permutation::create(6, 3);
  CHECK(permutations.size() == 20);
  for (const Simhash::Permutation& permutation : permutations) {
    CHECK(Simhash::num_differing_bits(permutation.search_mask(), 0) >= 30);
    for (Simhash::hash_t hash : hashes) CHECK(permutation.reverse(permutation.apply(hash)) == hash);
  }
  // The first one leads with the lowest three blocks: bits 0 to 9, 10 to 20, 21 to 31.
  CHECK(permutations[0].search_mask() == 0xffffffff00000000u);
  CHECK(permutations[0].apply(0x3ff) == 0xffc0000000000000u);
  std::vector<Simhash::hash_t> empty_block(1, 0);
  CHECK(refuses([&] { Simhash::Permutation(3, empty_block); }));
  std::cout << "simhash: matches, clusters, permutations\n";
}
