// The interface of simhash-cpp on top of nearprint: programs that were written for it compile against
// this header, and link libnearprint. C++11.

#ifndef SIMHASH_SIMHASH_H
#define SIMHASH_SIMHASH_H

#include <nearprint.h>
#include <stdint.h>

#include <algorithm>
#include <cstddef>
#include <future>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace Simhash {

using std::size_t;

/// A hash.
typedef uint64_t hash_t;
/// Two hashes, the smaller one first.
typedef std::pair<hash_t, hash_t> match_t;

/// The hash of a match in a set.
struct match_t_hash {
  size_t operator()(const match_t& match) const {
    const hash_t mixed = (match.first ^ (match.second << 32 | match.second >> 32)) * 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(mixed ^ mixed >> 32);
  }
};

typedef std::unordered_set<match_t, match_t_hash> matches_t;
typedef std::unordered_set<hash_t> cluster_t;
typedef std::vector<cluster_t> clusters_t;

/// The number of bits of a hash.
static const size_t BITS = 64;

/// The number of bits in which two hashes differ.
inline size_t num_differing_bits(hash_t a, hash_t b) {
  size_t count = 0;
  for (hash_t rest = a ^ b; rest != 0; rest &= rest - 1) ++count;
  return count;
}

/// The simhash of hashes: each bit that more than half of them have.
inline hash_t compute(const std::vector<hash_t>& hashes) {
  size_t counts[BITS] = {};
  for (hash_t hash : hashes) {
    for (size_t bit = 0; bit < BITS; ++bit) counts[bit] += hash >> bit & 1;
  }
  hash_t result = 0;
  for (size_t bit = 0; bit < BITS; ++bit) {
    if (counts[bit] > hashes.size() / 2) result |= hash_t(1) << bit;
  }
  return result;
}

namespace detail {

/// Refuses what simhash-cpp refuses.
inline void check(size_t number_of_blocks, size_t different_bits) {
  if (number_of_blocks > BITS) throw std::invalid_argument("there are at most 64 blocks");
  if (number_of_blocks <= different_bits) {
    throw std::invalid_argument("the number of blocks (" + std::to_string(number_of_blocks) +
                                ") must exceed the number of differing bits (" + std::to_string(different_bits) + ")");
  }
}

/// Owns the handles of a search.
struct Search {
  nearprint_error* error = nearprint_error_new();
  nearprint_stream* stream = nullptr;

  Search() {}
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  ~Search() {
    nearprint_stream_free(stream);
    nearprint_error_free(error);
  }
  void expect_ok(nearprint_status status) const {
    if (status != NEARPRINT_OK) throw std::runtime_error(nearprint_error_message(error, nullptr));
  }
  /// Reads all rows: visit(row) after each part has filled the columns.
  template <typename Visit>
  void read(const nearprint_columns& columns, Visit visit) {
    for (size_t count = 1; count > 0;) {
      expect_ok(nearprint_stream_next(stream, &columns, &count, error));
      for (size_t row = 0; row < count; ++row) visit(row);
    }
  }
};

enum { ROWS_AT_ONCE = 1024 };

/// Appends the hashes in the buckets from `first` to before `end`.
inline void append_buckets(const std::unordered_set<hash_t>& hashes, size_t first, size_t end,
                           std::vector<hash_t>& all) {
  for (size_t bucket = first; bucket < end; ++bucket) {
    for (auto hash = hashes.begin(bucket); hash != hashes.end(bucket); ++hash) all.push_back(*hash);
  }
}

/// Larger sets are read by two threads.
enum { HASHES_OF_ONE_THREAD = 1 << 16 };

/// The hashes of a set. Going by buckets takes less than half of the time of the set's own order, in
/// which each hash is found through the one before it; but for sets that are nearly empty.
inline std::vector<hash_t> values(const std::unordered_set<hash_t>& hashes) {
  const size_t buckets = hashes.bucket_count();
  if (buckets / 8 > hashes.size()) return std::vector<hash_t>(hashes.begin(), hashes.end());
  std::vector<hash_t> all, rest;
  all.reserve(hashes.size());
  size_t middle = buckets;
  // Its destructor waits, so that the thread cannot outlive what it refers to.
  std::future<void> other;
  if (hashes.size() > HASHES_OF_ONE_THREAD) {
    try {
      other = std::async(std::launch::async, [&] { append_buckets(hashes, buckets / 2, buckets, rest); });
      middle = buckets / 2;
    } catch (const std::system_error&) {
      // No thread can be started: this one reads all.
    }
  }
  append_buckets(hashes, 0, middle, all);
  if (other.valid()) other.get();
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace detail

/// Appends all pairs of distinct hashes that differ in at most `different_bits` bits. The number of
/// blocks is checked and has no effect. This is faster than gathering a set of pairs.
inline void find_all_pairs(const std::vector<hash_t>& hashes, size_t number_of_blocks, size_t different_bits,
                     std::vector<match_t>& results) {
  detail::check(number_of_blocks, different_bits);
  detail::Search search;
  search.expect_ok(nearprint_find_all(64, hashes.data(), hashes.size(), static_cast<uint32_t>(different_bits), nullptr,
                                      0, nullptr, &search.stream, search.error));
  hash_t first[detail::ROWS_AT_ONCE], second[detail::ROWS_AT_ONCE];
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = detail::ROWS_AT_ONCE;
  columns.fingerprints = first;
  columns.other_fingerprints = second;
  search.read(columns, [&](size_t row) { results.push_back(match_t(first[row], second[row])); });
}

/// The same for a set of hashes.
inline void find_all_pairs(const std::unordered_set<hash_t>& hashes, size_t number_of_blocks, size_t different_bits,
                     std::vector<match_t>& results) {
  find_all_pairs(detail::values(hashes), number_of_blocks, different_bits, results);
}

/// All pairs of hashes that differ in at most `different_bits` bits. Throws std::invalid_argument for
/// more than 64 blocks, and for no more blocks than bits.
inline matches_t find_all(std::unordered_set<hash_t>& hashes, size_t number_of_blocks, size_t different_bits) {
  std::vector<match_t> pairs;
  find_all_pairs(hashes, number_of_blocks, different_bits, pairs);
  return matches_t(pairs.begin(), pairs.end(), pairs.size());
}

/// The clusters of two hashes or more, which pairs of find_all() connect, by their smallest hash.
/// Throws as find_all() does.
inline clusters_t find_clusters(std::unordered_set<hash_t>& hashes, size_t number_of_blocks, size_t different_bits) {
  detail::check(number_of_blocks, different_bits);
  const std::vector<hash_t> values = detail::values(hashes);
  detail::Search search;
  search.expect_ok(nearprint_find_clusters(64, values.data(), values.size(), static_cast<uint32_t>(different_bits),
                                           nullptr, 0, nullptr, &search.stream, search.error));
  hash_t numbers[detail::ROWS_AT_ONCE], members[detail::ROWS_AT_ONCE];
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = detail::ROWS_AT_ONCE;
  columns.groups = numbers;
  columns.fingerprints = members;
  clusters_t clusters;
  search.read(columns, [&](size_t row) {
    if (numbers[row] == clusters.size()) clusters.push_back(cluster_t());
    clusters.back().insert(members[row]);
  });
  return clusters;
}

}  // namespace Simhash

#endif
