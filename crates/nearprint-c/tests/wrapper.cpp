// nearprint.hpp: owned handles, exceptions, ranges, callbacks, wide fingerprints.
//
//   wrapper FOLDER

#include <nearprint.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#if __cplusplus >= 202002L
#include <span>
#endif
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      std::cerr << __FILE__ << ':' << __LINE__ << ": " << #condition << '\n'; \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

/// The code of the error that a function throws.
template <typename Function>
nearprint_status thrown(Function function) {
  try {
    function();
  } catch (const nearprint::error& error) {
    CHECK(std::string(error.what()).size() > 5);
    return error.code();
  }
  return NEARPRINT_OK;
}

/// A fingerprint of any width from a small number.
template <typename F>
F make(std::uint64_t low) {
  if constexpr (std::is_integral_v<F>) {
    return low;
  } else {
    return F{low};
  }
}

template <typename F>
void every_width(const std::string& path) {
  static_assert(!std::is_copy_constructible_v<nearprint::snapshot<F>>);
  static_assert(std::is_nothrow_move_constructible_v<nearprint::snapshot<F>>);
  // 3,000 clusters of two, so that a stream is read in several parts.
  std::vector<F> prints;
  for (std::uint64_t at = 0; at < 3000; at++) {
    const std::uint64_t spread = at * 0x9e3779b97f4a7c15u;
    prints.push_back(make<F>(spread));
    prints.push_back(make<F>(spread ^ 1));
  }
  nearprint::builder<F> builder(path);
  CHECK(builder.push(nearprint::span<const F>(prints)) == 0);
  CHECK(builder.push(prints[0], 9000) == 9000);
  auto database = builder.finish();
  CHECK(thrown([&] { builder.push(prints[0]); }) == NEARPRINT_CLOSED);
  CHECK(thrown([&] { nearprint::builder<F> again(path); }) == NEARPRINT_ALREADY_EXISTS);
  auto snapshot = database.snapshot();
  CHECK(snapshot.stats().rows == 6001);

  const auto found = snapshot.query(prints[0], 1);
  CHECK(found.size() == 3 && found[0].id == 0 && found[1].id == 9000 && found[2].distance == 1);
  const auto all = snapshot.query(prints[0], sizeof(F) * 8);
  CHECK(all.size() == 6001 && all.back().distance >= all.front().distance);

  std::size_t pairs = 0, clusters = 0, members = 0, rows = 0, crossed = 0, listed = 0;
  for (const auto& pair : snapshot.pairs(1)) pairs += pair.distance == 1;
  for (const auto& cluster : snapshot.clusters(1)) {
    clusters++;
    members += cluster.size();
  }
  auto stream = snapshot.rows();
  auto other = std::move(snapshot);
  for (const auto& row : stream) rows += row.id <= 9000;
  for (const auto& pair : other.cross(other, 0)) crossed += pair.a == pair.b;
  for (const auto& pair : nearprint::find_all(prints, 1)) listed += pair.distance == 1;
  CHECK(pairs == 3000 && clusters == 3000 && members == 6001 && rows == 6001 && crossed == 6000 && listed == 3000);

  std::size_t queries = 0, matches = 0;
  other.query_batch(prints, 1, [&](std::size_t query, const auto& near) {
    CHECK(query == queries++);
    matches += near.size();
  });
  CHECK(queries == 6000 && matches == 12002);
  try {
    other.query_batch(prints, 1, [](std::size_t query, const auto&) {
      if (query == 2) throw std::string("enough");
    });
    CHECK(false);
  } catch (const std::string& reason) {
    CHECK(reason == "enough");
  }

  auto writer = database.writer();
  CHECK(thrown([&] { database.writer(); }) == NEARPRINT_LOCKED);
  CHECK(writer.insert(prints[0]) == 9001);
  writer.upsert(prints[2], 9001);
  writer.erase(9000);
  CHECK(thrown([&] { writer.insert_keyed(prints[0], "key"); }) == NEARPRINT_NOT_STORED);
  writer.close();
  CHECK(other.query(prints[0], 0).size() == 2);
  CHECK(other.refresh().query(prints[0], 0).size() == 1);
  CHECK(other.refresh().query(prints[2], 0).size() == 2);
}

/// Whether a call is refused for its arguments.
template <typename Function>
bool refused(Function function) {
  return thrown(function) == NEARPRINT_INVALID_ARGUMENT;
}

