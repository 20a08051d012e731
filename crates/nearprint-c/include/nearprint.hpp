// nearprint for C++17: the interface of nearprint.h with owned handles, exceptions and ranges.
//
// A fingerprint is a std::uint64_t, or a nearprint::fingerprint<128>, <256> or <320>: an array of words,
// the least significant word first. Classes have it as their parameter, 64 bits by default. Handles
// can be moved and not copied. The rules for threads are the same as in nearprint.h.

#ifndef NEARPRINT_HPP
#define NEARPRINT_HPP

#if !defined(_MSVC_LANG) && __cplusplus < 201703L
#error "nearprint.hpp needs C++17"
#endif

#include <nearprint.h>
#include <nearprint/core.hpp>
#include <nearprint/database.hpp>
#include <nearprint/deduplicator.hpp>
#include <nearprint/images.hpp>
#include <nearprint/lists.hpp>
#include <nearprint/range.hpp>
#include <nearprint/rows.hpp>
#include <nearprint/settings.hpp>
#include <nearprint/snapshot.hpp>
#include <nearprint/texts.hpp>
#include <nearprint/writer.hpp>

#endif
