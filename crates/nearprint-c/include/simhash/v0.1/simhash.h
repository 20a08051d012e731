// Tables of simhash-cpp 0.1 and the releases before it: hashes in the order of permuted bits. Programs that were
// written for its simhash.h compile against this one. C++98; it needs no library, and no Judy arrays: a sorted set has
// their place, also for programs that use J1S and J1U themselves.
//
// A table finds all hashes near another one only if the program looks in one table for each permutation. A database of
// nearprint needs one.

#ifndef SIMHASH_SIMHASH_H
#define SIMHASH_SIMHASH_H

#include "common.h"

#include <cstddef>
#include <set>
#include <vector>

/// A sorted set of hashes, or null for an empty one.
typedef void* Pvoid_t;

/// Inserts an index into a set; `changed` receives 1 if it was not there.
#define J1S(changed, set, index) ((changed) = ::Simhash::detail::insert_into(set, index))
/// Removes an index from a set; `changed` receives 1 if it was there.
#define J1U(changed, set, index) ((changed) = ::Simhash::detail::remove_from(set, index))
/// Frees a set.
#define J1FA(freed, set) ((freed) = ::Simhash::detail::free_set(set))

namespace Simhash {

using std::size_t;

namespace detail {

typedef std::set<hash_t> Hashes;

inline int insert_into(Pvoid_t& set, hash_t hash) {
  if (set == NULL) set = new Hashes();
  return static_cast<Hashes*>(set)->insert(hash).second ? 1 : 0;
}
inline int remove_from(Pvoid_t& set, hash_t hash) {
  return set == NULL ? 0 : static_cast<int>(static_cast<Hashes*>(set)->erase(hash));
}
inline int free_set(Pvoid_t& set) {
  delete static_cast<Hashes*>(set);
  set = NULL;
  return 0;
}

}  // namespace detail

/// The number of bits in which two hashes differ.
inline size_t num_differing_bits(hash_t a, hash_t b) {
  size_t count = 0;
  for (hash_t rest = a ^ b; rest != 0; rest &= rest - 1) ++count;
  return count;
}

/// A place in a set, ascending. The end is the largest number, so that a table cannot list that one.
class const_iterator_t {
 public:
  const_iterator_t() : set_(NULL), at_(~hash_t(0)) {}
  /// The first hash from `first` on.
  const_iterator_t(Pvoid_t set, hash_t first) : set_(static_cast<const detail::Hashes*>(set)), at_(first) {
    move_to(set_ == NULL ? detail::Hashes::const_iterator() : set_->lower_bound(first));
  }

  const const_iterator_t& operator++() {
    if (set_ != NULL) move_to(set_->upper_bound(at_));
    return *this;
  }
  const_iterator_t operator++(int) {
    const const_iterator_t before(*this);
    ++*this;
    return before;
  }
  /// 0 before the first one.
  const const_iterator_t& operator--() {
    if (set_ == NULL) return *this;
    detail::Hashes::const_iterator found = set_->lower_bound(at_);
    at_ = found == set_->begin() ? 0 : *--found;
    return *this;
  }
  const_iterator_t operator--(int) {
    const const_iterator_t before(*this);
    --*this;
    return before;
  }
  hash_t operator*() const { return at_; }
  bool operator==(const const_iterator_t& other) const {
    if (set_ != other.set_ && set_ != NULL && other.set_ != NULL) return false;
    return at_ == other.at_;
  }
  bool operator!=(const const_iterator_t& other) const { return !(*this == other); }

 private:
  void move_to(detail::Hashes::const_iterator found) {
    at_ = set_ == NULL || found == set_->end() ? ~hash_t(0) : *found;
  }

  const detail::Hashes* set_;
  hash_t at_;
};

/// Hashes in the order of one permutation of blocks of bits.
class Table {
 public:
  typedef const_iterator_t const_iterator;

  /// Each mask is one block of neighbouring bits; the first ones are the most significant of permuted hashes.
  /// Queries find hashes within `different_bits` bits whose other bits are in the last `different_bits` blocks.
  Table(size_t different_bits, std::vector<hash_t>& masks)
      : masks_(masks), different_bits_(different_bits), search_mask_(0), set_(NULL) {
    int placed = 0;
    for (size_t at = 0; at < masks_.size(); ++at) {
      int first = 0;
      while (first < 64 && (masks_[at] >> first & 1) == 0) ++first;
      placed += static_cast<int>(num_differing_bits(masks_[at], 0));
      moves_.push_back(64 - placed - first);
      if (at + different_bits < masks_.size() && placed > 0) search_mask_ = ~hash_t(0) << (64 - placed);
    }
  }
  ~Table() { detail::free_set(set_); }

  void insert(hash_t hash) { detail::insert_into(set_, permute(hash)); }
  template <class InputIterator>
  void insert(InputIterator first, InputIterator last) {
    for (; first != last; ++first) insert(*first);
  }
  void remove(hash_t hash) { detail::remove_from(set_, permute(hash)); }
  template <class InputIterator>
  void remove(InputIterator first, InputIterator last) {
    for (; first != last; ++first) remove(*first);
  }

  /// The first hash near a query, in the order of permuted bits; 0 if there is none.
  hash_t find(hash_t query) {
    std::vector<hash_t> found;
    search(query, found, true);
    return found.empty() ? 0 : found[0];
  }
  /// Appends all hashes near a query that differ in the last blocks.
  void find(hash_t query, std::vector<hash_t>& results) { search(query, results, false); }

  /// The permuted bits of a hash.
  hash_t permute(hash_t hash) const {
    hash_t result = 0;
    for (size_t at = 0; at < masks_.size(); ++at) result |= shift(hash & masks_[at], moves_[at]);
    return result;
  }
  /// The hash with these permuted bits.
  hash_t unpermute(hash_t hash) const {
    hash_t result = 0;
    for (size_t at = 0; at < masks_.size(); ++at) result |= shift(hash, -moves_[at]) & masks_[at];
    return result;
  }

  /// The permuted hashes, ascending.
  const_iterator begin() { return const_iterator(set_, 0); }
  const_iterator end() { return const_iterator(); }
  /// The bits of all but the last `different_bits` blocks, of permuted hashes.
  hash_t get_search_mask() const { return search_mask_; }

 private:
  Table(const Table&);
  Table& operator=(const Table&);

  static hash_t shift(hash_t bits, int left) { return left >= 0 ? bits << left : bits >> -left; }

  void search(hash_t query, std::vector<hash_t>& results, bool is_one_enough) const {
    if (set_ == NULL) return;
    const hash_t permuted = permute(query), last = permuted | ~search_mask_;
    const detail::Hashes& hashes = *static_cast<const detail::Hashes*>(set_);
    detail::Hashes::const_iterator at = hashes.lower_bound(permuted & search_mask_);
    for (; at != hashes.end() && *at <= last; ++at) {
      if (num_differing_bits(*at, permuted) > different_bits_) continue;
      results.push_back(unpermute(*at));
      if (is_one_enough) return;
    }
  }

  std::vector<hash_t> masks_;
  /// By how many bits each block moves to the left.
  std::vector<int> moves_;
  size_t different_bits_;
  hash_t search_mask_;
  Pvoid_t set_;
};

}  // namespace Simhash

#endif