template <typename F>
void answers(const std::string& path) {
  const std::vector<F> prints = {make<F>(0xf0), make<F>(0xf0), make<F>(0xf1), make<F>(0xff00)};
  nearprint::builder<F> builder(path, {}, {}, 5);
  CHECK(builder.get() != nullptr && builder.push(nearprint::span<const F>(prints)) == 5);
  CHECK(refused([&] { builder.push(nearprint::span<const F>(prints), std::vector<std::uint64_t>{1}); }));
  auto database = builder.finish();
  auto snapshot = database.snapshot();
  CHECK(nearprint::width_of(path) == sizeof(F) * 8 && snapshot.get() != nullptr && database.get() != nullptr);

  const auto nearest = snapshot.nearest(prints[0], 3);
  CHECK(nearest.size() == 3 && nearest[1].id == 6 && nearest[2].distance == 1 && nearest[2].fingerprint == prints[2]);
  CHECK(snapshot.nearest(prints[0], SIZE_MAX).size() == 4 && snapshot.nearest(prints[0], 9, 0).size() == 2);
  CHECK(snapshot.nearest(prints[0], 0).empty());

  std::vector<std::uint64_t> ids;
  for (const auto& pair : snapshot.row_pairs(1)) {
    CHECK(pair.a.fingerprint == prints[pair.a.id - 5] && pair.b.fingerprint == prints[pair.b.id - 5]);
    ids.push_back(pair.a.id * 100 + pair.b.id * 10 + pair.distance);
  }
  std::sort(ids.begin(), ids.end());
  CHECK((ids == std::vector<std::uint64_t>{560, 571, 671}));
  std::size_t crossed = 0;
  for (const auto& pair : snapshot.cross_rows(snapshot, 0)) crossed += pair.a.fingerprint == pair.b.fingerprint;
  CHECK(crossed == 2 * 2 + 1 + 1);

  std::vector<std::uint64_t> queries(16), found(16);
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = queries.size();
  columns.groups = queries.data();
  columns.ids = found.data();
  CHECK(snapshot.query_columns(prints, 1, columns) == 10 && queries[9] == 3 && found[9] == 8);
  CHECK(snapshot.query_columns(prints, 1, columns, 1) == 4);
  std::size_t matches = 0;
  snapshot.query_batch(prints, 1, [&](std::size_t, const auto& near) { matches += near.size(); }, 2);
  CHECK(matches == 2 + 2 + 2 + 1);

  CHECK((snapshot.fingerprints_of(7) == std::vector<F>{prints[2]}) && snapshot.fingerprints_of(70).empty());
  CHECK(snapshot.layout() == "auto" && snapshot.recipe().empty() && snapshot.explain(3).size() > 130);
  const nearprint::verification sound = database.verify();
  CHECK(sound.files > 2 && sound.bytes > 1000 && sound.damaged.empty());
  snapshot.backup(path + ".copy");
  CHECK(nearprint::database<F>(path + ".copy").snapshot().stats().rows == 4);

  const std::string text = nearprint::format(prints[3]);
  CHECK(nearprint::parse<F>(text) == prints[3] && refused([] { nearprint::parse<F>("x"); }));
  std::vector<std::vector<F>> clusters;
  for (const auto& cluster : nearprint::find_clusters(prints, 1)) clusters.push_back(cluster);
  CHECK((clusters == std::vector<std::vector<F>>{{prints[0], prints[2]}}));
  nearprint::options one;
  one.threads = 1;
  CHECK(nearprint::find_all(prints, 1, {}, one).next()->b == prints[2]);
}

/// A stream that was assigned to freed the functions that the old stream called. One that was moved from read rows that
/// had gone.
void moved_ranges() {
  std::vector<std::uint64_t> prints;
  for (std::uint64_t at = 0; at < 20000; at++) prints.push_back(at * 0x9e3779b97f4a7c15u >> 20);
  std::atomic<bool> is_called = false;
  nearprint::options options;
  options.threads = 2;
  options.progress = [&is_called, kept = std::vector<int>(20, 1)](int, std::uint64_t, std::uint64_t) {
    is_called = true;
    for (const int one : kept) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      CHECK(one == 1);
    }
    return true;
  };
  for (int turn = 0; turn < 3; turn++) {
    is_called = false;
    auto found = nearprint::find_all(prints, 10, {}, options);
    CHECK(found.next().has_value());
    while (!is_called) std::this_thread::yield();
    found = nearprint::find_all({1ul, 3ul}, 1);
    CHECK(found.next()->distance == 1 && !found.next().has_value());
  }
  auto found = nearprint::find_all(prints, 10);
  CHECK(found.next().has_value());
  auto other = std::move(found);
  CHECK(thrown([&] { found.next(); }) == NEARPRINT_INVALID_ARGUMENT && other.next().has_value());
}

