/* Checks a stream of fingerprints against everything seen before, in this run and in earlier ones.
 *
 *   check_stream DATABASE < FINGERPRINTS
 *
 * Prints `new` or the nearest earlier row for each line, and adds what is new to the database.
 */
#include <nearprint.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { K = 3, LINES_IN_A_COMMIT = 1000 };

/* Opens the database, or makes it where there is none. */
static nearprint_status open_or_create(const char *path, nearprint_database **database, nearprint_error *error) {
  nearprint_status status = nearprint_database_open(path, strlen(path), NULL, database, error);
  if (status == NEARPRINT_NOT_A_DATABASE) {
    status = nearprint_database_create(path, strlen(path), NULL, NULL, database, error);
  }
  return status;
}

/* Looks a fingerprint up among everything inserted so far, and inserts it if nothing is near. */
static nearprint_status check(nearprint_writer *writer, uint64_t fingerprint, nearprint_error *error) {
  uint64_t id;
  uint32_t distance;
  nearprint_columns nearest;
  nearprint_columns_init(&nearest);
  nearest.capacity = 1;
  nearest.ids = &id;
  nearest.distances = &distance;
  size_t count;
  nearprint_status status = nearprint_writer_query(writer, &fingerprint, K, &nearest, &count, error);
  if (status != NEARPRINT_OK) return status;
  if (count > 0) {
    printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\n", fingerprint, id, distance);
    return NEARPRINT_OK;
  }
  printf("%" PRIu64 "\tnew\n", fingerprint);
  return nearprint_writer_insert(writer, &fingerprint, NULL, 1, NULL, error);
}

static nearprint_status check_lines(nearprint_writer *writer, FILE *input, nearprint_error *error) {
  char line[128];
  for (size_t number = 1; fgets(line, sizeof line, input) != NULL; number++) {
    uint64_t fingerprint;
    nearprint_status status = nearprint_parse(64, line, strcspn(line, "\r\n"), &fingerprint, error);
    if (status == NEARPRINT_OK) status = check(writer, fingerprint, error);
    if (status == NEARPRINT_OK && number % LINES_IN_A_COMMIT == 0) status = nearprint_writer_commit(writer, error);
    if (status != NEARPRINT_OK) {
      fprintf(stderr, "line %zu: ", number);
      return status;
    }
  }
  return nearprint_writer_close(writer, error);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: check_stream DATABASE < FINGERPRINTS\n");
    return 2;
  }
  nearprint_error *error = nearprint_error_new();
  nearprint_database *database = NULL;
  nearprint_writer *writer = NULL;
  nearprint_status status = open_or_create(argv[1], &database, error);
  if (status == NEARPRINT_OK) status = nearprint_writer_open(database, &writer, error);
  if (status == NEARPRINT_OK) status = check_lines(writer, stdin, error);
  if (status != NEARPRINT_OK) fprintf(stderr, "%s\n", nearprint_error_message(error, NULL));
  nearprint_writer_free(writer);
  nearprint_database_free(database);
  nearprint_error_free(error);
  return status == NEARPRINT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
