// Deduplication of texts. Included by nearprint.hpp.

#ifndef NEARPRINT_DEDUPLICATOR_HPP
#define NEARPRINT_DEDUPLICATOR_HPP

#include <nearprint/core.hpp>
#include <nearprint/rows.hpp>
#include <nearprint/settings.hpp>

#ifndef NEARPRINT_NO_TEXTS
namespace nearprint {

/// A text with its key, both UTF-8.
struct document {
  std::string_view key;
  std::string_view text;
};

/// What becomes of a document.
struct decision {
  /// Whether it is kept.
  bool kept = true;
  /// The key of the most similar kept document, and the similarity, if it is not kept: exact with MinHash, an
  /// estimate with simhash.
  std::string duplicate_of;
  double similarity = 0;
};

/// Decides which texts of a stream are kept, and stores those: a text is kept unless an earlier kept one is similar.
/// Any number of threads may use it; one closes it. Destroying it discards what was not committed.
class deduplicator {
 public:
  /// Opens a database, or makes one. By default, the database has the recipe, or it is `minhash`; and the recipe has
  /// the least similarity of duplicates, 0 to 1: 0.7 for `minhash`. A database with a recipe of MinHash keeps texts or
  /// features, as `document_schema` says; NEARPRINT_MISMATCH otherwise.
  explicit deduplicator(const path& path, std::string_view recipe = {}, double similarity = 0,
                        const options& options = {})
      : callbacks_(detail::own_callbacks(options)) {
    const nearprint_options given = detail::in(options, callbacks_);
    nearprint_deduplicator* opened = nullptr;
    detail::call(nearprint_deduplicator_open, path.data(), path.size(), recipe.empty() ? nullptr : recipe.data(),
                 recipe.size(), similarity, &given, &opened);
    handle_.reset(opened);
  }

  nearprint_deduplicator* get() const noexcept { return handle_.get(); }

  /// Decides documents in their order, and stores those that are kept.
  std::vector<decision> decide(span<const document> documents) const {
    std::vector<std::string_view> keys, texts;
    for (std::size_t at = 0; at < documents.size(); at++) {
      keys.push_back(documents.data()[at].key);
      texts.push_back(documents.data()[at].text);
    }
    const detail::strings key_pointers(keys), text_pointers(texts);
    nearprint_rows given;
    nearprint_rows_init(&given);
    given.count = keys.size();
    given.keys = key_pointers.starts.data();
    given.key_lens = key_pointers.lens.data();
    given.texts = text_pointers.starts.data();
    given.text_lens = text_pointers.lens.data();
    nearprint_stream* found = nullptr;
    detail::call(nearprint_deduplicator_decide, const_get(), &given, nullptr, &found);
    const detail::handle<nearprint_stream, nearprint_stream_free> duplicates(found);
    std::vector<decision> decisions(keys.size());
    const std::size_t capacity = 64;
    std::array<std::uint64_t, capacity> numbers;
    std::array<double, capacity> similarities;
    std::array<const char*, capacity> of;
    std::array<std::size_t, capacity> lens;
    nearprint_columns columns;
    nearprint_columns_init(&columns);
    columns.capacity = capacity;
    columns.groups = numbers.data();
    columns.similarities = similarities.data();
    columns.keys = of.data();
    columns.key_lens = lens.data();
    for (std::size_t count = 1; count > 0;) {
      detail::call(nearprint_stream_next, found, &columns, &count);
      for (std::size_t at = 0; at < count; at++) {
        decisions[numbers[at]] = {false, std::string(of[at], lens[at]), similarities[at]};
      }
    }
    return decisions;
  }

  /// Decides one document.
  decision decide(std::string_view key, std::string_view text) const {
    const document one{key, text};
    return decide(span<const document>(&one, 1)).front();
  }

  /// Returns when all that was decided before is durable. One sync serves all threads that call it meanwhile.
  void commit() const { detail::call(nearprint_deduplicator_commit, const_get()); }

  /// Commits, flushes, waits for merges and releases the lock. No other thread uses the deduplicator meanwhile.
  void close() const { detail::call(nearprint_deduplicator_close, const_get()); }

 private:
  const nearprint_deduplicator* const_get() const noexcept { return handle_.get(); }

  detail::callbacks_owner callbacks_;
  detail::handle<nearprint_deduplicator, nearprint_deduplicator_free> handle_;
};

}  // namespace nearprint
#endif

#endif
