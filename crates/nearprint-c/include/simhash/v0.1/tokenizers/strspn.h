// The default tokenizer of simhash-cpp 0.1. C++98.

#ifndef SIMHASH_TOKENIZERS_STRSPN_H
#define SIMHASH_TOKENIZERS_STRSPN_H

#include <cstddef>

namespace Simhash {

/// Tokens are runs of the letters A to Z and a to z.
struct Strspn {
  /// The end of the token that begins here, which may be empty; null at the end of the string.
  const char* operator()(const char* at) const {
    if (*at == '\0') return NULL;
    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')) ++at;
    return at;
  }
};

}  // namespace Simhash

#endif
