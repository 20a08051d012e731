// Databases and builders. Included by nearprint.hpp.

#ifndef NEARPRINT_DATABASE_HPP
#define NEARPRINT_DATABASE_HPP

#include <nearprint/core.hpp>
#include <nearprint/rows.hpp>
#include <nearprint/settings.hpp>
#include <nearprint/snapshot.hpp>
#include <nearprint/texts.hpp>
#include <nearprint/writer.hpp>

namespace nearprint {

/// The result of database::verify().
struct verification {
  /// The number of checked files.
  std::uint64_t files;
  /// The bytes of the files that could be opened.
  std::uint64_t bytes;
  /// The damaged places; none in a sound database.
  std::vector<damage> damaged;
};

/// What follower::update() has brought.
struct follower_update {
  /// The number of copied bytes.
  std::uint64_t bytes;
  /// Whether the folder has changed.
  bool changed;
};

/// A folder that follows a database: database::follow() makes it. It locks the folder, not the database.
class follower {
 public:
  explicit follower(nearprint_follower* opened) : handle_(opened) {}

  nearprint_follower* get() const noexcept { return handle_.get(); }

  /// Copies what was committed since.
  follower_update update() {
    std::uint64_t bytes = 0;
    std::int32_t changed = 0;
    detail::call(nearprint_follower_update, get(), &bytes, &changed);
    return {bytes, changed != 0};
  }

 private:
  detail::handle<nearprint_follower, nearprint_follower_free> handle_;
};

/// An open database.
template <typename F = std::uint64_t>
class database {
 public:
  /// Opens a database. Throws NEARPRINT_MISMATCH where its fingerprints have another width.
  explicit database(const path& path, const options& options = {}) : callbacks_(detail::own_callbacks(options)) {
    const nearprint_options given = detail::in(options, callbacks_);
    nearprint_database* opened = nullptr;
    detail::call(nearprint_database_open, path.data(), path.size(), &given, &opened);
    handle_.reset(opened);
    if (nearprint_database_width(opened) != detail::width<F>) {
      throw error(NEARPRINT_MISMATCH, path.string() + ": holds fingerprints of " +
                                          std::to_string(nearprint_database_width(opened)) + " bits, not of " +
                                          std::to_string(detail::width<F>) + " bits");
    }
  }

  /// Makes an empty database and opens it. The path must not exist, or be an empty folder.
  static database create(const path& path, const schema& schema = {}, const options& options = {}) {
    database created(detail::own_callbacks(options));
    const nearprint_schema stored = detail::in<F>(schema);
    const nearprint_options given = detail::in(options, created.callbacks_);
    nearprint_database* opened = nullptr;
    detail::call(nearprint_database_create, path.data(), path.size(), &stored, &given, &opened);
    created.handle_.reset(opened);
    return created;
  }

  /// Opens a database, or makes an empty one. One that exists keeps its own settings. Throws NEARPRINT_MISMATCH where
  /// its fingerprints have another width.
  static database open_or_create(const path& path, const schema& schema = {}, const options& options = {}) {
    database opened(detail::own_callbacks(options));
    const nearprint_schema wanted = detail::in<F>(schema);
    const nearprint_options given = detail::in(options, opened.callbacks_);
    nearprint_database* handle = nullptr;
    detail::call(nearprint_open_or_create, path.data(), path.size(), &wanted, &given, &handle);
    opened.handle_.reset(handle);
    return opened;
  }

  nearprint_database* get() const noexcept { return handle_.get(); }

  /// Everything that was committed so far in any process.
  nearprint::snapshot<F> snapshot() const {
    nearprint_snapshot* taken = nullptr;
    detail::call(nearprint_snapshot_take, get(), &taken);
    return nearprint::snapshot<F>(taken, callbacks_);
  }

  /// The writer. Throws NEARPRINT_LOCKED while there is another one.
  nearprint::writer<F> writer() const {
    nearprint_writer* opened = nullptr;
    detail::call(nearprint_writer_open, get(), &opened);
    return nearprint::writer<F>(opened, callbacks_);
  }

  /// A writer for several threads. Throws NEARPRINT_LOCKED while there is another one.
  nearprint::shared_writer<F> shared_writer() const {
    nearprint_shared_writer* opened = nullptr;
    detail::call(nearprint_shared_writer_open, get(), &opened);
    return nearprint::shared_writer<F>(opened, callbacks_);
  }

  /// Makes a folder that follows this database and brings it up to date, or goes on with one. Throws
  /// NEARPRINT_ALREADY_EXISTS for a folder that has anything else.
  nearprint::follower follow(const path& path) const {
    nearprint_follower* opened = nullptr;
    detail::call(nearprint_follower_open, get(), path.data(), path.size(), &opened);
    return nearprint::follower(opened);
  }

