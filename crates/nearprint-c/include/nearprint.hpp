// nearprint for C++17: the interface of nearprint.h with owned handles, exceptions and ranges.
//
// A fingerprint is a std::uint64_t, or a nearprint::fingerprint<128> or <256>: an array of words,
// the least significant word first. Classes have it as their parameter, 64 bits by default. Handles
// can be moved and not copied. The rules for threads are those of nearprint.h.

#ifndef NEARPRINT_HPP
#define NEARPRINT_HPP

#include <nearprint.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace nearprint {

/// A fingerprint of 128 or 256 bits.
template <unsigned Width>
using fingerprint = std::array<std::uint64_t, Width / 64>;

#if __cplusplus >= 202002L
template <typename T>
using span = std::span<T>;
#else
/// The part of std::span that this header needs.
template <typename T>
class span {
 public:
  span(T* data, std::size_t size) : data_(data), size_(size) {}
  template <typename Container, typename = decltype(std::declval<const Container&>().data())>
  span(const Container& container) : data_(container.data()), size_(container.size()) {}
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_;
  std::size_t size_;
};
#endif

/// Where a file is damaged.
struct damage {
  std::string file;
  std::string section;
  std::uint64_t offset;
  std::string expected;
  std::string found;
};

/// Why a call failed.
class error : public std::runtime_error {
 public:
  error(nearprint_status code, const std::string& message, std::optional<damage> place)
      : std::runtime_error(message), code_(code), place_(std::move(place)) {}
  nearprint_status code() const noexcept { return code_; }
  /// The place of the damage, if the code is NEARPRINT_CORRUPT.
  const std::optional<damage>& place() const noexcept { return place_; }

 private:
  nearprint_status code_;
  std::optional<damage> place_;
};

namespace detail {

/// Deletes a handle with its function of nearprint.h.
template <auto Free>
struct deleter {
  template <typename T>
  void operator()(T* handle) const noexcept {
    Free(handle);
  }
};
template <typename T, auto Free>
using handle = std::unique_ptr<T, deleter<Free>>;

/// Makes a call, with the error object of the thread as its last argument.
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments) {
  thread_local handle<nearprint_error, nearprint_error_free> object(nearprint_error_new());
  const nearprint_status code = function(arguments..., object.get());
  if (code == NEARPRINT_OK) return;
  std::optional<damage> place;
  nearprint_damage at;
  if (nearprint_error_damage(object.get(), &at) != 0) {
    place = damage{{at.file, at.file_len},
                   {at.section, at.section_len},
                   at.offset,
                   {at.expected, at.expected_len},
                   {at.found, at.found_len}};
  }
  std::size_t length = 0;
  const char* message = nearprint_error_message(object.get(), &length);
  throw error(code, std::string(message, length), std::move(place));
}

template <typename F>
constexpr std::size_t words = sizeof(F) / sizeof(std::uint64_t);
template <typename F>
constexpr std::uint32_t width = sizeof(F) * 8;

template <typename F>
const std::uint64_t* in(const F* fingerprints) {
  static_assert(std::is_same_v<F, std::uint64_t> || std::is_same_v<F, fingerprint<128>> ||
                std::is_same_v<F, fingerprint<256>>);
  return reinterpret_cast<const std::uint64_t*>(fingerprints);
}
template <typename F>
std::uint64_t* out(F* fingerprints) {
  return reinterpret_cast<std::uint64_t*>(fingerprints);
}

/// Space for the rows of a result.
template <typename F>
struct buffer {
  std::vector<F> fingerprints, other_fingerprints;
  std::vector<std::uint64_t> groups, ids, other_ids;
  std::vector<std::uint32_t> distances;
  std::size_t capacity;

  explicit buffer(std::size_t rows) : fingerprints(rows), capacity(rows) {}
  nearprint_columns columns() {
    const auto at = [](auto& column) { return column.empty() ? nullptr : column.data(); };
    const auto others = other_fingerprints.empty() ? nullptr : out(other_fingerprints.data());
    return {capacity, at(groups), out(fingerprints.data()), at(ids), at(distances), others, at(other_ids)};
  }
};

}  // namespace detail

/// What a new database is. The width comes from the type of its fingerprints.
struct schema {
  std::uint32_t k = 3;
  nearprint_keys keys = NEARPRINT_NO_KEYS;
  std::string layout = "auto";
  std::string recipe = {};
};

/// A row that is near a query.
template <typename F>
struct match {
  F fingerprint;
  std::uint64_t id;
  std::uint32_t distance;
};

/// A stored row.
template <typename F>
struct row {
  F fingerprint;
  std::uint64_t id;
};

