// Writers. Included by nearprint.hpp.

#ifndef NEARPRINT_WRITER_HPP
#define NEARPRINT_WRITER_HPP

#include <nearprint/core.hpp>
#include <nearprint/range.hpp>
#include <nearprint/settings.hpp>
#include <nearprint/snapshot.hpp>

namespace nearprint {

/// The writer of a database, for one thread at a time. Destroying it discards what was not committed.
template <typename F = std::uint64_t>
class writer {
 public:
  explicit writer(nearprint_writer* opened, detail::progress_owner progress = nullptr)
      : progress_(std::move(progress)), handle_(opened) {}
  nearprint_writer* get() const noexcept { return handle_.get(); }

  /// Inserts a row and returns its id: the given one, or 1 + the largest ever stored.
  std::uint64_t insert(const F& fingerprint, std::optional<std::uint64_t> id = std::nullopt) {
    std::uint64_t assigned = 0;
    detail::call(nearprint_writer_insert, get(), detail::in(&fingerprint), detail::in(id), std::size_t{1}, &assigned);
    return assigned;
  }

  /// Inserts rows with assigned ids, and returns the first id; 0 if there are no rows.
  std::uint64_t insert(span<const F> fingerprints) {
    std::uint64_t assigned = 0;
    detail::call(nearprint_writer_insert, get(), detail::in(fingerprints.data()), nullptr, fingerprints.size(),
                 &assigned);
    return assigned;
  }

  /// Inserts rows. Throws NEARPRINT_INVALID_ARGUMENT unless there is one id for each.
  void insert(span<const F> fingerprints, span<const std::uint64_t> ids) {
    detail::check_lengths(fingerprints.size(), ids.size());
    detail::call(nearprint_writer_insert, get(), detail::in(fingerprints.data()), ids.data(), ids.size(), nullptr);
  }

  /// Inserts a row with a key, and returns its id: the given one, or the 64-bit xxh3 of the key. The
  /// text is stored where the database stores texts.
  std::uint64_t insert_keyed(const F& fingerprint, std::string_view key, std::string_view text = {},
                             std::optional<std::uint64_t> id = std::nullopt) {
    return write_keyed(nearprint_writer_insert_keyed, fingerprint, key, text, id);
  }

  /// Replaces all rows of an id by one row.
  void upsert(const F& fingerprint, std::uint64_t id) {
    detail::call(nearprint_writer_upsert, get(), detail::in(&fingerprint), &id, std::size_t{1});
  }

  /// Replaces all rows of each id by one row. Throws NEARPRINT_INVALID_ARGUMENT unless there is one
  /// id for each.
  void upsert(span<const F> fingerprints, span<const std::uint64_t> ids) {
    detail::check_lengths(fingerprints.size(), ids.size());
    detail::call(nearprint_writer_upsert, get(), detail::in(fingerprints.data()), ids.data(), ids.size());
  }

  /// Replaces all rows of an id by a row with a key. Otherwise as insert_keyed().
  std::uint64_t upsert_keyed(const F& fingerprint, std::string_view key, std::string_view text = {},
                             std::optional<std::uint64_t> id = std::nullopt) {
    return write_keyed(nearprint_writer_upsert_keyed, fingerprint, key, text, id);
  }

  /// Deletes all rows of an id. An unknown id is no failure.
  void erase(std::uint64_t id) { detail::call(nearprint_writer_delete, get(), &id, std::size_t{1}); }

  /// Deletes all rows of each id.
  void erase(span<const std::uint64_t> ids) {
    detail::call(nearprint_writer_delete, get(), ids.data(), ids.size());
  }

  /// Deletes a key, and the rows that had no other one. Returns their number. Reads all keys.
  std::uint64_t erase_key(std::string_view key) {
    std::uint64_t deleted = 0;
    detail::call(nearprint_writer_delete_key, get(), key.data(), key.size(), &deleted);
    return deleted;
  }

  /// Every row within k bits, including uncommitted ones, by distance, fingerprint and id.
  std::vector<match<F>> query(const F& fingerprint, std::uint32_t k) {
    return detail::query<F>(nearprint_writer_query, get(), fingerprint, k);
  }

  /// A snapshot that includes uncommitted operations.
  nearprint::snapshot<F> snapshot() {
    nearprint_snapshot* taken = nullptr;
    detail::call(nearprint_writer_snapshot, get(), &taken);
    return nearprint::snapshot<F>(taken, progress_);
  }

  /// Makes all operations durable.
  void commit() { detail::call(nearprint_writer_commit, get()); }
  /// Commits, and writes all unflushed rows as a run.
  void flush() { detail::call(nearprint_writer_flush, get()); }
  /// Merges all runs into one without deleted rows.
  void compact() { detail::call(nearprint_writer_compact, get()); }
  /// Commits, flushes, waits for merges and releases the lock.
  void close() { detail::call(nearprint_writer_close, get()); }

 private:
  template <typename Function>
  std::uint64_t write_keyed(Function function, const F& fingerprint, std::string_view key, std::string_view text,
                            const std::optional<std::uint64_t>& id) {
    std::uint64_t assigned = 0;
    detail::call(function, get(), detail::in(&fingerprint), detail::in(id), key.data(), key.size(), text.data(),
                 text.size(), &assigned);
    return assigned;
  }

  detail::progress_owner progress_;
  detail::handle<nearprint_writer, nearprint_writer_free> handle_;
};

}  // namespace nearprint

#endif
