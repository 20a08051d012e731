// Keys of rows and of pairs of rows, in C and in C++, compared with what was stored; and the texts beside keys.
//
//   keys FOLDER

#include <nearprint.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      std::cerr << __FILE__ << ':' << __LINE__ << ": " << #condition << '\n'; \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

namespace {

using key = std::optional<std::string>;
using snapshot = nearprint::snapshot<>;

/// A row of a test, with all of its keys.
struct stored_row {
  std::uint64_t fingerprint, id;
  std::vector<std::string> keys;
};

const std::vector<stored_row> rows = {{0xf0, 1, {"a1", "a2", "a3"}}, {0xf1, 2, {"b"}}, {0xf1, 3, {}},
                                      {0xf3, 4, {""}},               {0xff000, 5, {"e"}}};
const std::vector<stored_row> others = {{0xf0, 11, {"x", "y"}}, {0xf7, 12, {"z"}}, {0xff00f, 13, {}}};

nearprint::database<> store(const std::string& path, const std::vector<stored_row>& rows,
                            nearprint_keys keys = NEARPRINT_KEYS) {
  nearprint::schema schema;
  schema.keys = keys;
  nearprint::builder<> builder(path, schema);
  for (const auto& row : rows) {
    builder.push(row.fingerprint, row.id);
    if (keys == NEARPRINT_NO_KEYS) continue;
    for (const auto& key : row.keys) builder.push_keyed(row.fingerprint, key, {}, row.id);
  }
  return builder.finish();
}

/// A pair of rows as a line.
std::string line(std::uint64_t a, const key& of_a, std::uint64_t b, const key& of_b, std::uint32_t distance) {
  const auto quoted = [](const key& key) { return key ? '"' + *key + '"' : "none"; };
  return std::to_string(a) + ' ' + quoted(of_a) + ' ' + std::to_string(b) + ' ' + quoted(of_b) + ' ' +
         std::to_string(distance);
}

using lines = std::vector<std::string>;
lines sorted(lines unsorted) {
  std::sort(unsorted.begin(), unsorted.end());
  return unsorted;
}

std::vector<key> keys_of(const stored_row& row, bool has_keys) {
  if (!has_keys || row.keys.empty()) return {std::nullopt};
  return {row.keys.begin(), row.keys.end()};
}

/// The pairs of each two rows by brute force: of one list, or of two.
lines expected(std::uint32_t k, bool a_has_keys, const std::vector<stored_row>* other = nullptr,
               bool b_has_keys = true) {
  lines found;
  const auto& second = other == nullptr ? rows : *other;
  if (other == nullptr) b_has_keys = a_has_keys;
  for (std::size_t one = 0; one < rows.size(); one++) {
    for (std::size_t two = other == nullptr ? one + 1 : 0; two < second.size(); two++) {
      const stored_row &a = rows[one], &b = second[two];
      std::uint32_t distance = 0;
      for (std::uint64_t bits = a.fingerprint ^ b.fingerprint; bits != 0; bits &= bits - 1) distance++;
      if (distance > k) continue;
      for (const key& of_a : keys_of(a, a_has_keys)) {
        for (const key& of_b : keys_of(b, b_has_keys)) found.push_back(line(a.id, of_a, b.id, of_b, distance));
      }
    }
  }
  return sorted(found);
}

/// The pairs of a range of C++.
lines of_range(nearprint::range<std::uint64_t, nearprint::row_pair<std::uint64_t>> pairs) {
  lines found;
  for (const auto& pair : pairs) {
    found.push_back(line(pair.a.id, pair.a.key, pair.b.id, pair.b.key, pair.distance));
  }
  return sorted(found);
}

/// The pairs that functions of C open, read with columns of some capacity.
template <typename Function, typename... Arguments>
lines of_c(std::size_t capacity, bool has_keys, Function open, Arguments... arguments) {
  nearprint_stream* stream = nullptr;
  CHECK(open(arguments..., &stream, nullptr) == NEARPRINT_OK);
  std::vector<std::uint64_t> ids(capacity), other_ids(capacity);
  std::vector<std::uint32_t> distances(capacity);
  std::vector<const char*> keys(capacity), other_keys(capacity);
  std::vector<std::size_t> lens(capacity), other_lens(capacity);
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = capacity;
  columns.ids = ids.data();
  columns.other_ids = other_ids.data();
  columns.distances = distances.data();
  std::size_t count = 0;
  for (const char*** column : {&columns.keys, &columns.other_keys}) {
    *column = keys.data();
    CHECK(has_keys || nearprint_stream_next(stream, &columns, &count, nullptr) == NEARPRINT_INVALID_ARGUMENT);
    *column = nullptr;
  }
  if (has_keys) {
    columns.keys = keys.data();
    columns.key_lens = lens.data();
    columns.other_keys = other_keys.data();
    columns.other_key_lens = other_lens.data();
  }
  lines found;
  const auto text = [](const char* key, std::size_t len) {
    return key == nullptr ? std::nullopt : std::optional(std::string(key, len));
  };
  do {
    CHECK(nearprint_stream_next(stream, &columns, &count, nullptr) == NEARPRINT_OK);
    for (std::size_t at = 0; at < count; at++) {
      found.push_back(line(ids[at], text(keys[at], lens[at]), other_ids[at], text(other_keys[at], other_lens[at]),
                           distances[at]));
    }
  } while (count > 0);
  nearprint_stream_free(stream);
  return sorted(found);
}

/// Pairs of rows came without keys, although the database stores some.
void regression_pairs_of_rows_have_keys(const std::string& home) {
  const auto first = store(home + "/pairs", rows).snapshot(), second = store(home + "/others", others).snapshot();
  const auto bare = store(home + "/bare", others, NEARPRINT_NO_KEYS).snapshot();
  const auto keyed = first.with_keys(), keyed_second = second.with_keys();
  const nearprint_snapshot *one = first.get(), *one_keyed = keyed.get();
  const nearprint_snapshot *two = second.get(), *two_keyed = keyed_second.get();
  const auto pairs = nearprint_snapshot_row_pairs;
  const auto cross = nearprint_snapshot_cross_rows;
  CHECK(expected(1, true).size() == 9 && expected(64, false).size() == 10 && expected(64, true).size() == 18);
  for (std::uint32_t k : {0u, 1u, 3u, 64u}) {
    CHECK(of_range(first.row_pairs(k)) == expected(k, false));
    CHECK(of_range(keyed.row_pairs(k)) == expected(k, true));
    CHECK(of_range(first.cross_rows(second, k)) == expected(k, false, &others, false));
    CHECK(of_range(keyed.cross_rows(keyed_second, k)) == expected(k, true, &others));
    CHECK(of_range(keyed.cross_rows(second, k)) == expected(k, true, &others, false));
    CHECK(of_range(first.cross_rows(keyed_second, k)) == expected(k, false, &others));
    CHECK(of_range(keyed.cross_rows(bare.with_keys(), k)) == expected(k, true, &others, false));
    CHECK(of_range(bare.with_keys().row_pairs(k)).size() == of_range(bare.row_pairs(k)).size());
    for (std::size_t capacity : {1, 2, 3, 100}) {
      CHECK(of_c(capacity, false, pairs, one, k) == expected(k, false));
      CHECK(of_c(capacity, true, pairs, one_keyed, k) == expected(k, true));
      CHECK(of_c(capacity, false, cross, one, two, k) == expected(k, false, &others, false));
      CHECK(of_c(capacity, true, cross, one_keyed, two_keyed, k) == expected(k, true, &others));
      CHECK(of_c(capacity, true, cross, one, two_keyed, k) == expected(k, false, &others));
    }
  }
}

/// The rows of a snapshot with their keys.
lines listed(const snapshot& snapshot) {
  lines found;
  for (const auto& row : snapshot.rows()) found.push_back(line(row.id, row.key, 0, {}, 0));
  return sorted(found);
}

/// A newer snapshot repeated rows for each key, without the key.
void regression_a_newer_snapshot_has_the_keys_of_its_view(const std::string& home) {
  const auto database = store(home + "/refreshed", rows);
  auto keyed = database.snapshot().with_keys();
  const lines before = listed(keyed);
  CHECK(before.size() == 7 && before[0] == line(1, "a1", 0, {}, 0) && listed(keyed.refresh()) == before);
  auto follower = database.follow(home + "/following");
  auto followed = nearprint::database<>(home + "/following").snapshot().with_keys();
  auto writer = database.writer();
  writer.insert_keyed(0xf0, "a4", {}, 1);
  auto uncommitted = writer.snapshot().with_keys();
  CHECK(listed(uncommitted).size() == 8 && listed(keyed.refresh()) == before);
  writer.commit();
  lines after = before;
  after.insert(after.begin() + 3, line(1, "a4", 0, {}, 0));
  CHECK(listed(keyed) == before && listed(keyed.refresh()) == after && listed(keyed.refresh().refresh()) == after);
  CHECK(listed(uncommitted.refresh()) == after && listed(keyed.with_keys().refresh()) == after);
  CHECK(of_range(keyed.refresh().row_pairs(0)) == expected(0, true) && of_range(keyed.row_pairs(1)) == expected(1, true));
  CHECK(keyed.refresh().matches(std::vector<std::uint64_t>{0xf3}, 0).next()->key == "");
  CHECK(keyed.refresh().clusters(0).next()->at(0).key == "b");

  // Moves carry the keys with the handle, also over a snapshot without any.
  auto moved = std::move(keyed);
  CHECK(listed(moved) == before && keyed.get() == nullptr);
  auto other = database.snapshot();
  CHECK(listed(other).size() == rows.size() && listed(other.refresh()).size() == rows.size());
  other = std::move(moved);
  CHECK(listed(other) == before && listed(other.refresh()) == after);
  other = database.snapshot();
  CHECK(listed(other).size() == rows.size() && listed(other.refresh())[0] == line(1, {}, 0, {}, 0));

  // A folder that follows.
  CHECK(listed(followed.refresh()) == before && follower.update().changed);
  CHECK(listed(followed) == before && listed(followed.refresh()) == after);

  // A view that C has made.
  nearprint_snapshot* view = nullptr;
  CHECK(nearprint_snapshot_with_keys(other.get(), &view, nullptr) == NEARPRINT_OK);
  CHECK(listed(snapshot(view, nullptr, true).refresh()) == after);
}

/// Single queries repeated rows for each key, and wrote more than the nearest ones.
void regression_queries_of_a_view_have_each_row_once(const std::string& home) {
  const auto plain = store(home + "/queries", rows).snapshot();
  const auto keyed = plain.with_keys();
  const std::vector<std::uint64_t> queries = {0xf0, 0xf3};
  std::vector<std::uint64_t> ids(16);
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = ids.size();
  columns.ids = ids.data();
  CHECK(keyed.query(0xf0, 0).size() == 1 && keyed.query(0xf0, 64).size() == rows.size());
  const auto nearest = keyed.nearest(0xf0, 1);
  CHECK(nearest.size() == 1 && nearest[0].id == 1 && keyed.nearest(0xf0, 2)[1].id == 2);
  CHECK(keyed.query_columns(queries, 0, columns) == 2 && ids[0] == 1 && ids[1] == 4);
  CHECK(keyed.nearest_columns(queries, 1, columns) == 2 && ids[0] == 1 && ids[1] == 4);
  std::size_t matches = 0, with_keys = 0;
  keyed.query_batch(queries, 0, [&](std::size_t, const auto& near) { matches += near.size(); });
  keyed.query_keyed(queries, 0, [&](std::size_t, const auto&, const auto& key) { with_keys += key.has_value(); });
  CHECK(matches == 2 && with_keys == 4);
  for (const auto& pair : keyed.pairs(1)) CHECK(pair.a < pair.b);
  CHECK(keyed.keys(0xf0, 1).size() == 3 && keyed.ids_of_key("a2", true).at(0) == 1);
}

/// The text beside each key is what was stored, however it was stored and wherever it is read.
void texts_beside_keys(const std::filesystem::path& home) {
  using print = nearprint::fingerprint<256>;
  nearprint::fingerprinter<print> maker("minhash");
  const std::string common = "one two three four five six seven eight nine ten ", huge(100000, 'x');
  const std::vector<std::string> texts = {common + "a", "", "\x02 begins as a compressed one", huge,
                                          common + "b", "z", common + "c", std::string("\0null", 5),
                                          "tab\t\r\n", common};
  std::vector<std::uint64_t> ids(texts.size());
  std::vector<print> prints;
  for (const auto& text : texts) prints.push_back(maker(text));
  const auto key = [](std::size_t at) { return "key " + std::to_string(at); };
  const auto store_at = [&](std::size_t at, auto store) {
    const std::string name = key(at);
    nearprint::rows<print> row;
    row.fingerprints = {prints[at]};
    row.keys = {name};
    row.texts = {texts[at]};
    ids[at] = store(row, name);
  };
  const auto check = [&](const nearprint::snapshot<print>& snapshot, std::size_t count) {
    for (std::size_t at = 0; at < count; at++) {
      const auto found = snapshot.keys(prints[at], ids[at]);
      CHECK(found.size() == 1 && found[0].key == key(at) && found[0].text == texts[at]);
    }
    CHECK(snapshot.key_storage() == NEARPRINT_KEYS_AND_TEXTS);
  };

  nearprint::builder<print> builder((home / "texts").c_str(), maker.schema(NEARPRINT_KEYS_AND_TEXTS));
  store_at(0, [&](const auto&, auto& key) { return builder.push_keyed(prints[0], key, texts[0]); });
  store_at(1, [&](const auto& row, auto&) { return builder.push(row).at(0); });
  store_at(2, [&](const auto&, auto& key) { return builder.push_document(maker, key, texts[2]); });
  auto database = builder.finish();
  auto keyed = database.snapshot().with_keys();
  auto follower = database.follow(home / "texts followed");
  check(keyed, 3);
  auto writer = database.writer();
  store_at(3, [&](const auto&, auto& key) { return writer.insert_keyed(prints[3], key, texts[3]); });
  store_at(4, [&](const auto&, auto& key) { return writer.upsert_keyed(prints[4], key, texts[4]); });
  store_at(5, [&](const auto& row, auto&) { return writer.insert(row).at(0); });
  store_at(6, [&](const auto& row, auto&) { return writer.upsert(row).at(0); });
  store_at(7, [&](const auto& row, auto&) { return writer.insert_if_new(row, 0).at(0).id; });
  store_at(8, [&](const auto&, auto& key) { return writer.insert_document(maker, key, texts[8]); });
  check(writer.snapshot().with_keys(), 9);
  writer.commit();
  check(keyed.refresh(), 9);
  writer.compact();
  writer.close();
  const auto shared = database.shared_writer();
  store_at(9, [&](const auto& row, auto&) { return shared.insert(row).at(0); });
  shared.close();
  check(keyed.refresh(), 10);
  database.snapshot().backup(home / "texts copied");
  follower.update();
  for (const char* copy : {"texts copied", "texts followed"}) {
    check(nearprint::database<print>(home / copy).snapshot(), 10);
  }
  // Each two of four documents are similar, and one row has a second document: with keys as without.
  auto more = database.writer();
  more.insert_keyed(prints[0], "again", texts[0], ids[0]);
  const auto count = [](auto pairs) { return std::distance(pairs.begin(), pairs.end()); };
  CHECK(count(more.snapshot().similar_pairs(0.5)) == 6 + 3);
  CHECK(count(more.snapshot().with_keys().similar_pairs(0.5)) == 6 + 3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string home = argv[1];
  regression_pairs_of_rows_have_keys(home);
  regression_a_newer_snapshot_has_the_keys_of_its_view(home);
  regression_queries_of_a_view_have_each_row_once(home);
  texts_beside_keys(home);
  std::cout << "keys: of rows, of pairs, of newer snapshots\n";
}
