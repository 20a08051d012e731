// Fingerprints of texts. Included by nearprint.hpp.

#ifndef NEARPRINT_TEXTS_HPP
#define NEARPRINT_TEXTS_HPP

#include <nearprint/core.hpp>
#include <nearprint/settings.hpp>

#ifndef NEARPRINT_NO_TEXTS
namespace nearprint {

/// Makes fingerprints of texts by a recipe, for one thread at a time.
template <typename F = std::uint64_t>
class fingerprinter {
 public:
  /// A recipe is a name, such as `minhash` or `simhash`, parts, or both: `simhash shingle=2 width=128`.
  /// Throws NEARPRINT_RECIPE for an unknown recipe, NEARPRINT_MISMATCH for one of another width.
  explicit fingerprinter(std::string_view recipe) {
    nearprint_fingerprinter* made = nullptr;
    detail::call(nearprint_fingerprinter_new, recipe.data(), recipe.size(), &made);
    handle_.reset(made);
    if (nearprint_fingerprinter_width(made) != detail::width<F>) {
      throw error(NEARPRINT_MISMATCH, std::string(recipe) + ": makes fingerprints of another width");
    }
  }

  nearprint_fingerprinter* get() const noexcept { return handle_.get(); }

  /// The fingerprint of a text, which must be UTF-8; 0 for a text without features.
  F operator()(std::string_view text) {
    F made;
    detail::call(nearprint_fingerprinter_fingerprint, get(), text.data(), text.size(), detail::out(&made));
    return made;
  }

  /// The number of features of a text, which must be UTF-8: shingles or keywords. A text without any should not be
  /// stored, because all of them have the fingerprint 0.
  std::size_t count_features(std::string_view text) {
    std::size_t count;
    detail::call(nearprint_fingerprinter_count_features, get(), text.data(), text.size(), &count);
    return count;
  }

  /// The number of bits in which two fingerprints differ; for MinHash, bits of their sketches.
  std::uint32_t distance(const F& one, const F& other) const {
    std::uint32_t bits = 0;
    detail::call(nearprint_fingerprinter_distance, get(), detail::in(&one), detail::in(&other), &bits);
    return bits;
  }
  /// The similarity of texts, 0 to 1, that a distance of their fingerprints suggests.
  double estimate(std::uint32_t distance) const {
    double similarity = 0;
    detail::call(nearprint_fingerprinter_estimate, static_cast<const nearprint_fingerprinter*>(get()), distance,
                 &similarity);
    return similarity;
  }
  /// The exact Jaccard similarity of two texts, 0 to 1: see nearprint_fingerprinter_similarity().
  double similarity(std::string_view one, std::string_view other) {
    double exact = 0;
    detail::call(nearprint_fingerprinter_similarity, get(), one.data(), one.size(), other.data(), other.size(), &exact);
    return exact;
  }

  /// The recipe as a database stores it: equal recipes have equal texts.
  std::string recipe() const { return detail::text(nearprint_fingerprinter_recipe, get()); }
  /// The layout that a database of such fingerprints needs.
  std::string layout() const { return detail::text(nearprint_fingerprinter_layout, get()); }
  /// The width of the fingerprints in bits.
  std::uint32_t width() const { return nearprint_fingerprinter_width(get()); }
  /// The distance within which texts count as near-duplicates by default.
  std::uint32_t default_k() const { return nearprint_fingerprinter_default_k(get()); }

  /// The schema of a database of such fingerprints, without keys or with some.
  nearprint::schema schema(nearprint_keys keys = NEARPRINT_NO_KEYS) const {
    return {default_k(), keys, layout(), recipe(), {}, {}};
  }
  /// The schema of a database of documents: with keys, and beside them features or hashes of texts.
  nearprint::schema document_schema() const {
    nearprint_schema made;
    nearprint_schema_init(&made);
    detail::call(nearprint_fingerprinter_schema, static_cast<const nearprint_fingerprinter*>(get()), &made);
    return schema(made.keys);
  }

 private:
  detail::handle<nearprint_fingerprinter, nearprint_fingerprinter_free> handle_;
};

}  // namespace nearprint
#endif

#endif