/// What the calls take for lists. `{0, 2}` was a null pointer and a number.
void every_list(const std::string& path) {
  auto database = nearprint::database<>::create(path);
  auto writer = database.writer();
  const std::uint64_t built_in[] = {3, 4};
  CHECK(writer.insert({0, 1}) == 0);
  writer.insert({2, 3}, {5, 6});
  writer.insert(built_in);
  writer.upsert({8, 9}, {5, 6});
  writer.commit();
  auto snapshot = database.snapshot();
  std::size_t found = 0;
  const auto visit = [&](std::size_t, const auto& matches) { found += matches.size(); };
  snapshot.query_batch({0, 8}, 0, visit);
  snapshot.query_batch(std::vector<std::uint64_t>{9}, 0, visit);
  snapshot.query_batch(std::array<std::uint64_t, 1>{3}, 0, visit);
  CHECK(found == 4);
  // An empty list was the id 0.
  writer.erase({});
  CHECK(writer.snapshot().query(0, 0).size() == 1);
  writer.erase({0, 5});
  writer.commit();
  CHECK(writer.snapshot().query(0, 0).empty() && writer.snapshot().query(8, 0).empty());
  // A key that is an empty view is an empty key.
  nearprint::schema with_keys;
  with_keys.keys = NEARPRINT_KEYS;
  auto keyed = nearprint::database<>::create(path + ".keyed", with_keys).writer();
  keyed.insert(nearprint::rows<std::uint64_t>{{7}, {}, {std::string_view()}, {}});
  CHECK(keyed.snapshot().ids_of_key("").size() == 1);
  writer.close();
}

template <typename F>
void changes(const std::string& path) {
  nearprint::schema schema;
  schema.k = 4;
  schema.keys = NEARPRINT_KEYS_AND_TEXTS;
  schema.recipe = "of-a-test";
  CHECK(thrown([&] { nearprint::database<F>::create(path, schema); }) == NEARPRINT_RECIPE);
  schema.recipe = "simhash width=" + std::to_string(sizeof(F) * 8);
  schema.expire_after = std::chrono::milliseconds(-5);
  CHECK(thrown([&] { nearprint::database<F>::create(path, schema); }) == NEARPRINT_INVALID_ARGUMENT);
  schema.expire_after = {};
  nearprint::options options;
  options.foreground_merges = true;
  options.lock_wait = std::chrono::milliseconds(1);
  auto database = nearprint::database<F>::create(path, schema, options);
  auto writer = database.writer();
  CHECK(writer.get() != nullptr);
  const std::vector<F> prints = {make<F>(1), make<F>(3), make<F>(7)};
  writer.insert(prints, std::vector<std::uint64_t>{30, 20, 10});
  CHECK(refused([&] { writer.insert(prints, std::vector<std::uint64_t>{1}); }));
  CHECK(refused([&] { writer.upsert(prints, std::vector<std::uint64_t>{1}); }));
  CHECK(writer.insert(nearprint::span<const F>(prints)) == 31);
  writer.erase(std::vector<std::uint64_t>{31, 32});
  writer.upsert(std::vector<F>{prints[0]}, std::vector<std::uint64_t>{33});
  CHECK(writer.insert_keyed(prints[0], "b", "text of b", 30) == 30);
  const std::uint64_t hashed = writer.insert_keyed(prints[1], "c");
  CHECK(writer.insert_keyed(prints[0], "a", "text of a", 30) == 30 && hashed != 30);
  CHECK(writer.upsert_keyed(prints[2], "c", "new") == hashed);
  const auto found = writer.query(prints[0], 0);
  CHECK(found.size() == 2 && found[0].id == 30 && found[1].id == 33);
  auto uncommitted = writer.snapshot();
  CHECK(database.snapshot().query(prints[0], 0).empty() && uncommitted.query(prints[0], 0).size() == 2);

  const auto keys = uncommitted.keys(prints[0], 30);
  CHECK(keys.size() == 2 && keys[0].key == "a" && keys[0].text == "text of a" && keys[1].key == "b");
  try {
    uncommitted.visit_keys(prints[0], 30, [](std::string_view key, std::string_view) { throw std::string(key); });
    CHECK(false);
  } catch (const std::string& key) {
    CHECK(key == "a");
  }
  CHECK((uncommitted.ids_of_key("c") == std::vector<std::uint64_t>{hashed}));
  CHECK(uncommitted.ids_of_key("a").empty() && uncommitted.ids_of_key("a", true).size() == 1);
  CHECK(uncommitted.recipe() == nearprint::fingerprinter<F>(schema.recipe).recipe() && uncommitted.stats().k == 4);
  CHECK(writer.erase_key("c") == 1 && writer.erase_key("c") == 0);
  writer.commit();
  writer.flush();
  writer.compact();
  writer.close();
  CHECK(thrown([&] { writer.commit(); }) == NEARPRINT_CLOSED);
  CHECK(database.snapshot().stats().tombstones == 0 && database.snapshot().ids_of_key("c", true).empty());
}

