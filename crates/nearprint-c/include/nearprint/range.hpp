// Results: matches, rows, pairs and clusters, and ranges of them. Included by nearprint.hpp.

#ifndef NEARPRINT_RANGE_HPP
#define NEARPRINT_RANGE_HPP

#include <nearprint/core.hpp>
#include <nearprint/settings.hpp>

#include <iterator>

namespace nearprint {

/// A row that is near a query.
template <typename F = std::uint64_t>
struct match {
  F fingerprint;
  std::uint64_t id;
  std::uint32_t distance;
};

/// A match of a query, with one of the keys of its row where there are some.
template <typename F = std::uint64_t>
struct keyed_match {
  /// The number of the query, from 0.
  std::uint64_t query;
  nearprint::match<F> match;
  std::optional<std::string> key;
};

/// A stored row, with one of its keys where the result has some: of a snapshot with_keys(), and of similar documents.
template <typename F = std::uint64_t>
struct row {
  F fingerprint;
  std::uint64_t id;
  std::optional<std::string> key = std::nullopt;
};

/// Two fingerprints within k bits.
template <typename F = std::uint64_t>
struct pair {
  F a, b;
  std::uint32_t distance;
};

/// Two rows within k bits.
template <typename F = std::uint64_t>
struct row_pair {
  row<F> a, b;
  std::uint32_t distance;
};

/// A row with a document that is similar to a text.
template <typename F = std::uint64_t>
struct similar_match {
  F fingerprint;
  std::uint64_t id;
  std::uint32_t distance;
  double similarity;
};

/// Two rows with similar documents.
template <typename F = std::uint64_t>
struct similar_pair {
  row<F> a, b;
  std::uint32_t distance;
  double similarity;
};

/// A row of a cluster of similar documents.
template <typename F = std::uint64_t>
struct similar_row {
  F fingerprint;
  std::uint64_t id;
  /// The similarity with the first row of the cluster.
  double similarity;
  std::optional<std::string> key = std::nullopt;
};

/// The rows of a cluster of similar documents.
template <typename F>
using similar_cluster = std::vector<similar_row<F>>;

/// The rows of a cluster.
template <typename F>
using cluster = std::vector<row<F>>;

/// The values of a cluster of a list in memory.
template <typename F>
using value_cluster = std::vector<F>;

namespace detail {

/// Space for the rows of a result.
template <typename F>
struct buffer {
  std::vector<F> fingerprints, other_fingerprints;
  std::vector<std::uint64_t> groups, ids, other_ids;
  std::vector<std::uint32_t> distances;
  std::vector<double> similarities;
  std::vector<const char*> keys, other_keys;
  std::vector<std::size_t> key_lens, other_key_lens;
  std::size_t capacity;

  explicit buffer(std::size_t rows) : fingerprints(rows), capacity(rows) {}
  nearprint_columns columns() {
    const auto at = [](auto& column) { return column.empty() ? nullptr : column.data(); };
    const auto others = other_fingerprints.empty() ? nullptr : out(other_fingerprints.data());
    nearprint_columns columns;
    nearprint_columns_init(&columns);
    columns.capacity = capacity;
    columns.groups = at(groups);
    columns.fingerprints = out(fingerprints.data());
    columns.ids = at(ids);
    columns.distances = at(distances);
    columns.other_fingerprints = others;
    columns.other_ids = at(other_ids);
    columns.similarities = at(similarities);
    columns.keys = at(keys);
    columns.key_lens = at(key_lens);
    columns.other_keys = at(other_keys);
    columns.other_key_lens = at(other_key_lens);
    return columns;
  }
};

/// Space for matches.
template <typename F>
buffer<F> match_buffer(std::size_t rows) {
  buffer<F> space(rows);
  space.ids.resize(rows);
  space.distances.resize(rows);
  return space;
}

template <typename F>
std::vector<match<F>> matches_of(const buffer<F>& rows, std::size_t count) {
  std::vector<match<F>> found;
  found.reserve(count);
  for (std::size_t at = 0; at < count; at++) {
    found.push_back({rows.fingerprints[at], rows.ids[at], rows.distances[at]});
  }
  return found;
}

/// All matches of a query: a second call if the space of the first one was too small.
template <typename F, typename Function, typename Handle>
std::vector<match<F>> query(Function function, Handle* handle, const F& fingerprint, std::uint32_t k) {
  std::size_t count = 8;
  for (;;) {
    buffer<F> rows = match_buffer<F>(count);
    const nearprint_columns columns = rows.columns();
    call(function, handle, in(&fingerprint), k, &columns, &count);
    if (count <= rows.capacity) return matches_of(rows, count);
  }
}

}  // namespace detail

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