  /// Reads and checks every byte. Damage is no failure; the result lists it.
  verification verify() const {
    verification result = {};
    auto list = [&](const nearprint_damage& at) { result.damaged.push_back(detail::copy_of(at)); };
    using callback = detail::callback<decltype(list)>;
    callback call(list);
    const auto receive = [](void* context, const nearprint_damage* at) -> std::int32_t {
      return (*static_cast<callback*>(context))(*at);
    };
    nearprint_verification counts;
    nearprint_verification_init(&counts);
    call.call(nearprint_database_verify, get(), &counts, +receive, static_cast<void*>(&call));
    result.files = counts.files;
    result.bytes = counts.bytes;
    return result;
  }

 private:
  explicit database(detail::callbacks_owner callbacks) : callbacks_(std::move(callbacks)) {}

  detail::callbacks_owner callbacks_;
  detail::handle<nearprint_database, nearprint_database_free> handle_;
};

/// The width of the fingerprints of a database in bits: 64, 128, 256 or 320.
inline std::uint32_t width_of(const path& path) {
  nearprint_database* opened = nullptr;
  detail::call(nearprint_database_open, path.data(), path.size(), nullptr, &opened);
  const detail::handle<nearprint_database, nearprint_database_free> handle(opened);
  return nearprint_database_width(opened);
}

/// A database under construction. Destroying it before finish() removes it.
template <typename F = std::uint64_t>
class builder {
 public:
  /// Begins a database. `first_id` is the id of the first row that comes without one.
  explicit builder(const path& path, const schema& schema = {}, const options& options = {},
                   std::uint64_t first_id = 0)
      : options_(options), callbacks_(detail::own_callbacks(options)) {
    const nearprint_schema stored = detail::in<F>(schema);
    const nearprint_options given = detail::in(options, callbacks_);
    nearprint_builder* begun = nullptr;
    detail::call(nearprint_builder_new, path.data(), path.size(), &stored, &given, first_id, &begun);
    handle_.reset(begun);
    path_ = std::filesystem::absolute(path.string()).string();
  }

  nearprint_builder* get() const noexcept { return handle_.get(); }

  /// Adds a row and returns its id: the given one, or 1 + the largest so far.
  std::uint64_t push(const F& fingerprint, std::optional<std::uint64_t> id = std::nullopt) {
    std::uint64_t assigned = 0;
    detail::call(nearprint_builder_push, get(), detail::in(&fingerprint), detail::in(id), std::size_t{1}, &assigned);
    return assigned;
  }

  /// Adds rows with assigned ids, and returns the first id; 0 if there are no rows.
  std::uint64_t push(span<const F> fingerprints) {
    std::uint64_t first = 0;
    detail::call(nearprint_builder_push, get(), detail::in(fingerprints.data()), nullptr, fingerprints.size(), &first);
    return first;
  }

  /// Adds rows. Throws NEARPRINT_INVALID_ARGUMENT unless there is one id for each.
  void push(span<const F> fingerprints, span<const std::uint64_t> ids) {
    detail::check_lengths(fingerprints.size(), ids.size());
    detail::call(nearprint_builder_push, get(), detail::in(fingerprints.data()), ids.data(), ids.size(), nullptr);
  }

  std::uint64_t push(std::initializer_list<F> fingerprints) { return push(span<const F>(fingerprints)); }
  void push(std::initializer_list<F> fingerprints, std::initializer_list<std::uint64_t> ids) {
    push(span<const F>(fingerprints), span<const std::uint64_t>(ids));
  }

  /// Adds rows with keys and texts, and returns their ids.
  std::vector<std::uint64_t> push(const rows<F>& rows) { return rows.store(nearprint_builder_push_rows, get()); }

#ifndef NEARPRINT_NO_TEXTS
  /// Adds a document with what the database keeps of texts, and returns the id of its row.
  std::uint64_t push_document(fingerprinter<F>& fingerprinter, std::string_view key, std::string_view text) {
    std::uint64_t id = 0;
    detail::call(nearprint_builder_push_document, get(), fingerprinter.get(), detail::begin_of(key), key.size(),
                 text.data(), text.size(), &id);
    return id;
  }
#endif

  /// Adds a row with a key, and returns its id: the given one, or the 64-bit xxh3 of the key. The text
  /// is stored where the database stores texts.
  std::uint64_t push_keyed(const F& fingerprint, std::string_view key, std::string_view text = {},
                           std::optional<std::uint64_t> id = std::nullopt) {
    std::uint64_t assigned = 0;
    detail::call(nearprint_builder_push_keyed, get(), detail::in(&fingerprint), detail::in(id), detail::begin_of(key),
                 key.size(), text.data(), text.size(), &assigned);
    return assigned;
  }

  /// Writes everything and opens the database with the options of the builder.
  database<F> finish() {
    detail::call(nearprint_builder_finish, get());
    return database<F>(path_, options_);
  }

 private:
  std::string path_;
  options options_;
  detail::callbacks_owner callbacks_;
  detail::handle<nearprint_builder, nearprint_builder_free> handle_;
};

}  // namespace nearprint

#endif
