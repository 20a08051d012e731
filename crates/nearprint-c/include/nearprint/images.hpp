// Fingerprints of pictures. Included by nearprint.hpp.

#ifndef NEARPRINT_IMAGES_HPP
#define NEARPRINT_IMAGES_HPP

#include <nearprint/core.hpp>

#include <cstring>

#ifndef NEARPRINT_NO_TEXTS
namespace nearprint {

/// The fingerprint of a picture, and how much there is to see, from 0 to 100. Only PDQ measures that.
template <typename F>
struct picture {
  F fingerprint;
  std::uint32_t quality;
};

namespace detail {

template <typename F, typename Make>
picture<F> picture_of(std::string_view recipe, Make make) {
  std::uint64_t words[4] = {};
  picture<F> made = {};
  make(words, &made.quality);
  if ((recipe == "pdq" ? 256 : 64) != width<F>) {
    throw error(NEARPRINT_MISMATCH, std::string(recipe) + ": makes fingerprints of another width");
  }
  std::memcpy(&made.fingerprint, words, sizeof made.fingerprint);
  return made;
}

}  // namespace detail

/// The fingerprint of a picture from the bytes of its file, by the recipe `pdq` (256 bits), `dhash` or `phash` (64
/// bits). Throws NEARPRINT_INVALID_ARGUMENT for what cannot be decoded, NEARPRINT_RECIPE for another recipe,
/// NEARPRINT_MISMATCH for another width.
template <typename F = fingerprint<256>>
picture<F> fingerprint_picture(std::string_view recipe, span<const std::uint8_t> bytes) {
  return detail::picture_of<F>(recipe, [&](std::uint64_t* words, std::uint32_t* quality) {
    detail::call(nearprint_picture_fingerprint, recipe.data(), recipe.size(), bytes.data(), bytes.size(), words, quality);
  });
}

/// The same from `height` rows of `width` samples of red, green and blue, one byte each.
template <typename F = fingerprint<256>>
picture<F> fingerprint_rgb(std::string_view recipe, std::size_t width, std::size_t height,
                           span<const std::uint8_t> samples) {
  if (samples.size() / 3 / (width > 0 ? width : 1) < height) {
    throw error(NEARPRINT_INVALID_ARGUMENT, "samples: fewer than the width and the height say");
  }
  return detail::picture_of<F>(recipe, [&](std::uint64_t* words, std::uint32_t* quality) {
    detail::call(nearprint_picture_fingerprint_rgb, recipe.data(), recipe.size(), width, height, samples.data(), words,
                 quality);
  });
}

}  // namespace nearprint
#endif

#endif
