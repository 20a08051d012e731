/* A program that was compiled with an older header, tests/older/nearprint.h, whose structures are shorter: today's
 * library reads what is there, and writes nothing beyond it.
 *
 *   older FOLDER
 */
#include <nearprint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5000, AROUND = 256, UNTOUCHED = 0xa5 };

static nearprint_error *error;

#define CHECK(condition)                                                                                          \
  do {                                                                                                            \
    if (!(condition)) {                                                                                           \
      fprintf(stderr, "older.c:%d: %s (%s)\n", __LINE__, #condition, nearprint_error_message(error, NULL));       \
      exit(1);                                                                                                    \
    }                                                                                                             \
  } while (0)
#define OK(call) CHECK((call) == NEARPRINT_OK)
/* A structure, and bytes behind it that no call may change. */
#define GUARDED(type, name)                      \
  struct {                                       \
    type it;                                     \
    unsigned char behind[AROUND];                \
  } name;                                        \
  memset(&name, UNTOUCHED, sizeof name);         \
  type##_init(&name.it);                         \
  CHECK(name.it.struct_size == sizeof(type));    \
  CHECK_BEHIND(name)
#define CHECK_BEHIND(name) \
  for (size_t at = 0; at < AROUND; at++) CHECK((name).behind[at] == UNTOUCHED)

static int32_t note(void *context, const nearprint_damage *damage) {
  /* The library's own structure may be longer. */
  CHECK(damage->struct_size >= sizeof *damage && damage->found_len == strlen(damage->found));
  *(size_t *)context += 1;
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  error = nearprint_error_new();
  char path[4096], command[8192];
  snprintf(path, sizeof path, "%s/older.np", argv[1]);

  GUARDED(nearprint_schema, schema);
  CHECK(schema.it.width == 64 && schema.it.k == 3 && schema.it.keys == NEARPRINT_NO_KEYS && schema.it.layout == NULL);
  GUARDED(nearprint_options, options);
  options.it.threads = 2;
  schema.it.width = 128;
  nearprint_builder *builder;
  OK(nearprint_builder_new(path, strlen(path), &schema.it, &options.it, 0, &builder, error));
  for (uint64_t row = 0; row < ROWS; row++) {
    const uint64_t fingerprint[2] = {row * 0x9e3779b97f4a7c15u, row};
    OK(nearprint_builder_push(builder, fingerprint, NULL, 1, NULL, error));
  }
  OK(nearprint_builder_finish(builder, error));
  nearprint_builder_free(builder);
  CHECK_BEHIND(schema);
  CHECK_BEHIND(options);

  nearprint_database *database;
  nearprint_snapshot *snapshot;
  OK(nearprint_database_open(path, strlen(path), &options.it, &database, error));
  OK(nearprint_snapshot_take(database, &snapshot, error));
  GUARDED(nearprint_stats, stats);
  OK(nearprint_snapshot_stats(snapshot, &stats.it, error));
  CHECK(stats.it.rows == ROWS && stats.it.width == 128 && stats.it.struct_size == sizeof stats.it);
  CHECK_BEHIND(stats);

  const uint64_t looked_up[2] = {3 * 0x9e3779b97f4a7c15u, 3};
  uint64_t id;
  size_t count;
  GUARDED(nearprint_columns, columns);
  columns.it.capacity = 1;
  columns.it.ids = &id;
  OK(nearprint_snapshot_query(snapshot, looked_up, 3, &columns.it, &count, error));
  CHECK(count == 1 && id == 3);
  CHECK_BEHIND(columns);
  /* A size that was not set is no size. */
  columns.it.struct_size = 0;
  CHECK(nearprint_snapshot_query(snapshot, looked_up, 3, &columns.it, &count, error) == NEARPRINT_INVALID_ARGUMENT);
  CHECK(strstr(nearprint_error_message(error, NULL), "columns.struct_size: 0") != NULL);

  /* Damage: counts, places, and the place of a failed call. */
  snprintf(command, sizeof command,
           "for file in '%s'/*.seg; do printf damage | dd of=\"$file\" bs=1 seek=4200 conv=notrunc 2> /dev/null; done",
           path);
  CHECK(system(command) == 0);
  GUARDED(nearprint_verification, verification);
  size_t places = 0;
  OK(nearprint_database_verify(database, &verification.it, note, &places, error));
  CHECK(places > 0 && verification.it.damaged == places);
  CHECK_BEHIND(verification);
  nearprint_snapshot_free(snapshot);
  CHECK(nearprint_snapshot_take(database, &snapshot, error) == NEARPRINT_CORRUPT);
  GUARDED(nearprint_damage, damage);
  CHECK(nearprint_error_damage(error, &damage.it) == 1 && strstr(damage.it.file, "older.np") != NULL);
  CHECK_BEHIND(damage);

  nearprint_database_free(database);
  nearprint_error_free(error);
  puts("older: structures of an older header");
  return 0;
}
