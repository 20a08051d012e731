// nearprint.hpp: owned handles, exceptions, ranges, wide fingerprints.
//
//   wrapper FOLDER

#include <nearprint.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
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
  for (const auto& pair : nearprint::find_all(nearprint::span<const F>(prints), 1)) listed += pair.distance == 1;
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
  CHECK(thrown([&] { writer.insert(prints[0], "key"); }) == NEARPRINT_NOT_STORED);
  writer.close();
  CHECK(other.query(prints[0], 0).size() == 2);
  CHECK(other.refresh().query(prints[0], 0).size() == 1);
  CHECK(other.refresh().query(prints[2], 0).size() == 2);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string home = argv[1];
  every_width<std::uint64_t>(home + "/64");
  every_width<nearprint::fingerprint<128>>(home + "/128");
  every_width<nearprint::fingerprint<256>>(home + "/256");
  CHECK(thrown([&] { nearprint::database<> wide(home + "/256"); }) == NEARPRINT_MISMATCH);
  CHECK(thrown([&] { nearprint::database<> none(home + "/none"); }) == NEARPRINT_NOT_A_DATABASE);
  CHECK(thrown([&] { nearprint::fingerprinter<> wide("minhash"); }) == NEARPRINT_MISMATCH);
  CHECK(thrown([&] { nearprint::fingerprinter<> none("none"); }) == NEARPRINT_RECIPE);
  { nearprint::builder<> abandoned(home + "/abandoned"); }
  CHECK(thrown([&] { nearprint::database<> none(home + "/abandoned"); }) == NEARPRINT_NOT_A_DATABASE);
  std::cout << "wrapper: all widths\n";
}