/// Two fingerprints within k bits.
template <typename F>
struct pair {
  F a, b;
  std::uint32_t distance;
};

/// The rows of a cluster.
template <typename F>
using cluster = std::vector<row<F>>;

/// Results that are read once, with a range-based for.
template <typename F, typename T>
class range {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    iterator() = default;
    reference operator*() const { return *item_; }
    pointer operator->() const { return &*item_; }
    iterator& operator++() {
      item_ = of_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    /// Whether both are at the end, or neither is.
    friend bool operator==(const iterator& a, const iterator& b) {
      return a.item_.has_value() == b.item_.has_value();
    }
    friend bool operator!=(const iterator& a, const iterator& b) { return !(a == b); }

   private:
    friend range;
    explicit iterator(range* of) : of_(of), item_(of->next()) {}
    range* of_ = nullptr;
    std::optional<T> item_;
  };

  /// Takes over a stream of nearprint.h. T says which one.
  explicit range(nearprint_stream* stream) : stream_(stream), rows_(rows_at_once) {
    constexpr bool is_pair = std::is_same_v<T, pair<F>>, is_cluster = std::is_same_v<T, cluster<F>>;
    if constexpr (is_pair) {
      rows_.other_fingerprints.resize(rows_at_once);
      rows_.distances.resize(rows_at_once);
    } else {
      rows_.ids.resize(rows_at_once);
    }
    if constexpr (is_cluster) rows_.groups.resize(rows_at_once);
  }

  iterator begin() { return iterator(this); }
  iterator end() { return {}; }

  /// The next item; none at the end.
  std::optional<T> next() {
    if (!fill()) return std::nullopt;
    if constexpr (std::is_same_v<T, pair<F>>) {
      const std::size_t at = at_++;
      return T{rows_.fingerprints[at], rows_.other_fingerprints[at], rows_.distances[at]};
    } else if constexpr (std::is_same_v<T, cluster<F>>) {
      const std::uint64_t number = rows_.groups[at_];
      T members;
      for (; fill() && rows_.groups[at_] == number; at_++) {
        members.push_back({rows_.fingerprints[at_], rows_.ids[at_]});
      }
      return members;
    } else {
      const std::size_t at = at_++;
      return T{rows_.fingerprints[at], rows_.ids[at]};
    }
  }

 private:
  static constexpr std::size_t rows_at_once = 1024;

  /// Whether there is a row at `at_`.
  bool fill() {
    if (at_ < count_) return true;
    const nearprint_columns columns = rows_.columns();
    at_ = count_ = 0;
    detail::call(nearprint_stream_next, stream_.get(), &columns, &count_);
    return count_ > 0;
  }

  detail::handle<nearprint_stream, nearprint_stream_free> stream_;
  detail::buffer<F> rows_;
  std::size_t at_ = 0, count_ = 0;
};

/// A database as it stood at one moment. Any number of threads may use it at once.
template <typename F = std::uint64_t>
class snapshot {
 public:
  explicit snapshot(nearprint_snapshot* taken) : handle_(taken) {}
  nearprint_snapshot* get() const noexcept { return handle_.get(); }

  /// A newer snapshot of the same database.
  snapshot refresh() const {
    nearprint_snapshot* newer = nullptr;
    detail::call(nearprint_snapshot_refresh, get(), &newer);
    return snapshot(newer);
  }

  /// Every row within k bits, by distance, fingerprint and id.
  std::vector<match<F>> query(const F& fingerprint, std::uint32_t k) const {
    detail::buffer<F> rows(8);
    std::size_t count = 0;
    for (;;) {
      rows.ids.resize(rows.capacity);
      rows.distances.resize(rows.capacity);
      const nearprint_columns columns = rows.columns();
      detail::call(nearprint_snapshot_query, get(), detail::in(&fingerprint), k, &columns, &count);
      if (count <= rows.capacity) break;
      rows = detail::buffer<F>(count);
    }
    std::vector<match<F>> found;
    found.reserve(count);
    for (std::size_t at = 0; at < count; at++) {
      found.push_back({rows.fingerprints[at], rows.ids[at], rows.distances[at]});
    }
    return found;
  }

  /// Passes the matches of each query to visit(query, matches), in the order of the queries. An
  /// exception of visit ends the work and is thrown.
  template <typename Visit>
  void query_batch(span<const F> fingerprints, std::uint32_t k, Visit visit) const {
    visiting<Visit> state{visit, {}, nullptr};
    try {
      detail::call(nearprint_snapshot_visit_matches, get(), detail::in(fingerprints.data()), fingerprints.size(), k,
                   SIZE_MAX, &visiting<Visit>::receive, static_cast<void*>(&state));
    } catch (const error&) {
      if (state.thrown) std::rethrow_exception(state.thrown);
      throw;
    }
  }

