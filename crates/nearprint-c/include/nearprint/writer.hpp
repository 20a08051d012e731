// Writers. Included by nearprint.hpp.

#ifndef NEARPRINT_WRITER_HPP
#define NEARPRINT_WRITER_HPP

#include <nearprint/core.hpp>
#include <nearprint/range.hpp>
#include <nearprint/rows.hpp>
#include <nearprint/settings.hpp>
#include <nearprint/snapshot.hpp>
#include <nearprint/texts.hpp>

namespace nearprint {

/// The outcome of writer::insert_if_new().
template <typename F = std::uint64_t>
struct insertion {
  /// The id of the row, or of the nearest stored row.
  std::uint64_t id;
  /// The nearest stored row, if one was near; nothing was inserted then.
  std::optional<match<F>> met;
};

/// The writer of a database, for one thread at a time. Destroying it discards what was not committed.
template <typename F = std::uint64_t>
class writer {
 public:
  explicit writer(nearprint_writer* opened, detail::callbacks_owner callbacks = nullptr)
      : callbacks_(std::move(callbacks)), handle_(opened) {}
  nearprint_writer* get() const noexcept { return handle_.get(); }

  /// Inserts a row and returns its id: the given one, or 1 + the largest ever stored; 0 for the first row.
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

  std::uint64_t insert(std::initializer_list<F> fingerprints) { return insert(span<const F>(fingerprints)); }
  void insert(std::initializer_list<F> fingerprints, std::initializer_list<std::uint64_t> ids) {
    insert(span<const F>(fingerprints), span<const std::uint64_t>(ids));
  }

  /// Inserts rows with keys and texts, and returns their ids.
  std::vector<std::uint64_t> insert(const rows<F>& rows) { return rows.store(nearprint_writer_insert_rows, get()); }
  /// Makes each row the only one with its id, and returns the ids: see nearprint_writer_upsert_rows().
  std::vector<std::uint64_t> upsert(const rows<F>& rows) { return rows.store(nearprint_writer_upsert_rows, get()); }

  /// Inserts each row that has no stored row within k bits, uncommitted ones and earlier ones of the call included.
  std::vector<insertion<F>> insert_if_new(const rows<F>& rows, std::uint32_t k) {
    std::vector<std::uint64_t> ids(rows.fingerprints.size());
    detail::buffer<F> space = detail::match_buffer<F>(ids.size());
    space.groups.resize(ids.size());
    const nearprint_columns columns = space.columns();
    std::size_t count = 0;
    rows.with([&](const nearprint_rows& given) {
      detail::call(nearprint_writer_insert_if_new, get(), &given, k, ids.data(), &columns, &count);
    });
    std::vector<insertion<F>> outcomes;
    for (const std::uint64_t id : ids) outcomes.push_back({id, std::nullopt});
    for (std::size_t at = 0; at < count; at++) {
      outcomes[space.groups[at]].met = match<F>{space.fingerprints[at], space.ids[at], space.distances[at]};
    }
    return outcomes;
  }

#ifndef NEARPRINT_NO_TEXTS
  /// Inserts a document with what the database keeps of texts, and returns the id of its row.
  std::uint64_t insert_document(fingerprinter<F>& fingerprinter, std::string_view key, std::string_view text) {
    std::uint64_t id = 0;
    detail::call(nearprint_writer_insert_document, get(), fingerprinter.get(), detail::begin_of(key), key.size(),
                 text.data(), text.size(), &id);
    return id;
  }
#endif

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

  /// Replaces all rows of an id by a row with a key: see nearprint_writer_upsert_keyed().
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
  /// An empty list is no id 0.
  void erase(std::initializer_list<std::uint64_t> ids) { erase(span<const std::uint64_t>(ids)); }

  /// Deletes a key, and the rows that had no other one. Returns their number. Reads all keys.
  std::uint64_t erase_key(std::string_view key) {
    std::uint64_t deleted = 0;
    detail::call(nearprint_writer_delete_key, get(), detail::begin_of(key), key.size(), &deleted);
    return deleted;
  }

  /// Deletes keys, and the rows that had no other one. Returns the number of rows.
  std::uint64_t erase_keys(const std::vector<std::string_view>& keys) {
    const detail::strings given(keys);
    return deleted(nearprint_writer_delete_keys, given.starts.data(), given.lens.data(), keys.size());
  }
  /// Deletes all keys that begin with a prefix, and the rows that had no other one. Returns the number of rows.
  std::uint64_t erase_key_prefix(std::string_view prefix) {
    return deleted(nearprint_writer_delete_key_prefix, detail::begin_of(prefix), prefix.size());
  }
  /// Deletes all rows with an id from first to last, both included. Returns the number of rows. Reads all rows.
  std::uint64_t erase_ids(std::uint64_t first, std::uint64_t last) {
    return deleted(nearprint_writer_delete_ids, first, last);
  }

  /// The `count` nearest rows within max_k bits, including uncommitted ones.
  std::vector<match<F>> nearest(const F& fingerprint, std::size_t count, std::uint32_t max_k = detail::width<F>) {
    return snapshot().nearest(fingerprint, count, max_k);
  }