/// Progress reaches the function of the options, which can cancel and may throw.
void progress(const std::string& path) {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<int> mode{0};
  nearprint::options options;
  options.memory_bytes = std::size_t{1} << 20;
  options.progress = [&](std::int32_t stage, std::uint64_t, std::uint64_t) {
    CHECK(stage >= 0);
    calls++;
    if (mode == 2) throw 1;
    return mode == 0;
  };
  auto database = [&] {
    nearprint::builder<> builder(path, {}, options);
    for (std::uint64_t at = 0; at < 5000; at++) builder.push(at * 0x9e3779b97f4a7c15u);
    return builder.finish();
  }();
  options.progress = nullptr;
  const std::uint64_t built = calls;
  CHECK(built > 0 && database.verify().damaged.empty() && calls > built);
  mode = 1;
  CHECK(thrown([&] { database.verify(); }) == NEARPRINT_STOPPED);
  mode = 2;
  CHECK(thrown([&] { database.verify(); }) == NEARPRINT_STOPPED);
}

void texts(const std::string& path) {
  nearprint::fingerprinter<nearprint::fingerprint<256>> fingerprint("minhash");
  CHECK(fingerprint.get() != nullptr && fingerprint.layout() == "bands:10x16" && fingerprint.default_k() > 0);
  const std::vector<nearprint::fingerprint<256>> prints = {fingerprint("the quick brown fox jumps over the lazy dog"),
                                                          fingerprint("The quick brown fox jumps over the lazy dog!")};
  nearprint::builder<nearprint::fingerprint<256>> builder(path, fingerprint.schema(NEARPRINT_KEYS));
  const std::uint64_t id = builder.push_keyed(prints[0], "fox");
  CHECK(builder.push_keyed(prints[0], "again", {}, 7) == 7);
  auto snapshot = builder.finish().snapshot();
  CHECK(snapshot.recipe() == fingerprint.recipe() && snapshot.layout() == fingerprint.layout());
  CHECK(snapshot.query(prints[1], fingerprint.default_k()).size() == 2);
  CHECK((snapshot.ids_of_key("fox") == std::vector<std::uint64_t>{id}));
  CHECK(snapshot.keys(prints[0], 7).at(0).key == "again");
  std::vector<std::string> keys;
  snapshot.query_keyed(prints, fingerprint.default_k(), [&](std::size_t query, const auto& match, const auto& key) {
    if (query == 1) keys.push_back(key.has_value() && match.distance < 64 ? std::string(*key) : "none");
  });
  CHECK((keys == std::vector<std::string>{"again", "fox"} || keys == std::vector<std::string>{"fox", "again"}));
  CHECK(snapshot.similarity_of(0) == 1 && snapshot.distance_of(1) == 0 && snapshot.distance_of(0.5) > 0);
  std::uint64_t nearest[2];
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = 2;
  columns.ids = nearest;
  CHECK(snapshot.nearest_columns(prints, 1, columns) == 2);
  CHECK(nearprint::find_all(prints, fingerprint.default_k(), "10x16").next().has_value() == (prints[0] != prints[1]));
  CHECK(refused([&] { nearprint::find_clusters(prints, 1, "7"); }));
}