  /// All rows, by fingerprint and id.
  range<F, row<F>> rows() const {
    nearprint_stream* stream = nullptr;
    detail::call(nearprint_snapshot_rows, get(), &stream);
    return range<F, row<F>>(stream);
  }

  /// All pairs of distinct fingerprints within k bits.
  range<F, pair<F>> pairs(std::uint32_t k) const {
    nearprint_stream* stream = nullptr;
    detail::call(nearprint_snapshot_pairs, get(), k, &stream);
    return range<F, pair<F>>(stream);
  }

  /// The clusters within k bits, each as its rows.
  range<F, cluster<F>> clusters(std::uint32_t k) const {
    nearprint_stream* stream = nullptr;
    detail::call(nearprint_snapshot_clusters, get(), k, &stream);
    return range<F, cluster<F>>(stream);
  }

  /// All pairs within k bits between two databases.
  range<F, pair<F>> cross(const snapshot& other, std::uint32_t k) const {
    nearprint_stream* stream = nullptr;
    detail::call(nearprint_snapshot_cross, get(), other.get(), k, &stream);
    return range<F, pair<F>>(stream);
  }

  /// Counts and sizes.
  nearprint_stats stats() const {
    nearprint_stats stats;
    detail::call(nearprint_snapshot_stats, get(), &stats);
    return stats;
  }

  /// Copies the database to a new path.
  void backup(std::string_view path) const {
    detail::call(nearprint_snapshot_backup, get(), path.data(), path.size());
  }

 private:
  /// The state of query_batch(). No exception crosses the library.
  template <typename Visit>
  struct visiting {
    Visit& visit;
    std::vector<match<F>> matches;
    std::exception_ptr thrown;

    static std::int32_t receive(void* context, std::size_t query, std::size_t count, const std::uint64_t* words,
                                const std::uint64_t* ids, const std::uint32_t* distances) noexcept {
      auto& state = *static_cast<visiting*>(context);
      try {
        state.matches.clear();
        for (std::size_t at = 0; at < count; at++) {
          F value;
          for (std::size_t word = 0; word < detail::words<F>; word++) {
            detail::out(&value)[word] = words[at * detail::words<F> + word];
          }
          state.matches.push_back({value, ids[at], distances[at]});
        }
        state.visit(query, static_cast<const std::vector<match<F>>&>(state.matches));
        return 0;
      } catch (...) {
        state.thrown = std::current_exception();
        return 1;
      }
    }
  };

  detail::handle<nearprint_snapshot, nearprint_snapshot_free> handle_;
};

/// The writer of a database, for one thread at a time. Destroying it discards what was not committed.
template <typename F = std::uint64_t>
class writer {
 public:
  explicit writer(nearprint_writer* opened) : handle_(opened) {}
  nearprint_writer* get() const noexcept { return handle_.get(); }

  /// Inserts a row and returns its id.
  std::uint64_t insert(const F& fingerprint, std::optional<std::uint64_t> id = std::nullopt) {
    std::uint64_t assigned = 0;
    const std::uint64_t* given = id ? &*id : nullptr;
    detail::call(nearprint_writer_insert, get(), detail::in(&fingerprint), given, std::size_t{1}, &assigned);
    return assigned;
  }

  /// Inserts a row with a key, and returns its id.
  std::uint64_t insert(const F& fingerprint, std::string_view key, std::string_view text = {}) {
    std::uint64_t assigned = 0;
    const std::uint64_t* none = nullptr;
    detail::call(nearprint_writer_insert_keyed, get(), detail::in(&fingerprint), none, key.data(), key.size(),
                 text.data(), text.size(), &assigned);
    return assigned;
  }

  /// Replaces all rows of an id.
  void upsert(const F& fingerprint, std::uint64_t id) {
    detail::call(nearprint_writer_upsert, get(), detail::in(&fingerprint), &id, std::size_t{1});
  }

  /// Deletes all rows of an id.
  void erase(std::uint64_t id) { detail::call(nearprint_writer_delete, get(), &id, std::size_t{1}); }

  /// Makes all operations durable.
  void commit() { detail::call(nearprint_writer_commit, get()); }
  /// Commits, and writes all unflushed rows as a run.
  void flush() { detail::call(nearprint_writer_flush, get()); }
  /// Commits, flushes and releases the lock.
  void close() { detail::call(nearprint_writer_close, get()); }

