/* The child of a fork has copies of the handles of its parent. Using them fails, and neither freeing them nor an
 * exit that frees them releases the parent's lock or removes its files.
 *
 *   fork FOLDER
 */
#define _POSIX_C_SOURCE 200809L
#include <nearprint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, \
              nearprint_error_message(error, NULL));                                  \
      _exit(1);                                                                       \
    }                                                                                 \
  } while (0)
#define OK(call) CHECK((call) == NEARPRINT_OK)
#define FORKED(call)                                                              \
  do {                                                                            \
    CHECK((call) == NEARPRINT_FORKED);                                            \
    CHECK(strstr(nearprint_error_message(error, NULL), "before a fork") != NULL); \
  } while (0)
#define PATH(path) (path), strlen(path)

/* Rows of each part: one that is committed before the forks, and one after each of them. */
enum { PART = 700, FORKS = 4 };

static nearprint_error *error;
static nearprint_writer *writer;
static nearprint_builder *builder;
static nearprint_stream *stream;

static char database_path[4096], built_path[4096], staging_path[4096 + 16];

/* As a program frees what it has, whatever ends it. */
static void free_all(void) {
  nearprint_stream_free(stream);
  nearprint_builder_free(builder);
  nearprint_writer_free(writer);
  nearprint_error_free(error);
}

static void insert(uint64_t part) {
  uint64_t prints[PART];
  for (uint64_t row = 0; row < PART; row++) prints[row] = (part * PART + row) * 0x9e3779b97f4a7c15u;
  OK(nearprint_writer_insert(writer, prints, NULL, PART, NULL, error));
}

/* What a child does with the handles of its parent before it ends. */
static void use(int way) {
  uint64_t print = 1;
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = 1;
  size_t count;
  switch (way) {
    case 0:
      break;
    case 1:
      FORKED(nearprint_writer_insert(writer, &print, NULL, 1, NULL, error));
      FORKED(nearprint_writer_delete(writer, &print, 1, error));
      FORKED(nearprint_writer_commit(writer, error));
      FORKED(nearprint_writer_compact(writer, error));
      OK(nearprint_writer_query(writer, &print, 0, &columns, &count, error));
      FORKED(nearprint_writer_close(writer, error));
      break;
    case 2:
      OK(nearprint_builder_push(builder, &print, NULL, 1, NULL, error));
      FORKED(nearprint_builder_finish(builder, error));
      break;
    default:
      do {
        count = 0;
      } while (nearprint_stream_next(stream, &columns, &count, error) == NEARPRINT_OK && count > 0);
      CHECK(nearprint_error_code(error) == NEARPRINT_FORKED);
  }
}

static void end_of(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* No other process becomes the writer. */
static void check_lock(void) {
  pid_t other = fork();
  CHECK(other >= 0);
  if (other == 0) {
    nearprint_database *database;
    nearprint_writer *second;
    OK(nearprint_database_open(PATH(database_path), NULL, &database, error));
    CHECK(nearprint_writer_open(database, &second, error) == NEARPRINT_LOCKED);
    nearprint_builder *again;
    nearprint_schema schema;
    nearprint_schema_init(&schema);
    CHECK(nearprint_builder_new(PATH(built_path), &schema, NULL, 0, &again, error) == NEARPRINT_LOCKED);
    _exit(0);
  }
  end_of(other);
}

static uint64_t rows_of(const char *path) {
  nearprint_database *database;
  nearprint_snapshot *snapshot;
  nearprint_stats stats;
  nearprint_stats_init(&stats);
  OK(nearprint_database_open(PATH(path), NULL, &database, error));
  OK(nearprint_snapshot_take(database, &snapshot, error));
  OK(nearprint_snapshot_stats(snapshot, &stats, error));
  nearprint_snapshot_free(snapshot);
  nearprint_database_free(database);
  return stats.rows;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  error = nearprint_error_new();
  snprintf(database_path, sizeof database_path, "%s/fork", argv[1]);
  snprintf(built_path, sizeof built_path, "%s/built", argv[1]);
  snprintf(staging_path, sizeof staging_path, "%s.building", built_path);
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  nearprint_options options;
  nearprint_options_init(&options);
  options.memtable_rows = 64; /* Merges are at work on other threads. */
  nearprint_database *database;
  OK(nearprint_database_create(PATH(database_path), &schema, &options, &database, error));
  OK(nearprint_writer_open(database, &writer, error));
  insert(0);
  OK(nearprint_writer_commit(writer, error));
  OK(nearprint_builder_new(PATH(built_path), &schema, NULL, 0, &builder, error));
  uint64_t print = 5;
  OK(nearprint_builder_push(builder, &print, NULL, 1, NULL, error));
  nearprint_snapshot *snapshot;
  OK(nearprint_snapshot_take(database, &snapshot, error));
  OK(nearprint_snapshot_pairs(snapshot, 20, &stream, error));
  nearprint_snapshot_free(snapshot);
  nearprint_database_free(database);
  CHECK(atexit(free_all) == 0);

  for (int way = 0; way < FORKS; way++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      use(way);
      exit(0);
    }
    end_of(child);
    check_lock();
    insert((uint64_t)way + 1);
    OK(nearprint_writer_commit(writer, error));
  }
  struct stat found;
  CHECK(stat(staging_path, &found) == 0);
  OK(nearprint_builder_finish(builder, error));
  CHECK(rows_of(built_path) == 1);
  OK(nearprint_writer_close(writer, error));
  CHECK(rows_of(database_path) == PART * (FORKS + 1));
  puts("fork: everything holds");
  return 0;
}
