// FNV-1a of 64 bits (Fowler, Noll and Vo; RFC 9923), as a hash of tokens. The releases of simhash-cpp have a hash of this
// name that returns 0. C++98.

#ifndef SIMHASH_HASHES_FNV_H
#define SIMHASH_HASHES_FNV_H

#include <stdint.h>

#include <cstddef>

namespace Simhash {

/// FNV-1a of 64 bits. The seed changes the offset basis; 0 leaves it as it is.
struct fnv {
  uint64_t operator()(const char* data, std::size_t length, uint64_t seed) const {
    uint64_t hash = (uint64_t(0xcbf29ce4u) << 32 | 0x84222325u) ^ seed;
    const uint64_t prime = uint64_t(1) << 40 | 0x1b3;
    for (std::size_t at = 0; at < length; ++at) hash = (hash ^ static_cast<unsigned char>(data[at])) * prime;
    return hash;
  }
};

}  // namespace Simhash

#endif
