#include <nearprint.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "seen.np";
  const uint64_t fingerprints[] = {0x1f3a, 0x1f3b, 0xffff0000};
  uint64_t ids[8];
  uint32_t distances[8];
  size_t count = 0;
  nearprint_error *error = nearprint_error_new();
  nearprint_database *database = NULL;
  nearprint_writer *writer = NULL;
  nearprint_snapshot *snapshot = NULL;
  nearprint_columns near;
  nearprint_columns_init(&near);
  near.capacity = 8;
  near.ids = ids;
  near.distances = distances;

  nearprint_status status = nearprint_database_create(path, strlen(path), NULL, NULL, &database, error);
  if (status == NEARPRINT_OK) status = nearprint_writer_open(database, &writer, error);
  if (status == NEARPRINT_OK) status = nearprint_writer_insert(writer, fingerprints, NULL, 3, NULL, error);
  if (status == NEARPRINT_OK) status = nearprint_writer_close(writer, error);
  if (status == NEARPRINT_OK) status = nearprint_snapshot_take(database, &snapshot, error);
  if (status == NEARPRINT_OK) status = nearprint_snapshot_query(snapshot, fingerprints, 3, &near, &count, error);
  for (size_t row = 0; row < count && row < near.capacity; row++) {
    printf("row %llu, distance %u\n", (unsigned long long)ids[row], (unsigned)distances[row]);
  }
  if (status != NEARPRINT_OK) {
    fprintf(stderr, "%s: %s\n", nearprint_status_name(status), nearprint_error_message(error, NULL));
  }
  nearprint_snapshot_free(snapshot);
  nearprint_writer_free(writer);
  nearprint_database_free(database);
  nearprint_error_free(error);
  return status == NEARPRINT_OK ? 0 : 1;
}