  /// Writes the `capacity` nearest rows, including uncommitted ones, to columns of the caller. Returns their number.
  std::size_t nearest_columns(const F& fingerprint, const nearprint_columns& columns,
                              std::uint32_t max_k = detail::width<F>) {
    std::size_t count = 0;
    detail::call(nearprint_writer_nearest, get(), detail::in(&fingerprint), max_k, &columns, &count);
    return count;
  }

  /// Writes the first `limit` matches of each query, including uncommitted rows, to columns of the caller, as
  /// snapshot::query_columns() does.
  std::size_t query_columns(span<const F> fingerprints, std::uint32_t k, const nearprint_columns& columns,
                            std::size_t limit = SIZE_MAX) {
    std::size_t count = 0;
    detail::call(nearprint_writer_query_batch, get(), detail::in(fingerprints.data()), fingerprints.size(), k, limit,
                 &columns, &count);
    return count;
  }

  /// Every row within k bits, including uncommitted ones, by distance, fingerprint and id.
  std::vector<match<F>> query(const F& fingerprint, std::uint32_t k) {
    return detail::query<F>(nearprint_writer_query, get(), fingerprint, k);
  }

  /// A snapshot that includes uncommitted operations.
  nearprint::snapshot<F> snapshot() {
    nearprint_snapshot* taken = nullptr;
    detail::call(nearprint_writer_snapshot, get(), &taken);
    return nearprint::snapshot<F>(taken, callbacks_);
  }

  /// Makes all operations durable.
  void commit() { detail::call(nearprint_writer_commit, get()); }
  /// Takes back all operations since the last commit.
  void rollback() { detail::call(nearprint_writer_rollback, get()); }
  /// Commits, and writes all unflushed rows as a run.
  void flush() { detail::call(nearprint_writer_flush, get()); }
  /// Merges all runs into one without deleted rows.
  void compact() { detail::call(nearprint_writer_compact, get()); }
  /// Commits, flushes, waits for merges and releases the lock.
  void close() { detail::call(nearprint_writer_close, get()); }

 private:
  template <typename Function, typename... Arguments>
  std::uint64_t deleted(Function function, Arguments... arguments) {
    std::uint64_t rows = 0;
    detail::call(function, get(), arguments..., &rows);
    return rows;
  }

  template <typename Function>
  std::uint64_t write_keyed(Function function, const F& fingerprint, std::string_view key, std::string_view text,
                            const std::optional<std::uint64_t>& id) {
    std::uint64_t assigned = 0;
    detail::call(function, get(), detail::in(&fingerprint), detail::in(id), detail::begin_of(key), key.size(),
                 text.data(), text.size(), &assigned);
    return assigned;
  }

  detail::callbacks_owner callbacks_;
  detail::handle<nearprint_writer, nearprint_writer_free> handle_;
};

/// A writer that several threads use: each call returns when its operations are durable, and one sync serves all
/// calls that arrived in the meantime.
template <typename F = std::uint64_t>
class shared_writer {
 public:
  explicit shared_writer(nearprint_shared_writer* opened, detail::callbacks_owner callbacks = nullptr)
      : callbacks_(std::move(callbacks)), handle_(opened) {}
  nearprint_shared_writer* get() const noexcept { return handle_.get(); }

  /// Inserts rows, and returns their ids.
  std::vector<std::uint64_t> insert(const rows<F>& rows) const {
    return rows.store(nearprint_shared_writer_insert_rows, static_cast<const nearprint_shared_writer*>(get()));
  }

  /// Inserts a row unless a row within k bits is stored. Returns its id, or the id of the nearest stored row, and
  /// whether it was inserted.
  std::pair<std::uint64_t, bool> insert_if_new(const F& fingerprint, std::uint32_t k) const {
    rows<F> one;
    one.fingerprints.push_back(fingerprint);
    return insert_if_new(one, k);
  }
  /// The same for one row with an id, or with a key and a text.
  std::pair<std::uint64_t, bool> insert_if_new(const rows<F>& row, std::uint32_t k) const {
    std::uint64_t id = 0;
    std::int32_t is_new = 0;
    row.with([&](const nearprint_rows& given) {
      detail::call(nearprint_shared_writer_insert_if_new, static_cast<const nearprint_shared_writer*>(get()), &given, k,
                   &is_new, &id);
    });
    return {id, is_new != 0};
  }

  /// Deletes all rows of each id.
  void erase(span<const std::uint64_t> ids) const {
    detail::call(nearprint_shared_writer_delete, static_cast<const nearprint_shared_writer*>(get()), ids.data(),
                 ids.size());
  }

  /// Commits, flushes, waits for merges and releases the lock. No other thread uses the writer meanwhile.
  void close() const {
    detail::call(nearprint_shared_writer_close, static_cast<const nearprint_shared_writer*>(get()));
  }

 private:
  detail::callbacks_owner callbacks_;
  detail::handle<nearprint_shared_writer, nearprint_shared_writer_free> handle_;
};

}  // namespace nearprint

#endif