  /// Takes over a stream of nearprint.h. T says which one; `with_keys` whether it has keys.
  explicit range(nearprint_stream* stream, detail::callbacks_owner callbacks = nullptr, bool with_keys = false)
      : callbacks_(std::move(callbacks)), stream_(stream), rows_(rows_at_once) {
    if (with_keys) {
      rows_.keys.resize(rows_at_once);
      rows_.key_lens.resize(rows_at_once);
      if constexpr (is_paired) {
        rows_.other_keys.resize(rows_at_once);
        rows_.other_key_lens.resize(rows_at_once);
      }
    }
    if constexpr (is_match) rows_.distances.resize(rows_at_once);
    if constexpr (has_ids) rows_.ids.resize(rows_at_once);
    if constexpr (is_grouped || is_match) rows_.groups.resize(rows_at_once);
    if constexpr (is_paired) {
      rows_.other_fingerprints.resize(rows_at_once);
      rows_.distances.resize(rows_at_once);
    }
    if constexpr (is_paired && has_ids) rows_.other_ids.resize(rows_at_once);
    if constexpr (is_similar) rows_.similarities.resize(rows_at_once);
  }

  iterator begin() { return iterator(this); }
  iterator end() { return {}; }
  nearprint_stream* get() const noexcept { return stream_.get(); }

  /// The next item; none at the end.
  std::optional<T> next() {
    if (!fill()) return std::nullopt;
    if constexpr (is_grouped) {
      const std::uint64_t number = rows_.groups[at_];
      T members;
      for (; fill() && rows_.groups[at_] == number; at_++) members.push_back(member(at_));
      return members;
    } else {
      const std::size_t at = at_++;
      if constexpr (is_match) {
        const match<F> found{rows_.fingerprints[at], rows_.ids[at], rows_.distances[at]};
        return T{rows_.groups[at], found, key(at)};
      } else if constexpr (std::is_same_v<T, similar_pair<F>>) {
        return T{member(at), other(at), rows_.distances[at], rows_.similarities[at]};
      } else if constexpr (std::is_same_v<T, row_pair<F>>) {
        return T{member(at), other(at), rows_.distances[at]};
      } else if constexpr (is_paired) {
        return T{member(at), rows_.other_fingerprints[at], rows_.distances[at]};
      } else {
        return member(at);
      }
    }
  }

 private:
  static constexpr std::size_t rows_at_once = 1024;
  static constexpr bool is_match = std::is_same_v<T, keyed_match<F>>;
  static constexpr bool is_similar = std::is_same_v<T, similar_pair<F>> || std::is_same_v<T, similar_cluster<F>>;
  static constexpr bool is_paired =
      std::is_same_v<T, pair<F>> || std::is_same_v<T, row_pair<F>> || std::is_same_v<T, similar_pair<F>>;
  static constexpr bool is_grouped = std::is_same_v<T, cluster<F>> || std::is_same_v<T, value_cluster<F>> ||
                                     std::is_same_v<T, similar_cluster<F>>;
  static constexpr bool has_ids = !std::is_same_v<T, pair<F>> && !std::is_same_v<T, value_cluster<F>>;

  std::optional<std::string> key(std::size_t at) const { return key_of(rows_.keys, rows_.key_lens, at); }

  static std::optional<std::string> key_of(const std::vector<const char*>& keys, const std::vector<std::size_t>& lens,
                                           std::size_t at) {
    if (keys.empty() || keys[at] == nullptr) return std::nullopt;
    return std::string(keys[at], lens[at]);
  }

  /// The row, or the fingerprint where rows have no ids.
  auto member(std::size_t at) const {
    if constexpr (std::is_same_v<T, similar_cluster<F>>) {
      return similar_row<F>{rows_.fingerprints[at], rows_.ids[at], rows_.similarities[at], key(at)};
    } else if constexpr (has_ids) {
      return row<F>{rows_.fingerprints[at], rows_.ids[at], key(at)};
    } else {
      return rows_.fingerprints[at];
    }
  }

  /// The second row of a pair.
  row<F> other(std::size_t at) const {
    return {rows_.other_fingerprints[at], rows_.other_ids[at], key_of(rows_.other_keys, rows_.other_key_lens, at)};
  }

  /// Whether there is a row at `at_`.
  bool fill() {
    // What was moved from has no rows, and its stream says so.
    if (at_ < count_ && stream_) return true;
    const nearprint_columns columns = rows_.columns();
    at_ = count_ = 0;
    detail::call(nearprint_stream_next, stream_.get(), &columns, &count_);
    return count_ > 0;
  }

  detail::callbacks_owner callbacks_;
  detail::handle<nearprint_stream, nearprint_stream_free> stream_;
  detail::buffer<F> rows_;
  std::size_t at_ = 0, count_ = 0;
};

}  // namespace nearprint

#endif
