// Snapshots: what a database answers. Included by nearprint.hpp.

#ifndef NEARPRINT_SNAPSHOT_HPP
#define NEARPRINT_SNAPSHOT_HPP

#include <nearprint/core.hpp>
#include <nearprint/range.hpp>
#include <nearprint/settings.hpp>

namespace nearprint {

/// A key of a row, and its text where the database stores texts.
struct stored_key {
  std::string key;
  std::string text;
};

/// A database as it stood at one moment. Any number of threads may use it at once.
template <typename F = std::uint64_t>
class snapshot {
 public:
  /// Takes over a snapshot of nearprint.h. `with_keys` is true for one of nearprint_snapshot_with_keys() whose database
  /// stores keys.
  explicit snapshot(nearprint_snapshot* taken, detail::callbacks_owner callbacks = nullptr, bool with_keys = false)
      : callbacks_(std::move(callbacks)), handle_(taken), has_keys_(with_keys) {}
  nearprint_snapshot* get() const noexcept { return handle_.get(); }

  /// A newer snapshot of the same database, with_keys() if this one is.
  snapshot refresh() const {
    nearprint_snapshot* newer = nullptr;
    detail::call(nearprint_snapshot_refresh, get(), &newer);
    return snapshot(newer, callbacks_, has_keys_);
  }

  /// Every row within k bits, by distance, fingerprint and id.
  std::vector<match<F>> query(const F& fingerprint, std::uint32_t k) const {
    return detail::query<F>(nearprint_snapshot_query, get(), fingerprint, k);
  }

  /// The `count` nearest rows within max_k bits, in the order of query().
  std::vector<match<F>> nearest(const F& fingerprint, std::size_t count,
                                std::uint32_t max_k = detail::width<F>) const {
    // Grows the space, so that a count beyond the number of rows needs no more than the rows do.
    for (std::size_t capacity = count < 1024 ? count : 1024;; capacity = count / 2 < capacity ? count : capacity * 2) {
      detail::buffer<F> space = detail::match_buffer<F>(capacity);
      const nearprint_columns columns = space.columns();
      std::size_t found = 0;
      detail::call(nearprint_snapshot_nearest, get(), detail::in(&fingerprint), max_k, &columns, &found);
      if (found < capacity || capacity == count) return detail::matches_of(space, found);
    }
  }

  /// Passes the first `limit` matches of each query to visit(query, matches), in the order of the
  /// queries, which are answered on all threads. An exception of visit ends the work and is thrown.
  template <typename Visit>
  void query_batch(span<const F> fingerprints, std::uint32_t k, Visit visit, std::size_t limit = SIZE_MAX) const {
    matches_visitor<Visit> visitor{detail::callback<Visit>(visit), {}};
    visitor.call.call(nearprint_snapshot_visit_matches, get(), detail::in(fingerprints.data()), fingerprints.size(), k,
                      limit, &matches_visitor<Visit>::receive, static_cast<void*>(&visitor));
  }

  /// Writes the first `limit` matches of each query to columns of the caller: groups (the number of
  /// the query), fingerprints, ids, distances. Returns the number of all matches, which may exceed
  /// the capacity.
  std::size_t query_columns(span<const F> fingerprints, std::uint32_t k, const nearprint_columns& columns,
                            std::size_t limit = SIZE_MAX) const {
    std::size_t count = 0;
    detail::call(nearprint_snapshot_query_batch, get(), detail::in(fingerprints.data()), fingerprints.size(), k, limit,
                 &columns, &count);
    return count;
  }

  /// Writes the `limit` nearest rows within max_k bits of each query to columns, as query_columns()
  /// does.
  std::size_t nearest_columns(span<const F> fingerprints, std::size_t limit, const nearprint_columns& columns,
                              std::uint32_t max_k = detail::width<F>) const {
    std::size_t count = 0;
    detail::call(nearprint_snapshot_nearest_batch, get(), detail::in(fingerprints.data()), fingerprints.size(), max_k,
                 limit, &columns, &count);
    return count;
  }

  /// Passes the matches of each query to visit(query, match, key) with each of their keys, in the
  /// order of the queries. `key` is a std::optional<std::string_view> that lives until visit returns;
  /// empty for a row without a key. An exception of visit ends the work and is thrown.
  template <typename Visit>
  void query_keyed(span<const F> fingerprints, std::uint32_t k, Visit visit, std::size_t limit = SIZE_MAX) const {
    detail::callback<Visit> call(visit);
    const auto receive = [](void* context, std::size_t query, const std::uint64_t* fingerprint, std::uint64_t id,
                            std::uint32_t distance, const char* key, std::size_t key_len) -> std::int32_t {
      match<F> found;
      for (std::size_t word = 0; word < detail::words<F>; word++) {
        detail::out(&found.fingerprint)[word] = fingerprint[word];
      }
      found.id = id;
      found.distance = distance;
      std::optional<std::string_view> optional;
      if (key != nullptr) optional.emplace(key, key_len);
      return (*static_cast<detail::callback<Visit>*>(context))(query, static_cast<const match<F>&>(found), optional);
    };
    call.call(nearprint_snapshot_visit_keyed_matches, get(), detail::in(fingerprints.data()), fingerprints.size(), k,
              limit, +receive, static_cast<void*>(&call));
  }

