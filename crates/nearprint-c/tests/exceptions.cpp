// An exception that leaves a callback of the C interface ends the process: it neither reaches the caller, past handles
// that would stay in use, nor is it swallowed.
//
//   exceptions FOLDER

#include <nearprint.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      std::fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, nearprint_error_message(error, nullptr)); \
      _exit(1);                                                                                              \
    }                                                                                                        \
  } while (0)
#define OK(call) CHECK((call) == NEARPRINT_OK)

namespace {

nearprint_error *error;
const std::uint64_t PRINTS[] = {1, 3, 7};

std::int32_t matches(void *, std::size_t, std::size_t, const std::uint64_t *, const std::uint64_t *, const std::uint32_t *) {
  throw 1;
}
std::int32_t keyed(void *, std::size_t, const std::uint64_t *, std::uint64_t, std::uint32_t, const char *, std::size_t) {
  throw 1;
}
std::int32_t key(void *, const char *, std::size_t, const char *, std::size_t) { throw 1; }
std::int32_t damage(void *, const nearprint_damage *) { throw 1; }
std::int32_t progress(void *, nearprint_stage, std::uint64_t, std::uint64_t) { throw 1; }
void event(void *, const nearprint_event *) { throw 1; }

// Runs a function in a child, which SIGABRT has to end. The child exits with 0 if the function returns, and with 1 if it
// throws.
template <typename Function>
void aborts(Function function) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    try {
      function();
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

nearprint_database *open(const std::string &path, const nearprint_options *options) {
  nearprint_database *database;
  OK(nearprint_database_open(path.data(), path.size(), options, &database, error));
  return database;
}

void insert(const std::string &path, const nearprint_options *options) {
  nearprint_writer *writer;
  OK(nearprint_writer_open(open(path, options), &writer, error));
  OK(nearprint_writer_insert(writer, PRINTS, nullptr, 1, nullptr, error));
  OK(nearprint_writer_flush(writer, error));
}

void verify(const std::string &path, const nearprint_options *options, nearprint_damage_fn visit) {
  nearprint_verification verification;
  nearprint_verification_init(&verification);
  OK(nearprint_database_verify(open(path, options), &verification, visit, nullptr, error));
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  error = nearprint_error_new();
  const std::string path = std::string(argv[1]) + "/db";
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.keys = NEARPRINT_KEYS;
  nearprint_builder *builder;
  OK(nearprint_builder_new(path.data(), path.size(), &schema, nullptr, 0, &builder, error));
  const std::uint64_t id = 5;
  OK(nearprint_builder_push_keyed(builder, PRINTS, &id, "key", 3, nullptr, 0, nullptr, error));
  OK(nearprint_builder_finish(builder, error));
  nearprint_builder_free(builder);
  nearprint_snapshot *snapshot;
  OK(nearprint_snapshot_take(open(path, nullptr), &snapshot, error));

  aborts([&] { nearprint_snapshot_visit_matches(snapshot, PRINTS, 3, 3, 9, matches, nullptr, error); });
  aborts([&] { nearprint_snapshot_visit_keyed_matches(snapshot, PRINTS, 3, 3, 9, keyed, nullptr, error); });
  aborts([&] { nearprint_snapshot_visit_keys(snapshot, PRINTS, id, key, nullptr, error); });
  nearprint_options options;
  nearprint_options_init(&options);
  options.progress = progress;
  aborts([&] { verify(path, &options, nullptr); });
  nearprint_options_init(&options);
  options.on_event = event;
  aborts([&] { insert(path, &options); });
  const std::string damages = "printf damage | dd of='" + path + "/00000001-t0.seg' bs=1 seek=100 conv=notrunc 2> /dev/null";
  CHECK(std::system(damages.c_str()) == 0);
  aborts([&] { verify(path, nullptr, damage); });

  nearprint_snapshot_free(snapshot);
  nearprint_error_free(error);
  std::puts("exceptions: each ends the process");
}
