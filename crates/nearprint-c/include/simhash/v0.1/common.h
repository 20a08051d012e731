// The type of hashes of simhash-cpp 0.1. C++98.

#ifndef SIMHASH_COMMON_H
#define SIMHASH_COMMON_H

#include <stdint.h>

namespace Simhash {

/// A hash.
typedef uint64_t hash_t;

}  // namespace Simhash

#endif