  /// The Jaccard similarity that a distance of MinHash sketches suggests.
  double similarity_of(std::uint32_t distance) const {
    double similarity = 0;
    detail::call(nearprint_snapshot_similarity_of, get(), distance, &similarity);
    return similarity;
  }
  /// The distance to query with for texts from a Jaccard similarity of 0 to 1 on.
  std::uint32_t distance_of(double similarity) const {
    std::uint32_t distance = 0;
    detail::call(nearprint_snapshot_distance_of, get(), similarity, &distance);
    return distance;
  }

  /// All rows, by fingerprint and id.
  range<F, row<F>> rows() const { return stream<row<F>>(nearprint_snapshot_rows); }

  /// All pairs of distinct fingerprints within k bits, the smaller one first.
  range<F, pair<F>> pairs(std::uint32_t k) const { return stream<pair<F>>(nearprint_snapshot_pairs, k); }

  /// All pairs of rows within k bits, equal fingerprints included.
  range<F, row_pair<F>> row_pairs(std::uint32_t k) const {
    return stream<row_pair<F>>(nearprint_snapshot_row_pairs, k);
  }

  /// The clusters within k bits, each as its rows.
  range<F, cluster<F>> clusters(std::uint32_t k) const { return stream<cluster<F>>(nearprint_snapshot_clusters, k); }

  /// All pairs of fingerprints within k bits between two databases, this one's first.
  range<F, pair<F>> cross(const snapshot& other, std::uint32_t k) const {
    return stream<pair<F>>(nearprint_snapshot_cross, static_cast<const nearprint_snapshot*>(other.get()), k);
  }

  /// All pairs of rows within k bits between two databases. Each row has a key if its snapshot is with_keys().
  range<F, row_pair<F>> cross_rows(const snapshot& other, std::uint32_t k) const {
    nearprint_stream* opened = nullptr;
    detail::call(nearprint_snapshot_cross_rows, get(), static_cast<const nearprint_snapshot*>(other.get()), k, &opened);
    return range<F, row_pair<F>>(opened, callbacks_, has_keys_ || other.has_keys_);
  }

#ifndef NEARPRINT_NO_TEXTS
  /// All pairs of rows with similar documents, exactly: see nearprint_snapshot_similar_pairs().
  range<F, similar_pair<F>> similar_pairs(double similarity) const {
    return stream<similar_pair<F>>(nearprint_snapshot_similar_pairs, similarity);
  }

  /// The clusters that similar documents connect, each as its rows.
  range<F, similar_cluster<F>> similar_clusters(double similarity) const {
    return stream<similar_cluster<F>>(nearprint_snapshot_similar_clusters, similarity);
  }

  /// All pairs of a row of this database and a row of another one with similar documents.
  range<F, similar_pair<F>> similar_cross(const snapshot& other, double similarity) const {
    return stream<similar_pair<F>>(nearprint_snapshot_similar_cross,
                                   static_cast<const nearprint_snapshot*>(other.get()), similarity);
  }

  /// The rows with a document that is similar to a text, the most similar first.
  std::vector<similar_match<F>> find_text(std::string_view text, double similarity) const {
    std::size_t count = 8;
    for (;;) {
      detail::buffer<F> rows = detail::match_buffer<F>(count);
      rows.similarities.resize(count);
      const nearprint_columns columns = rows.columns();
      detail::call(nearprint_snapshot_find_text, get(), text.data(), text.size(), similarity, &columns, &count);
      if (count > rows.capacity) continue;
      std::vector<similar_match<F>> found;
      for (std::size_t at = 0; at < count; at++) {
        found.push_back({rows.fingerprints[at], rows.ids[at], rows.distances[at], rows.similarities[at]});
      }
      return found;
    }
  }
#endif

  /// Passes the keys of a row to visit(key, text), ascending. The arguments are std::string_view and
  /// live until visit returns. An exception of visit ends the work and is thrown.
  template <typename Visit>
  void visit_keys(const F& fingerprint, std::uint64_t id, Visit visit) const {
    detail::callback<Visit> call(visit);
    const auto receive = [](void* context, const char* key, std::size_t key_len, const char* text,
                            std::size_t text_len) -> std::int32_t {
      return (*static_cast<detail::callback<Visit>*>(context))(std::string_view(key, key_len),
                                                               std::string_view(text, text_len));
    };
    call.call(nearprint_snapshot_visit_keys, get(), detail::in(&fingerprint), id, +receive,
              static_cast<void*>(&call));
  }

  /// The keys of a row, ascending.
  std::vector<stored_key> keys(const F& fingerprint, std::uint64_t id) const {
    std::vector<stored_key> found;
    visit_keys(fingerprint, id, [&](std::string_view key, std::string_view text) {
      found.push_back({std::string(key), std::string(text)});
    });
    return found;
  }

