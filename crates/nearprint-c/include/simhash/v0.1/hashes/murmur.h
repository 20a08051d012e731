// MurmurHash64A (Appleby, 2008) as a hash of tokens. The releases of simhash-cpp have a hash of this name that returns 0.
// C++98.

#ifndef SIMHASH_HASHES_MURMUR_H
#define SIMHASH_HASHES_MURMUR_H

#include <stdint.h>

#include <cstddef>

namespace Simhash {

/// MurmurHash2 with 64 bits, for 64-bit machines. Words are read with the least significant byte first.
struct murmur {
  uint64_t operator()(const char* data, std::size_t length, uint64_t seed) const {
    const uint64_t factor = uint64_t(0xc6a4a793u) << 32 | 0x5bd1e995u;
    uint64_t hash = seed ^ length * factor;
    const std::size_t whole = length / 8 * 8;
    for (std::size_t at = 0; at < whole; at += 8) {
      uint64_t word = read(data + at, 8) * factor;
      word = (word ^ word >> 47) * factor;
      hash = (hash ^ word) * factor;
    }
    if (whole < length) hash = (hash ^ read(data + whole, length - whole)) * factor;
    hash = (hash ^ hash >> 47) * factor;
    return hash ^ hash >> 47;
  }

 private:
  static uint64_t read(const char* bytes, std::size_t count) {
    uint64_t word = 0;
    for (std::size_t at = count; at > 0; --at) word = word << 8 | static_cast<unsigned char>(bytes[at - 1]);
    return word;
  }
};

}  // namespace Simhash

#endif