/// Documents whose texts the database keeps: similarities are exact.
void documents(const std::string& path) {
  using print = nearprint::fingerprint<256>;
  nearprint::fingerprinter<print> fingerprint("minhash");
  const std::vector<std::string> texts = {"one two three four five six seven eight nine ten",
                                          "one two three four five six seven eight nine ten eleven twelve",
                                          "something else that shares no words with the others"};
  nearprint::builder<print> builder(path, fingerprint.schema(NEARPRINT_KEYS_AND_TEXTS));
  for (const auto& text : texts) builder.push_keyed(fingerprint(text), text.substr(0, 20) + text.back(), text);
  auto snapshot = builder.finish().snapshot();
  /* 8 shingles of 10. */
  const auto is_exact = [](double similarity) { return similarity > 0.799999 && similarity < 0.800001; };
  std::size_t pairs = 0;
  for (const auto& pair : snapshot.similar_pairs(0.7)) {
    CHECK(is_exact(pair.similarity) && pair.a.id != pair.b.id && pair.distance < 64);
    CHECK(snapshot.keys(pair.a.fingerprint, pair.a.id).at(0).key == pair.a.key);
    CHECK(snapshot.keys(pair.b.fingerprint, pair.b.id).at(0).key == pair.b.key);
    pairs++;
  }
  CHECK(pairs == 1 && !snapshot.similar_pairs(0.81).next().has_value());
  std::size_t clusters = 0;
  for (const auto& cluster : snapshot.similar_clusters(0.7)) {
    CHECK(cluster.size() == 2 && cluster[0].similarity == 1 && is_exact(cluster[1].similarity));
    for (const auto& row : cluster) CHECK(snapshot.keys(row.fingerprint, row.id).at(0).key == row.key);
    clusters++;
  }
  CHECK(clusters == 1);
  std::size_t crossed = 0;
  for (const auto& pair : snapshot.similar_cross(snapshot, 0.7)) crossed += pair.a.id == pair.b.id ? 1 : 10;
  CHECK(crossed == 3 + 2 * 10);
  const auto found = snapshot.find_text(texts[0], 0.7);
  CHECK(found.size() == 2 && found[0].similarity == 1 && found[0].distance == 0 && is_exact(found[1].similarity));
  CHECK(snapshot.keys(found[0].fingerprint, found[0].id).at(0).text == texts[0] && found[0].id != found[1].id);
  CHECK(snapshot.find_text("", 0.5).empty());
  CHECK(refused([&] { snapshot.similar_pairs(1.5); }) && refused([&] { snapshot.find_text("x", -1); }));
  nearprint::builder<print> other(path + ".keys", fingerprint.schema(NEARPRINT_KEYS));
  auto keys = other.finish().snapshot();
  CHECK(thrown([&] { keys.similar_clusters(0.7); }) == NEARPRINT_MISMATCH);
}

