// Fingerprints of texts, as simhash-cpp 0.1 and the releases before it make them. Programs that were
// written for its hash.hpp compile against this one. C++98; it needs no library.

#ifndef SIMHASH_HASH_H
#define SIMHASH_HASH_H

#include "common.h"
#include "cyclic.hpp"
#include "hashes/jenkins.h"
#include "tokenizers/strspn.h"

#include <cstddef>
#include <cstring>
#include <string>

namespace Simhash {

/// Makes the simhash of all windows of three tokens.
///
/// `Hash` hashes a token: hash(data, length, 0). `Tokenizer` returns the end of the token that begins
/// at a position of a string, or null at the end of the string, which has a null byte. The character
/// after a token is skipped, and so are empty tokens.
template <typename Hash = jenkins, typename Tokenizer = Strspn>
class Simhash {
 public:
  typedef Hash hash_type;
  typedef Tokenizer tokenizer_type;

  /// The simhash of a text of `length` bytes.
  hash_t operator()(const char* text, std::size_t length) {
    // Tokenizers expect a null byte at the end.
    const std::string copy(text, length);
    Tokenizer tokenizer;
    return hash_tokens(copy.c_str(), length, tokenizer);
  }
  hash_t hash(const char* text, std::size_t length) { return operator()(text, length); }

  /// The simhash of tokens with a null byte at the end of each, and a null pointer after the last.
  hash_t operator()(char** tokens) {
    Hash hasher;
    Counts counts;
    for (; *tokens != NULL; ++tokens) {
      const std::size_t length = std::strlen(*tokens);
      if (length > 0) counts.add(hasher(*tokens, length, 0));
    }
    return counts.simhash();
  }
  hash_t hash(char** tokens) { return operator()(tokens); }

  /// The simhash of numbers: their bytes are the tokens.
  hash_t hash_fp(uint64_t* numbers, int count) {
    Hash hasher;
    Counts counts;
    for (int at = 0; at < count; ++at) {
      counts.add(hasher(reinterpret_cast<const char*>(numbers + at), sizeof(uint64_t), 0));
    }
    return counts.simhash();
  }
  /// The simhash of signed numbers.
  hash_t hash_fps(int64_t* numbers, int count) { return hash_fp(reinterpret_cast<uint64_t*>(numbers), count); }

  /// The simhash of a text with a null byte at the end, by a tokenizer of the caller.
  template <typename Other>
  hash_t hash_tokenizer(const char* text, const Other& tokenizer) {
    return hash_tokens(text, std::strlen(text), tokenizer);
  }

 private:
  /// For each bit, by how many windows more have it than have it not.
  class Counts {
   public:
    Counts() : window_(3) { std::memset(counts_, 0, sizeof counts_); }

    void add(hash_t token) {
      const hash_t window = window_.push(token);
      for (int bit = 0; bit < 64; ++bit) counts_[bit] += (window >> bit & 1) != 0 ? 1 : -1;
    }

    /// The bits come in reverse order, as in simhash-cpp 0.1.
    hash_t simhash() const {
      hash_t bits = 0;
      for (int bit = 0; bit < 64; ++bit) bits |= static_cast<hash_t>(counts_[bit] > 0) << (63 - bit);
      return bits;
    }

   private:
    Cyclic<hash_t> window_;
    int64_t counts_[64];
  };

  template <typename Other>
  static hash_t hash_tokens(const char* text, std::size_t length, Other& tokenizer) {
    Hash hasher;
    Counts counts;
    const char* const end = text + length;
    for (const char* at = text; at <= end;) {
      const char* const token_end = tokenizer(at);
      if (token_end == NULL) break;
      if (token_end != at) counts.add(hasher(at, token_end - at, 0));
      at = token_end + 1;
    }
    return counts.simhash();
  }
};

}  // namespace Simhash

#endif