  /// The ids of a key. Looks up only the id that is the 64-bit xxh3 of the key, or, `everywhere`, reads
  /// all keys.
  std::vector<std::uint64_t> ids_of_key(std::string_view key, bool everywhere = false) const {
    std::vector<std::uint64_t> ids(1);
    std::size_t count = 0;
    for (;;) {
      detail::call(nearprint_snapshot_ids_of_key, get(), detail::begin_of(key), key.size(), everywhere ? 1 : 0,
                   ids.data(), ids.size(), &count);
      const bool is_whole = count <= ids.size();
      ids.resize(count);
      if (is_whole) return ids;
    }
  }

  /// The fingerprints of an id. Reads all rows: there is no index by id.
  std::vector<F> fingerprints_of(std::uint64_t id) const {
    std::vector<F> found(1);
    std::size_t count = 0;
    for (;;) {
      detail::call(nearprint_snapshot_fingerprints_of, get(), id, detail::out(found.data()), found.size(), &count);
      const bool is_whole = count <= found.size();
      found.resize(count);
      if (is_whole) return found;
    }
  }

  /// Counts and sizes. Reads nothing.
  nearprint_stats stats() const {
    nearprint_stats stats;
    nearprint_stats_init(&stats);
    detail::call(nearprint_snapshot_stats, get(), &stats);
    return stats;
  }

  /// The layout: `auto`, `fast`, `small`, `rotations:T`, `blocks:M,S` or `bands:BxN`.
  std::string layout() const { return detail::text(nearprint_snapshot_layout, get()); }
  /// The recipe of the fingerprints; empty if the database stores none.
  std::string recipe() const { return detail::text(nearprint_snapshot_recipe, get()); }
  /// How queries at k are answered, at what cost and why, as text for people.
  std::string explain(std::uint32_t k) const { return detail::text(nearprint_snapshot_explain, get(), k); }

  /// Copies the database to a new path.
  void backup(const path& path) const { detail::call(nearprint_snapshot_backup, get(), path.data(), path.size()); }

  /// Copies the database, and shares unchanged files with `base`, an earlier copy. Returns the number of bytes that
  /// are shared.
  std::uint64_t backup(const nearprint::path& path, const nearprint::path& base) const {
    std::uint64_t shared = 0;
    detail::call(nearprint_snapshot_backup_with, get(), path.data(), path.size(), base.data(), base.size(), &shared);
    return shared;
  }

  /// What is stored beside rows, and with keys.
  nearprint_keys key_storage() const { return nearprint_snapshot_key_storage(get()); }

  /// The same snapshot, whose rows(), row_pairs(), clusters(), cross_rows() and matches() have keys. A row with several
  /// keys is there once with each, and a pair once with each two keys.
  snapshot with_keys() const {
    nearprint_snapshot* view = nullptr;
    detail::call(nearprint_snapshot_with_keys, get(), &view);
    return snapshot(view, callbacks_, key_storage() != NEARPRINT_NO_KEYS);
  }

  /// The first `limit` matches of each query, in the order of the queries; of with_keys() once with each key.
  range<F, keyed_match<F>> matches(span<const F> fingerprints, std::uint32_t k, std::size_t limit = SIZE_MAX) const {
    nearprint_stream* opened = nullptr;
    detail::call(nearprint_snapshot_matches, get(), detail::in(fingerprints.data()), fingerprints.size(), k, limit,
                 &opened);
    return range<F, keyed_match<F>>(opened, callbacks_, has_keys_);
  }

 private:
  /// The state of query_batch().
  template <typename Visit>
  struct matches_visitor {
    detail::callback<Visit> call;
    std::vector<match<F>> matches;

    static std::int32_t receive(void* context, std::size_t query, std::size_t count, const std::uint64_t* words,
                                const std::uint64_t* ids, const std::uint32_t* distances) noexcept {
      auto& self = *static_cast<matches_visitor*>(context);
      self.matches.resize(count);
      for (std::size_t at = 0; at < count; at++) {
        match<F>& found = self.matches[at];
        for (std::size_t word = 0; word < detail::words<F>; word++) {
          detail::out(&found.fingerprint)[word] = words[at * detail::words<F> + word];
        }
        found.id = ids[at];
        found.distance = distances[at];
      }
      return self.call(query, static_cast<const std::vector<match<F>>&>(self.matches));
    }
  };

  template <typename T, typename Function, typename... Arguments>
  range<F, T> stream(Function function, Arguments... arguments) const {
    nearprint_stream* opened = nullptr;
    detail::call(function, get(), arguments..., &opened);
    constexpr bool is_similar = std::is_same_v<T, similar_pair<F>> || std::is_same_v<T, similar_cluster<F>>;
    constexpr bool has_rows = !std::is_same_v<T, pair<F>>;
    return range<F, T>(opened, callbacks_, is_similar || (has_rows && has_keys_));
  }

  detail::callbacks_owner callbacks_;
  detail::handle<nearprint_snapshot, nearprint_snapshot_free> handle_;
  bool has_keys_;
};

}  // namespace nearprint

#endif
