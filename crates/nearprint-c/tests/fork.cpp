// The child of a fork that exits destroys copies of its parent's static objects, and nothing else.
//
//   fork FOLDER

#include <nearprint.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      std::cerr << __FILE__ << ':' << __LINE__ << ": " << #condition << '\n'; \
      _exit(1);                                                               \
    }                                                                         \
  } while (0)

namespace {

// Destroyed by exit().
std::optional<nearprint::writer<>> writer;
std::optional<nearprint::builder<>> builder;

template <typename Function>
nearprint_status thrown(Function function) {
  try {
    function();
  } catch (const nearprint::error& error) {
    return error.code();
  }
  return NEARPRINT_OK;
}

// Runs a function in a child, which then exits as a program does.
template <typename Function>
void in_child(Function function) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    function();
    std::exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string path = std::string(argv[1]) + "/fork", built = std::string(argv[1]) + "/built";
  {
    const auto database = nearprint::database<>::create(path);
    writer.emplace(database.writer());
  }
  writer->insert(1);
  writer->commit();
  builder.emplace(built);
  builder->push(5);

  in_child([] {});
  in_child([] {
    CHECK(thrown([] { writer->insert(2); }) == NEARPRINT_FORKED);
    CHECK(thrown([] { writer->commit(); }) == NEARPRINT_FORKED);
    writer.reset();
    CHECK(thrown([] { builder->finish(); }) == NEARPRINT_FORKED);
  });
  in_child([&] { CHECK(thrown([&] { nearprint::database<>(path).writer(); }) == NEARPRINT_LOCKED); });

  CHECK(std::filesystem::exists(built + ".building"));
  CHECK(builder->finish().snapshot().stats().rows == 1);
  writer->insert(3);
  writer->commit();
  writer->close();
  writer.emplace(nearprint::database<>(path).writer());
  writer.reset();
  CHECK(nearprint::database<>(path).snapshot().stats().rows == 2);
  std::cout << "fork: everything holds\n";
}