/// Batches, documents, keys of matches, writers of several threads, and arguments of C++.
void batches(const std::filesystem::path& home) {
  nearprint::schema schema;
  schema.keys = NEARPRINT_KEYS;
  schema.expire_after = std::chrono::hours(24);
  auto database = nearprint::database<>::create(home / "batches", schema);
  auto writer = database.writer();
  nearprint::rows<std::uint64_t> rows;
  rows.fingerprints = {1, 0xff, 0xffff00};
  rows.keys = {"one", "two", "other"};
  const auto ids = writer.insert(rows);
  CHECK(ids.size() == 3 && writer.upsert(rows) == ids);
  rows.keys.pop_back();
  CHECK(thrown([&] { writer.insert(rows); }) == NEARPRINT_INVALID_ARGUMENT);
  writer.commit();
  std::vector<std::optional<std::string>> found;
  const auto snapshot = database.snapshot();
  for (const auto& match : snapshot.with_keys().matches(rows.fingerprints, 0)) found.push_back(match.key);
  CHECK((found == std::vector<std::optional<std::string>>{"one", "two", "other"}));
  for (const auto& match : snapshot.matches(rows.fingerprints, 0)) CHECK(!match.key && match.match.distance == 0);
  // Keys of rows and of clusters were out of reach, and rows were repeated without them.
  const auto keyed = snapshot.with_keys();
  std::set<std::string> of_rows;
  for (const auto& row : keyed.rows()) of_rows.insert(row.key.value());
  CHECK((of_rows == std::set<std::string>{"one", "two", "other"}));
  of_rows.clear();
  for (const auto& cluster : keyed.clusters(64)) {
    for (const auto& row : cluster) CHECK(of_rows.insert(row.key.value()).second);
  }
  CHECK(of_rows.size() == 3);
  for (const auto& row : snapshot.rows()) CHECK(!row.key);
  CHECK(snapshot.key_storage() == NEARPRINT_KEYS && snapshot.stats().keys == NEARPRINT_KEYS);
  CHECK(snapshot.stats().expire_after_milliseconds == 24 * 3600 * 1000);

  nearprint::rows<std::uint64_t> fresh;
  fresh.fingerprints = {3, 0xffff000000, 0xffff000001};
  const auto outcomes = writer.insert_if_new(fresh, 1);
  CHECK(outcomes[0].met->id == ids[0] && !outcomes[1].met && outcomes[2].id == outcomes[1].id);
  CHECK(writer.nearest(0, 2).size() == 2);
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  CHECK(writer.query_columns(fresh.fingerprints, 1, columns) == 3 && writer.nearest_columns(0, columns) == 0);
  writer.rollback();
  CHECK(writer.query(0xffff000000, 1).empty());
  CHECK(writer.erase_key({}) == 0 && writer.erase_keys({std::string_view{}}) == 0);
  CHECK(writer.erase_keys({"one", "none"}) == 1 && writer.erase_key_prefix("t") == 1);
  CHECK(writer.erase_ids(ids[2], ids[2]) == 1);
  writer.insert({5, 6});
  writer.close();
  CHECK(database.snapshot().backup(home / "copy", home / "batches") > 0);
  auto second = database.follow(home / "second");
  const nearprint::follower_update none = second.update();
  CHECK(none.bytes == 0 && !none.changed);
  auto shared = database.shared_writer();
  CHECK(shared.insert_if_new(5, 0) == std::make_pair(database.snapshot().query(5, 0).at(0).id, false));
  CHECK(shared.insert_if_new(77, 0).second && shared.insert(fresh).size() == 3);
  nearprint::rows<> numbered;
  numbered.fingerprints = {78};
  numbered.ids = {1234};
  CHECK(shared.insert_if_new(numbered, 0) == std::make_pair(std::uint64_t{1234}, true));
  shared.erase(ids);
  shared.close();

  nearprint::builder<> builder(std::string(home / "built"));
  builder.push({1, 2, 3});
  CHECK(builder.finish().snapshot().stats().rows == 3);
  const std::array<std::uint64_t, 3> list = {1, 3, 0xff};
  CHECK(nearprint::find_all(list, 1).next()->distance == 1 && !nearprint::find_clusters({1ul, 0xfful}, 1).next());
  CHECK(nearprint::find_all({1, 3}, 1).next()->distance == 1 && !nearprint::find_clusters({1ull, 0xffull}, 1).next());
  const std::uint64_t of_c[] = {1, 3, 0xff};
  CHECK(nearprint::find_all(of_c, 1).next()->distance == 1 && nearprint::find_clusters(of_c, 1).next()->size() == 2);
  CHECK(nearprint::find_all(nearprint::span<const std::uint64_t>(of_c, 2), 1).next()->b == 3);
#if __cplusplus >= 202002L
  CHECK(nearprint::find_all(std::span(of_c), 1).next()->b == 3);
#endif

  using print = nearprint::fingerprint<256>;
  auto wide = nearprint::database<print>::create(home / "wide").writer();
  wide.insert({{7, 7}}, {9});
  CHECK((wide.query(print{7, 7}, 0).at(0).id == 9 && wide.insert({print{8}, print{9}}) == 10));

  nearprint::fingerprinter<print> fingerprinter("minhash");
  nearprint::builder<print> documents((home / "documents").c_str(), fingerprinter.document_schema());
  documents.push_document(fingerprinter, "a", "one two three four five six");
  auto adding = documents.finish().writer();
  adding.insert_document(fingerprinter, "b", "one two three four five seven");
  for (const auto& pair : adding.snapshot().similar_pairs(0.5)) CHECK(pair.similarity == 0.6);
  CHECK(fingerprinter.similarity("one two three four five six", "one two three four five seven") == 0.6);
  CHECK(fingerprinter.estimate(fingerprinter.distance(print{}, print{})) == 1 && fingerprinter.width() == 256);

  const nearprint::deduplicator dedup(home / "kept");
  const std::vector<nearprint::document> pages = {{"a", "one two three four five six seven eight nine"},
                                                  {"b", "another text of a few words"},
                                                  {"c", "One two three four five six seven eight nine, ten"}};
  const auto decisions = dedup.decide(pages);
  CHECK(decisions[0].kept && decisions[1].kept && !decisions[2].kept);
  CHECK(decisions[2].duplicate_of == "a" && decisions[2].similarity == 7.0 / 8);
  dedup.commit();
  CHECK(!dedup.decide("d", "another text of a few words!").kept);
  dedup.close();
  CHECK(thrown([&] { dedup.commit(); }) == NEARPRINT_CLOSED);
  CHECK(thrown([&] { nearprint::deduplicator(home / "kept", "minhash", 2); }) == NEARPRINT_INVALID_ARGUMENT);
  /* A limit is exact: it was an estimate in a database that has only keys. */
  nearprint::database<print>::create(home / "keys-alone", fingerprinter.schema(NEARPRINT_KEYS));
  CHECK(thrown([&] { nearprint::deduplicator(home / "keys-alone"); }) == NEARPRINT_MISMATCH);
  auto again = nearprint::database<print>::open_or_create(home / "kept", fingerprinter.document_schema());
  CHECK(again.snapshot().stats().rows == 2);
  auto made = nearprint::database<print>::open_or_create(home / "made", fingerprinter.document_schema());
  CHECK(made.snapshot().key_storage() == NEARPRINT_KEYS_AND_FEATURES);
  CHECK(thrown([&] { nearprint::database<>::open_or_create(home / "made"); }) == NEARPRINT_MISMATCH);

  std::vector<std::uint8_t> samples(3 * 64 * 48);
  for (std::size_t at = 0; at < samples.size(); at++) samples[at] = static_cast<std::uint8_t>(at / 3 * 7 ^ at / 192);
  const auto picture = nearprint::fingerprint_rgb("pdq", 64, 48, samples);
  CHECK(picture.fingerprint != print{} && picture.quality <= 100);
  CHECK(nearprint::fingerprint_rgb<std::uint64_t>("dhash", 64, 48, samples).fingerprint != 0);
  CHECK(thrown([&] { nearprint::fingerprint_rgb<std::uint64_t>("pdq", 64, 48, samples); }) == NEARPRINT_MISMATCH);
  CHECK(thrown([&] { nearprint::fingerprint_rgb("pdq", 64, 49, samples); }) == NEARPRINT_INVALID_ARGUMENT);
  CHECK(thrown([&] { nearprint::fingerprint_rgb("none", 64, 48, samples); }) == NEARPRINT_RECIPE);
  CHECK(thrown([&] { nearprint::fingerprint_picture("pdq", samples); }) == NEARPRINT_INVALID_ARGUMENT);
  CHECK(nearprint::status_name(NEARPRINT_BUSY) == "NEARPRINT_BUSY");
  CHECK(nearprint::version_number() == NEARPRINT_VERSION_NUMBER);
}