 private:
  detail::handle<nearprint_writer, nearprint_writer_free> handle_;
};

/// An open database.
template <typename F = std::uint64_t>
class database {
 public:
  /// Opens a database. Throws NEARPRINT_MISMATCH where its fingerprints have another width.
  explicit database(std::string_view path, const nearprint_options* options = nullptr) {
    nearprint_database* opened = nullptr;
    detail::call(nearprint_database_open, path.data(), path.size(), options, &opened);
    handle_.reset(opened);
    if (nearprint_database_width(opened) != detail::width<F>) {
      throw error(NEARPRINT_MISMATCH, std::string(path) + ": holds fingerprints of another width", std::nullopt);
    }
  }

  nearprint_database* get() const noexcept { return handle_.get(); }

  nearprint::snapshot<F> snapshot() const {
    nearprint_snapshot* taken = nullptr;
    detail::call(nearprint_snapshot_take, get(), &taken);
    return nearprint::snapshot<F>(taken);
  }

  nearprint::writer<F> writer() const {
    nearprint_writer* opened = nullptr;
    detail::call(nearprint_writer_open, get(), &opened);
    return nearprint::writer<F>(opened);
  }

 private:
  detail::handle<nearprint_database, nearprint_database_free> handle_;
};

/// A database under construction. Destroying it before finish() removes it.
template <typename F = std::uint64_t>
class builder {
 public:
  explicit builder(std::string_view path, const schema& schema = {}, const nearprint_options* options = nullptr)
      : path_(path) {
    const nearprint_schema given = {detail::width<F>,      schema.k,
                                    schema.keys,           schema.layout.data(),
                                    schema.layout.size(),  schema.recipe.empty() ? nullptr : schema.recipe.data(),
                                    schema.recipe.size()};
    nearprint_builder* begun = nullptr;
    detail::call(nearprint_builder_new, path.data(), path.size(), &given, options, std::uint64_t{0}, &begun);
    handle_.reset(begun);
  }

  /// Adds rows with assigned ids, and returns the first id; 0 if there are no rows.
  std::uint64_t push(span<const F> fingerprints) {
    std::uint64_t first = 0;
    const std::uint64_t* none = nullptr;
    detail::call(nearprint_builder_push, handle_.get(), detail::in(fingerprints.data()), none, fingerprints.size(),
                 &first);
    return first;
  }

  /// Adds a row and returns its id.
  std::uint64_t push(const F& fingerprint, std::optional<std::uint64_t> id = std::nullopt) {
    std::uint64_t assigned = 0;
    const std::uint64_t* given = id ? &*id : nullptr;
    detail::call(nearprint_builder_push, handle_.get(), detail::in(&fingerprint), given, std::size_t{1}, &assigned);
    return assigned;
  }

  /// Writes everything and opens the database.
  database<F> finish() {
    detail::call(nearprint_builder_finish, handle_.get());
    return database<F>(path_);
  }

 private:
  std::string path_;
  detail::handle<nearprint_builder, nearprint_builder_free> handle_;
};

/// Makes fingerprints of texts by a recipe, for one thread at a time.
template <typename F = std::uint64_t>
class fingerprinter {
 public:
  /// Throws NEARPRINT_RECIPE for an unknown recipe, NEARPRINT_MISMATCH for one of another width.
  explicit fingerprinter(std::string_view recipe) {
    nearprint_fingerprinter* made = nullptr;
    detail::call(nearprint_fingerprinter_new, recipe.data(), recipe.size(), &made);
    handle_.reset(made);
    if (nearprint_fingerprinter_width(made) != detail::width<F>) {
      throw error(NEARPRINT_MISMATCH, std::string(recipe) + ": makes fingerprints of another width", std::nullopt);
    }
  }

  /// The fingerprint of a text, which must be UTF-8.
  F operator()(std::string_view text) {
    F made;
    detail::call(nearprint_fingerprinter_fingerprint, handle_.get(), text.data(), text.size(), detail::out(&made));
    return made;
  }

 private:
  detail::handle<nearprint_fingerprinter, nearprint_fingerprinter_free> handle_;
};

/// All pairs of distinct values within k bits.
template <typename F>
range<F, pair<F>> find_all(span<const F> fingerprints, std::uint32_t k) {
  nearprint_stream* stream = nullptr;
  const char* no_bands = nullptr;
  const nearprint_options* defaults = nullptr;
  detail::call(nearprint_find_all, detail::width<F>, detail::in(fingerprints.data()), fingerprints.size(), k, no_bands,
               std::size_t{0}, defaults, &stream);
  return range<F, pair<F>>(stream);
}

}  // namespace nearprint

#endif
