// The default hash of tokens of simhash-cpp 0.1: Bob Jenkins' lookup3, in the form of two 32-bit
// hashes that he calls hashlittle2 (https://burtleburtle.net/bob/hash/doobs.html). C++98.

#ifndef SIMHASH_HASHES_JENKINS_H
#define SIMHASH_HASHES_JENKINS_H

#include <stdint.h>

#include <cstddef>

namespace Simhash {

/// A hash of 64 bits.
struct jenkins {
  uint64_t operator()(const char* data, std::size_t length, uint64_t seed) const {
    uint32_t high = static_cast<uint32_t>(seed >> 32), low = static_cast<uint32_t>(seed);
    hashlittle2(data, length, &high, &low);
    return static_cast<uint64_t>(high) << 32 | low;
  }

  /// Two hashes of 32 bits, which replace two seeds. The first one is mixed better.
  void hashlittle2(const void* key, std::size_t length, uint32_t* first, uint32_t* second) const {
    const unsigned char* bytes = static_cast<const unsigned char*>(key);
    uint32_t a = 0xdeadbeefu + static_cast<uint32_t>(length) + *first, b = a, c = a + *second;
    // All blocks but the last are mixed. The last one has 1 to 12 bytes, and zeros after them.
    for (; length > 12; bytes += 12, length -= 12) {
      add(bytes, 12, a, b, c);
      mix(a, b, c);
    }
    if (length > 0) {
      add(bytes, length, a, b, c);
      finish(a, b, c);
    }
    *first = c;
    *second = b;
  }

 private:
  static uint32_t rotate(uint32_t value, int count) { return value << count | value >> (32 - count); }

  /// Adds up to 12 bytes to three words, the least significant byte first.
  static void add(const unsigned char* bytes, std::size_t count, uint32_t& a, uint32_t& b, uint32_t& c) {
    uint32_t words[3] = {0, 0, 0};
    for (std::size_t at = 0; at < count; ++at) words[at / 4] |= static_cast<uint32_t>(bytes[at]) << at % 4 * 8;
    a += words[0];
    b += words[1];
    c += words[2];
  }

  /// Mixes three words reversibly.
  static void mix(uint32_t& a, uint32_t& b, uint32_t& c) {
    mix_step(a, b, c, 4);
    mix_step(b, c, a, 6);
    mix_step(c, a, b, 8);
    mix_step(a, b, c, 16);
    mix_step(b, c, a, 19);
    mix_step(c, a, b, 4);
  }
  static void mix_step(uint32_t& x, uint32_t y, uint32_t& z, int count) {
    x = (x - z) ^ rotate(z, count);
    z += y;
  }

  /// Mixes three words so that each bit affects the last one.
  static void finish(uint32_t& a, uint32_t& b, uint32_t& c) {
    finish_step(c, b, 14);
    finish_step(a, c, 11);
    finish_step(b, a, 25);
    finish_step(c, b, 16);
    finish_step(a, c, 4);
    finish_step(b, a, 14);
    finish_step(c, b, 24);
  }
  static void finish_step(uint32_t& x, uint32_t y, int count) { x = (x ^ y) - rotate(y, count); }
};

}  // namespace Simhash

#endif