/// A damaged database: the places of verify(), and of the error of a query.
void damaged(const std::string& path) {
  {
    nearprint::builder<> builder(path);
    for (std::uint64_t at = 0; at < 5000; at++) builder.push(at * 0x9e3779b97f4a7c15u);
    builder.finish();
  }
  for (const auto& file : std::filesystem::directory_iterator(path)) {
    if (file.file_size() < 20000) continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(10000);
    bytes.write("damage", 6);
  }
  nearprint::database<> database(path);
  const nearprint::verification result = database.verify();
  CHECK(!result.damaged.empty() && result.damaged[0].file.find(path) != std::string::npos);
  try {
    for (const auto& row : database.snapshot().rows()) CHECK(row.id < 5000);
    CHECK(false);
  } catch (const nearprint::error& error) {
    CHECK(error.code() == NEARPRINT_CORRUPT && error.place()->offset > 0 && !error.place()->found.empty());
  }
}

/// What a writer does by itself reaches the function of the options, which lives as long as the writer.
void events(const std::string& path) {
  constexpr std::uint64_t rows = 900;
  std::vector<nearprint::event> seen;
  auto writer = [&] {
    nearprint::options options;
    options.memtable_rows = 100;
    options.foreground_merges = true;
    options.on_event = [&](const nearprint::event& event) { seen.push_back(event); };
    return nearprint::database<>::create(path, {}, options).writer();
  }();
  for (std::uint64_t row = 0; row < rows; row++) {
    writer.insert(row * 0x9e3779b97f4a7c15u, row);
    if (row % 50 == 0) writer.commit();
  }
  writer.close();
  std::uint64_t flushed = 0, runs = 0;
  const auto calls = seen.size();
  for (const auto& event : seen) {
    CHECK(event.kind == NEARPRINT_EVENT_FLUSH || event.kind == NEARPRINT_EVENT_MERGE);
    CHECK(event.bytes > 0 && event.took.count() > 0);
    if (event.kind == NEARPRINT_EVENT_FLUSH) flushed += event.rows;
    runs += 1 - (event.kind == NEARPRINT_EVENT_MERGE ? event.runs : 0);
  }
  /* The last commit is an hour ahead of the clock. */
  seen.clear();
  namespace fs = std::filesystem;
  fs::last_write_time(fs::path(path) / "MANIFEST", fs::file_time_type::clock::now() + std::chrono::hours(1));
  nearprint::options listening;
  listening.on_event = [&](const nearprint::event& event) { seen.push_back(event); };
  nearprint::database<>(path, listening).writer().close();
  CHECK(seen.size() == 1 && seen[0].kind == NEARPRINT_EVENT_CLOCK);
  CHECK(seen[0].last_commit > seen[0].now + std::chrono::minutes(50));
  const auto stats = nearprint::database<>(path).snapshot().stats();
  CHECK(flushed == rows && stats.rows == rows && stats.runs == runs && runs < calls);
}

