// What a new database is, and how handles work. Included by nearprint.hpp.

#ifndef NEARPRINT_SETTINGS_HPP
#define NEARPRINT_SETTINGS_HPP

#include <nearprint/core.hpp>

#include <algorithm>
#include <chrono>
#include <functional>

namespace nearprint {

/// What a new database is. The width comes from the type of its fingerprints.
struct schema {
  /// The distance in bits that the layout is tuned for. Queries may use any other.
  std::uint32_t k = 3;
  nearprint_keys keys = NEARPRINT_NO_KEYS;
  /// How the bits are split: `auto`, `fast`, `small`, `rotations:T`, `blocks:M,S` or `bands:BxN`.
  std::string layout = "auto";
  /// The recipe that makes the fingerprints; empty for none.
  std::string recipe = {};
  /// How long rows live; 0 for ever.
  std::chrono::milliseconds expire_after = {};
  /// Rows that are inserted in one period expire together; 0 for a tenth of their life.
  std::chrono::milliseconds expire_period = {};
};

/// Receives the progress of long operations: `done` of `total` units of a nearprint_stage. `total` is
/// UINT64_MAX while it is unknown. Returns whether the operation goes on. One that does not throws
/// NEARPRINT_STOPPED. An exception of the function cancels as `false` does.
///
/// It is called from several threads at once, as long as a handle lives that was made with it.
using progress_function = std::function<bool(std::int32_t stage, std::uint64_t done, std::uint64_t total)>;

/// What a writer has done besides what it was called for.
struct event {
  nearprint_event_kind kind = NEARPRINT_EVENT_OTHER;
  /// The number of runs that were made, merged or dropped; 0 of a stall and of a clock.
  std::uint64_t runs = 0;
  /// The rows of the new run, or of those that were dropped; 0 of a stall and of a clock.
  std::uint64_t rows = 0;
  /// The bytes of the new files; 0 of an expiry, of a stall and of a clock.
  std::uint64_t bytes = 0;
  /// How long it took; 0 of an expiry and of a clock.
  std::chrono::microseconds took = {};
  /// Of a clock, when the last commit was, and its own time, in seconds since 1970; else 0.
  std::chrono::seconds last_commit = {};
  std::chrono::seconds now = {};
};

/// Receives what writers do besides what they are called for, on the thread that calls the writer,
/// before that call returns. It must not use that writer. An exception of the function ends the
/// program: what the event reports has happened.
using event_function = std::function<void(const event& event)>;

/// How handles work. Nothing of it is stored.
struct options {
  /// The number of threads of one operation; 0 for all cores.
  std::size_t threads = 0;
  /// The memory of a build in bytes, 1 MiB or more; 0 for 1 GiB.
  std::size_t memory_bytes = 0;
  /// The number of operations that a writer gathers before it writes a run; 0 for 65,536, or 262,144 with a recipe.
  std::size_t memtable_rows = 0;
  /// Whether a writer merges runs inside of its flushes instead of on a thread of its own.
  bool foreground_merges = false;
  /// Whether a writer merges runs by itself; otherwise only in writer::compact().
  bool merges = true;
  /// The most bytes that each merge writes in a second; 0 for any number.
  std::uint64_t merge_bytes_per_second = 0;
  /// The longest log that a writer leaves when it closes, instead of a run; 0 for none.
  std::uint64_t keep_log_bytes = 0;
  /// How long a new writer waits for another one to end.
  std::chrono::milliseconds lock_wait = {};
  progress_function progress = {};
  event_function on_event = {};
};

namespace detail {

/// The functions of a handle, which live as long as all handles that may call them.
struct callbacks {
  progress_function progress;
  event_function on_event;
};

/// Shares functions among the handles whose threads call them. It is a member before the handle, which is freed first.
class callbacks_owner {
 public:
  callbacks_owner(std::nullptr_t = nullptr) {}
  explicit callbacks_owner(callbacks&& functions) : shared_(std::make_shared<const callbacks>(std::move(functions))) {}
  callbacks_owner(const callbacks_owner&) = default;
  callbacks_owner(callbacks_owner&&) noexcept = default;
  callbacks_owner& operator=(const callbacks_owner&) = default;
  /// Swaps: where a handle is assigned after its functions, the old one calls the old functions until it is freed.
  callbacks_owner& operator=(callbacks_owner&& other) noexcept {
    shared_.swap(other.shared_);
    return *this;
  }
  ~callbacks_owner() = default;
  const callbacks* get() const noexcept { return shared_.get(); }

 private:
  std::shared_ptr<const callbacks> shared_;
};

inline callbacks_owner own_callbacks(const options& options) {
  if (!options.progress && !options.on_event) return nullptr;
  return callbacks_owner(callbacks{options.progress, options.on_event});
}

inline std::int32_t report_progress(void* context, std::int32_t stage, std::uint64_t done,
                                    std::uint64_t total) noexcept {
  try {
    return static_cast<const callbacks*>(context)->progress(stage, done, total) ? 0 : 1;
  } catch (...) {
    return 1;
  }
}

inline void report_event(void* context, const nearprint_event* done) noexcept {
  static_cast<const callbacks*>(context)->on_event(
      event{done->kind, done->runs, done->rows, done->bytes, std::chrono::microseconds(done->microseconds),
            std::chrono::seconds(done->last_commit), std::chrono::seconds(done->now)});
}

inline nearprint_options in(const options& options, const callbacks_owner& owned) {
  nearprint_options given;
  nearprint_options_init(&given);
  given.threads = options.threads;
  given.memory_bytes = options.memory_bytes;
  given.memtable_rows = options.memtable_rows;
  given.foreground_merges = options.foreground_merges ? 1 : 0;
  given.lock_wait_milliseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(0, options.lock_wait.count()));
  given.merge_bytes_per_second = options.merge_bytes_per_second;
  given.keep_log_bytes = options.keep_log_bytes;
  given.no_merges = options.merges ? 0 : 1;
  given.progress = options.progress ? report_progress : nullptr;
  given.on_event = options.on_event ? report_event : nullptr;
  given.progress_context = given.event_context = const_cast<callbacks*>(owned.get());
  return given;
}

/// The schema in the form of nearprint.h, which points to the strings of `schema`.
template <typename F>
nearprint_schema in(const schema& schema) {
  nearprint_schema given;
  nearprint_schema_init(&given);
  given.width = width<F>;
  given.k = schema.k;
  given.keys = schema.keys;
  given.layout = schema.layout.data();
  given.layout_len = schema.layout.size();
  given.recipe = schema.recipe.empty() ? nullptr : schema.recipe.data();
  given.recipe_len = schema.recipe.size();
  if (schema.expire_after.count() < 0 || schema.expire_period.count() < 0) {
    throw error(NEARPRINT_INVALID_ARGUMENT, "expire_after, expire_period: a negative time");
  }
  given.expire_after_milliseconds = static_cast<std::uint64_t>(schema.expire_after.count());
  given.expire_period_milliseconds = static_cast<std::uint64_t>(schema.expire_period.count());
  return given;
}

}  // namespace detail
}  // namespace nearprint

#endif
