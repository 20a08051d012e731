// A hash of the last few values, as simhash-cpp 0.1 has it. C++98.

#ifndef SIMHASH_CYCLIC_H
#define SIMHASH_CYCLIC_H

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace Simhash {

/// The cyclic polynomial hash of the last values: each is rotated by the number of values after it.
template <typename Int>
class Cyclic {
 public:
  typedef Int hash_type;
  static const std::size_t bits = sizeof(hash_type) * 8;

  /// Hashes windows of `length` values. Before there are so many, the missing ones count as 0. Throws
  /// std::invalid_argument for a window of no values.
  Cyclic(std::size_t length = 4) : window_(length, 0), oldest_(0), hash_(0) {
    if (length == 0) throw std::invalid_argument("a window of a cyclic hash has one value or more");
  }

  /// Adds a value, drops the oldest one, and returns the hash.
  hash_type push(hash_type value) {
    hash_ = static_cast<hash_type>(rotate(hash_) ^ rotate(window_[oldest_], window_.size()) ^ value);
    window_[oldest_] = value;
    oldest_ = (oldest_ + 1) % window_.size();
    return hash_;
  }

  /// Rotates a value to the left.
  static hash_type rotate(hash_type value, std::size_t count = 1) {
    count %= bits;
    return count == 0 ? value : static_cast<hash_type>(value << count | value >> (bits - count));
  }

 private:
  std::vector<hash_type> window_;
  std::size_t oldest_;
  hash_type hash_;
};

}  // namespace Simhash

#endif