// finish() opened what had this name in the folder of that moment.
void regression_a_builder_forgot_the_folder_of_its_path(const std::filesystem::path& home) {
  const auto before = std::filesystem::current_path();
  for (const char* name : {"one", "two"}) std::filesystem::create_directories(home / name);
  std::filesystem::current_path(home / "two");
  {
    nearprint::builder<> other("rows");
    other.push(111);
    other.finish();
  }
  std::filesystem::current_path(home / "one");
  nearprint::builder<> builder("rows");
  builder.push(222);
  std::filesystem::current_path(home / "two");
  const auto database = builder.finish();
  CHECK(database.snapshot().rows().next()->fingerprint == 222);
  std::filesystem::current_path(before);
}

// Nothing was deleted, without a word.
void regression_keys_were_deleted_where_there_are_none(const std::string& home) {
  nearprint::builder<> builder(home);
  builder.push({5, 6});
  auto database = builder.finish();
  auto writer = database.writer();
  CHECK(thrown([&] { writer.erase_key("k"); }) == NEARPRINT_NOT_STORED);
  CHECK(thrown([&] { writer.erase_keys({"k", "l"}); }) == NEARPRINT_NOT_STORED);
  CHECK(thrown([&] { writer.erase_key_prefix("k"); }) == NEARPRINT_NOT_STORED);
  CHECK(writer.erase_ids(0, 0) == 1);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string home = argv[1];
  every_width<std::uint64_t>(home + "/64");
  every_width<nearprint::fingerprint<128>>(home + "/128");
  every_width<nearprint::fingerprint<256>>(home + "/256");
  answers<std::uint64_t>(home + "/answers64");
  answers<nearprint::fingerprint<128>>(home + "/answers128");
  answers<nearprint::fingerprint<256>>(home + "/answers256");
  answers<nearprint::fingerprint<320>>(home + "/answers320");
  every_list(home + "/lists");
  moved_ranges();
  regression_a_builder_forgot_the_folder_of_its_path(home + "/folders");
  regression_keys_were_deleted_where_there_are_none(home + "/keyless");
  changes<std::uint64_t>(home + "/changes64");
  changes<nearprint::fingerprint<128>>(home + "/changes128");
  changes<nearprint::fingerprint<256>>(home + "/changes256");
  progress(home + "/progress");
  events(home + "/events");
  texts(home + "/texts");
  documents(home + "/documents");
  std::filesystem::create_directory(home + "/batches");
  batches(home + "/batches");
  damaged(home + "/damaged");
  CHECK(!nearprint::version().empty() && nearprint::abi_version() == NEARPRINT_ABI_VERSION);
  CHECK(thrown([&] { nearprint::database<> wide(home + "/256"); }) == NEARPRINT_MISMATCH);
  CHECK(thrown([&] { nearprint::database<> none(home + "/none"); }) == NEARPRINT_NOT_A_DATABASE);
  CHECK(thrown([&] { nearprint::fingerprinter<> wide("minhash"); }) == NEARPRINT_MISMATCH);
  CHECK(thrown([&] { nearprint::fingerprinter<> none("none"); }) == NEARPRINT_RECIPE);
  nearprint::fingerprinter<> shingles("simhash-py");
  CHECK(shingles("red car sale") == 0 && shingles.count_features("red car sale") == 0);
  CHECK(shingles.count_features("red car sale in town") == 2);
  { nearprint::builder<> abandoned(home + "/abandoned"); }
  CHECK(thrown([&] { nearprint::database<> none(home + "/abandoned"); }) == NEARPRINT_NOT_A_DATABASE);
  std::cout << "wrapper: all classes and widths\n";
}
