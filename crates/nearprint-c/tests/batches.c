/* Batches of rows with keys, documents, deduplication, deletions, rollback, expiry, events, keys of streams, writers of
 * several threads.
 * Answers are compared with what the rows say.
 *
 *   batches FOLDER
 */
#define _POSIX_C_SOURCE 200809L
#include <nearprint.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                            \
  do {                                                                                                              \
    if (!(condition)) {                                                                                             \
      fprintf(stderr, "batches.c:%d: %s (%s)\n", __LINE__, #condition, nearprint_error_message(error, NULL));       \
      exit(1);                                                                                                      \
    }                                                                                                               \
  } while (0)
#define OK(call) CHECK((call) == NEARPRINT_OK)
#define FAILS(call, code, part)                                        \
  do {                                                                 \
    CHECK((call) == (code));                                           \
    CHECK(strstr(nearprint_error_message(error, NULL), part) != NULL); \
  } while (0)
#define TEXT(text) (text), strlen(text)

enum { ROWS = 40, WORDS = 2 };

static nearprint_error *error;
static const char *home;
static char path_buffer[4096];
static const char *in_home(const char *name) {
  snprintf(path_buffer, sizeof path_buffer, "%s/%s", home, name);
  return path_buffer;
}

/* Rows whose fingerprints differ in many bits, but for the last two. The keys are `key NUMBER`. */
static uint64_t fingerprints[ROWS * WORDS];
static char keys[ROWS][16];
static const char *key_starts[ROWS];
static size_t key_lens[ROWS];
static nearprint_rows rows_of(size_t count) {
  nearprint_rows rows;
  nearprint_rows_init(&rows);
  rows.count = count;
  rows.fingerprints = fingerprints;
  rows.keys = key_starts;
  rows.key_lens = key_lens;
  return rows;
}
static void fill(void) {
  for (uint64_t row = 0; row < ROWS; row++) {
    fingerprints[row * WORDS] = (row + 1) * 0x9e3779b97f4a7c15u;
    fingerprints[row * WORDS + 1] = (row + 1) * 0xc2b2ae3d27d4eb4fu;
    key_lens[row] = (size_t)snprintf(keys[row], sizeof keys[row], "key %d", (int)row);
    key_starts[row] = keys[row];
  }
  memcpy(fingerprints + (ROWS - 1) * WORDS, fingerprints + (ROWS - 2) * WORDS, WORDS * 8);
  fingerprints[(ROWS - 1) * WORDS] ^= 5;
}

static nearprint_database *create(const char *name, nearprint_schema *schema) {
  nearprint_database *database;
  OK(nearprint_database_create(TEXT(in_home(name)), schema, NULL, &database, error));
  return database;
}
static nearprint_writer *writer_of(nearprint_database *database) {
  nearprint_writer *writer;
  OK(nearprint_writer_open(database, &writer, error));
  return writer;
}
static nearprint_snapshot *snapshot_of(nearprint_database *database) {
  nearprint_snapshot *snapshot;
  OK(nearprint_snapshot_take(database, &snapshot, error));
  return snapshot;
}
static uint64_t rows_in(nearprint_database *database) {
  nearprint_snapshot *snapshot = snapshot_of(database);
  nearprint_stream *stream;
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = 7;
  OK(nearprint_snapshot_rows(snapshot, &stream, error));
  uint64_t rows = 0;
  size_t count;
  do {
    OK(nearprint_stream_next(stream, &columns, &count, error));
    rows += count;
  } while (count > 0);
  nearprint_stream_free(stream);
  nearprint_snapshot_free(snapshot);
  return rows;
}

/* Keys of a stream, for every query its own row with its key. Blocks of several sizes. */
static void keys_of_streams(nearprint_snapshot *snapshot, size_t capacity) {
  CHECK(nearprint_snapshot_key_storage(snapshot) == NEARPRINT_KEYS && nearprint_snapshot_key_storage(NULL) == 0);
  nearprint_stream *stream;
  const char *found[ROWS];
  size_t lens[ROWS], count, total = 0;
  uint64_t groups[ROWS];
  uint32_t distances[ROWS];
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = capacity;
  columns.groups = groups;
  columns.distances = distances;
  columns.keys = found;
  columns.key_lens = lens;
  OK(nearprint_snapshot_matches(snapshot, fingerprints, ROWS, 0, SIZE_MAX, &stream, error));
  FAILS(nearprint_stream_next(stream, &columns, &count, error), NEARPRINT_INVALID_ARGUMENT, "columns.keys");
  nearprint_stream_free(stream);
  nearprint_snapshot *view;
  OK(nearprint_snapshot_with_keys(snapshot, &view, error));
  OK(nearprint_snapshot_matches(view, fingerprints, ROWS, 0, SIZE_MAX, &stream, error));
  nearprint_snapshot_free(view);
  do {
    OK(nearprint_stream_next(stream, &columns, &count, error));
    for (size_t at = 0; at < count; at++, total++) {
      CHECK(groups[at] == total && distances[at] == 0);
      CHECK(lens[at] == key_lens[total] && memcmp(found[at], keys[total], lens[at]) == 0);
    }
  } while (count > 0);
  CHECK(total == ROWS);
  nearprint_stream_free(stream);
  /* The results of single queries have no keys. */
  FAILS(nearprint_snapshot_query(snapshot, fingerprints, 0, &columns, &count, error), NEARPRINT_INVALID_ARGUMENT,
        "columns.");
}

static void batches(void) {
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.width = 128;
  schema.keys = NEARPRINT_KEYS;
  nearprint_database *database = create("batches.np", &schema);
  nearprint_writer *writer = writer_of(database);
  nearprint_rows rows = rows_of(ROWS);
  uint64_t ids[ROWS], again[ROWS], deleted;
  OK(nearprint_writer_insert_rows(writer, &rows, ids, error));
  OK(nearprint_writer_upsert_rows(writer, &rows, again, error));
  CHECK(memcmp(ids, again, sizeof ids) == 0 && ids[0] != ids[1]);
  rows.key_lens = NULL;
  FAILS(nearprint_writer_insert_rows(writer, &rows, NULL, error), NEARPRINT_INVALID_ARGUMENT, "rows.key_lens");
  rows = rows_of(2);
  const char *bad[2] = {"good", "Caf\xe9"};
  const size_t bad_lens[2] = {4, 4};
  rows.keys = bad;
  rows.key_lens = bad_lens;
  FAILS(nearprint_writer_insert_rows(writer, &rows, NULL, error), NEARPRINT_INVALID_ARGUMENT, "number 1 is not UTF-8");
  // A stream gives a null pointer for a row without a key. It became an empty key.
  bad[1] = NULL;
  const size_t no_lens[2] = {4, 0};
  rows.key_lens = no_lens;
  FAILS(nearprint_writer_insert_rows(writer, &rows, NULL, error), NEARPRINT_INVALID_ARGUMENT, "number 1 is a null pointer");
  bad[1] = "Caf\xe9";
  rows = rows_of(1);
  rows.texts = bad;
  rows.text_lens = bad_lens;
  FAILS(nearprint_writer_insert_rows(writer, &rows, NULL, error), NEARPRINT_NOT_STORED, "batches.np");
  OK(nearprint_writer_commit(writer, error));
  CHECK(rows_in(database) == ROWS);

  nearprint_snapshot *snapshot = snapshot_of(database);
  nearprint_stats stats;
  nearprint_stats_init(&stats);
  OK(nearprint_snapshot_stats(snapshot, &stats, error));
  CHECK(stats.keys == NEARPRINT_KEYS && stats.expire_after_milliseconds == 0 && stats.has_expired == 0);
  for (size_t capacity = 1; capacity <= ROWS; capacity += 13) keys_of_streams(snapshot, capacity);

  /* Queries of a writer. */
  uint64_t groups[2 * ROWS], found[2 * ROWS];
  size_t count;
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = 2 * ROWS;
  columns.groups = groups;
  columns.ids = found;
  OK(nearprint_writer_query_batch(writer, fingerprints, ROWS, 3, SIZE_MAX, &columns, &count, error));
  CHECK(count == ROWS + 2 && groups[ROWS] == ROWS - 1);
  columns.groups = NULL;
  columns.capacity = 2;
  OK(nearprint_writer_nearest(writer, fingerprints + (ROWS - 1) * WORDS, 128, &columns, &count, error));
  CHECK(count == 2 && found[0] == ids[ROWS - 1] && found[1] == ids[ROWS - 2]);

  /* Rows that are new, and rows that meet others: of the database, and of the call. */
  uint64_t near[4 * WORDS], outcome[4], met_groups[4], met_ids[4];
  uint32_t met_distances[4];
  memcpy(near, fingerprints, WORDS * 8);
  near[0] ^= 3;
  near[2] = 1, near[3] = 2, near[4] = 1, near[5] = 3, near[6] = UINT64_MAX, near[7] = 0;
  nearprint_rows fresh;
  nearprint_rows_init(&fresh);
  fresh.count = 4;
  fresh.fingerprints = near;
  nearprint_columns met;
  nearprint_columns_init(&met);
  met.capacity = 4;
  met.groups = met_groups;
  met.ids = met_ids;
  met.distances = met_distances;
  OK(nearprint_writer_insert_if_new(writer, &fresh, 3, outcome, &met, &count, error));
  CHECK(count == 2 && met_groups[0] == 0 && met_ids[0] == ids[0] && met_distances[0] == 2 && outcome[0] == ids[0]);
  CHECK(met_groups[1] == 2 && met_ids[1] == outcome[1] && met_distances[1] == 1 && outcome[2] == outcome[1]);
  OK(nearprint_writer_insert_if_new(writer, &fresh, 3, NULL, NULL, &count, error));
  CHECK(count == 4);
  OK(nearprint_writer_insert_if_new(writer, &fresh, 3, NULL, NULL, NULL, error));
  OK(nearprint_writer_rollback(writer, error));
  OK(nearprint_writer_commit(writer, error));
  CHECK(rows_in(database) == ROWS);

  /* Deletions: two keys, those that begin with "key 1", and a range of ids. */
  OK(nearprint_writer_delete_keys(writer, key_starts + 2, key_lens + 2, 2, &deleted, error));
  CHECK(deleted == 2);
  FAILS(nearprint_writer_delete_keys(writer, NULL, key_lens, 2, &deleted, error), NEARPRINT_INVALID_ARGUMENT, "keys");
  /* These were the empty key. */
  const char *nulls[1] = {NULL};
  const size_t ends[1] = {(size_t)-1};
  FAILS(nearprint_writer_delete_keys(writer, nulls, ends, 1, &deleted, error), NEARPRINT_INVALID_ARGUMENT,
        "keys: number 0 is a null pointer");
  FAILS(nearprint_writer_delete_keys(writer, nulls, NULL, 1, &deleted, error), NEARPRINT_INVALID_ARGUMENT, "key_lens");
  FAILS(nearprint_writer_delete_keys(writer, nulls, no_lens + 1, 1, &deleted, error), NEARPRINT_INVALID_ARGUMENT,
        "keys: number 0 is a null pointer");
  OK(nearprint_writer_delete_key_prefix(writer, TEXT("key 1"), &deleted, error));
  CHECK(deleted == 11);
  OK(nearprint_writer_delete_ids(writer, ids[5], ids[5], &deleted, error));
  CHECK(deleted == 1);
  OK(nearprint_writer_close(writer, error));
  nearprint_writer_free(writer);
  CHECK(rows_in(database) == ROWS - 14);

  /* A copy that shares files with an earlier one. */
  char first[4096];
  strcpy(first, in_home("copy1.np"));
  uint64_t shared = 1;
  nearprint_snapshot_free(snapshot);
  snapshot = snapshot_of(database);
  OK(nearprint_snapshot_backup_with(snapshot, TEXT(first), NULL, 0, &shared, error));
  CHECK(shared == 0);
  OK(nearprint_snapshot_backup_with(snapshot, TEXT(in_home("copy2.np")), TEXT(first), &shared, error));
  CHECK(shared > 0);
  nearprint_snapshot_free(snapshot);

  /* A folder that follows. */
  nearprint_follower *follower;
  char second[4096];
  strcpy(second, in_home("second.np"));
  OK(nearprint_follower_open(database, TEXT(second), &follower, error));
  uint64_t bytes = 1;
  int32_t changed = 1;
  OK(nearprint_follower_update(follower, &bytes, &changed, error));
  CHECK(bytes == 0 && changed == 0);
  OK(nearprint_writer_open(database, &writer, error));
  OK(nearprint_writer_delete_ids(writer, ids[6], ids[6], &deleted, error));
  OK(nearprint_writer_close(writer, error));
  nearprint_writer_free(writer);
  OK(nearprint_follower_update(follower, &bytes, &changed, error));
  CHECK(bytes > 0 && changed == 1);
  OK(nearprint_follower_update(follower, NULL, NULL, error));
  nearprint_follower *another;
  FAILS(nearprint_follower_open(database, TEXT(second), &another, error), NEARPRINT_LOCKED, "second.np");
  FAILS(nearprint_follower_open(database, TEXT(first), &another, error), NEARPRINT_ALREADY_EXISTS, "copy1.np");
  CHECK(another == NULL);
  nearprint_follower_free(follower);
  nearprint_database *copy;
  OK(nearprint_database_open(TEXT(second), NULL, &copy, error));
  CHECK(rows_in(copy) == ROWS - 15);
  nearprint_database_free(copy);
  nearprint_database_free(database);

  nearprint_builder *builder;
  OK(nearprint_builder_new(TEXT(in_home("built.np")), &schema, NULL, 0, &builder, error));
  rows = rows_of(ROWS);
  OK(nearprint_builder_push_rows(builder, &rows, again, error));
  CHECK(memcmp(ids, again, sizeof ids) == 0);
  OK(nearprint_builder_finish(builder, error));
  nearprint_builder_free(builder);
}

/* Rows that expire, and settings of lifetimes that cannot be. */
static void expiry(void) {
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  nearprint_database *database;
  schema.expire_period_milliseconds = 1000;
  FAILS(nearprint_database_create(TEXT(in_home("none.np")), &schema, NULL, &database, error),
        NEARPRINT_INVALID_ARGUMENT, "without a lifetime");
  schema.expire_after_milliseconds = 3600000;
  schema.expire_period_milliseconds = 1;
  FAILS(nearprint_database_create(TEXT(in_home("none.np")), &schema, NULL, &database, error),
        NEARPRINT_INVALID_ARGUMENT, "3600000");
  schema.expire_period_milliseconds = 60000;
  database = create("expiring.np", &schema);
  nearprint_snapshot *snapshot = snapshot_of(database);
  nearprint_stats stats;
  nearprint_stats_init(&stats);
  OK(nearprint_snapshot_stats(snapshot, &stats, error));
  CHECK(stats.expire_after_milliseconds == 3600000);
  nearprint_snapshot_free(snapshot);
  nearprint_database_free(database);

  schema.expire_after_milliseconds = 1;
  schema.expire_period_milliseconds = 1;
  database = create("expired.np", &schema);
  nearprint_writer *writer = writer_of(database);
  OK(nearprint_writer_insert(writer, fingerprints, NULL, 3, NULL, error));
  OK(nearprint_writer_close(writer, error));
  nearprint_writer_free(writer);
  /* Closing has taken longer than a millisecond, or the next snapshot will. */
  while (rows_in(database) > 0) {
  }
  nearprint_database_free(database);
}

/* What a function for events has received. */
typedef struct {
  nearprint_writer *writer;
  uint64_t calls, flushed, runs, dropped_rows, dropped_runs;
} events_seen;

static void on_event(void *context, const nearprint_event *event) {
  events_seen *seen = context;
  CHECK(event->struct_size >= sizeof *event);
  /* The writer is in use. */
  CHECK(nearprint_writer_commit(seen->writer, NULL) == NEARPRINT_BUSY);
  seen->calls++;
  switch (event->kind) {
    case NEARPRINT_EVENT_FLUSH:
      CHECK(event->runs == 1 && event->bytes > 0 && event->microseconds > 0);
      seen->flushed += event->rows;
      seen->runs++;
      break;
    case NEARPRINT_EVENT_MERGE:
      CHECK(event->runs > 1 && event->rows > 0 && event->bytes > 0);
      seen->runs -= event->runs - 1;
      break;
    case NEARPRINT_EVENT_EXPIRY:
      CHECK(event->runs > 0 && event->bytes == 0 && event->microseconds == 0);
      seen->dropped_rows += event->rows;
      seen->dropped_runs += event->runs;
      break;
    default:
      CHECK(event->kind == NEARPRINT_EVENT_STALL && event->rows == 0);
  }
}

/* Events of a writer add up to what is stored. Their function and its context come with the options. */
static void events(uint64_t lifetime_milliseconds) {
  events_seen seen;
  memset(&seen, 0, sizeof seen);
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.width = 64 * WORDS;
  schema.expire_after_milliseconds = schema.expire_period_milliseconds = lifetime_milliseconds;
  nearprint_options options;
  nearprint_options_init(&options);
  CHECK(options.on_event == NULL && options.event_context == NULL);
  options.memtable_rows = 10;
  options.foreground_merges = 1;
  options.on_event = on_event;
  options.event_context = &seen;
  nearprint_database *database;
  const char *path = in_home(lifetime_milliseconds > 0 ? "dropped.np" : "events.np");
  OK(nearprint_database_create(TEXT(path), &schema, &options, &database, error));
  nearprint_writer *writer = seen.writer = writer_of(database);
  /* Until runs have expired, if they do. */
  do {
    for (size_t row = 0; row < ROWS; row += 5) {
      OK(nearprint_writer_insert(writer, fingerprints + row * WORDS, NULL, 5, NULL, error));
      OK(nearprint_writer_commit(writer, error));
    }
    OK(nearprint_writer_flush(writer, error));
  } while (lifetime_milliseconds > 0 && seen.dropped_runs == 0);
  OK(nearprint_writer_close(writer, error));
  nearprint_writer_free(writer);
  nearprint_snapshot *snapshot = snapshot_of(database);
  nearprint_stats stats;
  nearprint_stats_init(&stats);
  OK(nearprint_snapshot_stats(snapshot, &stats, error));
  CHECK(seen.calls > 3 && seen.dropped_rows <= seen.flushed && seen.dropped_runs <= seen.runs);
  CHECK(lifetime_milliseconds > 0 || (seen.flushed == ROWS && stats.rows == ROWS && stats.runs == seen.runs));
  nearprint_snapshot_free(snapshot);
  nearprint_database_free(database);
}

/* Documents with their features: exact similarities, of texts and of what is stored. */
static void documents(void) {
  const char *texts[3] = {"one two three four five six", "one two three four five seven", "something else entirely, here"};
  const char *names[3] = {"a", "b", "c"};
  nearprint_fingerprinter *maker, *other;
  OK(nearprint_fingerprinter_new(TEXT("minhash"), &maker, error));
  OK(nearprint_fingerprinter_new(TEXT("minhash shingle=1"), &other, error));
  double similarity, estimate;
  OK(nearprint_fingerprinter_similarity(maker, TEXT(texts[0]), TEXT(texts[1]), &similarity, error));
  CHECK(similarity == 0.6); /* 3 of 5 shingles of three words. */
  OK(nearprint_fingerprinter_similarity(maker, TEXT(""), TEXT(""), &similarity, error));
  CHECK(similarity == 0);
  /* Other recipes had 0 for all texts. */
  nearprint_fingerprinter *simhash;
  OK(nearprint_fingerprinter_new(TEXT("simhash"), &simhash, error));
  OK(nearprint_fingerprinter_similarity(simhash, TEXT(texts[0]), TEXT(texts[1]), &similarity, error));
  CHECK(similarity == 0.6);
  nearprint_fingerprinter_free(simhash);
  uint64_t one[4], two[4];
  uint32_t distance;
  OK(nearprint_fingerprinter_fingerprint(maker, TEXT(texts[0]), one, error));
  OK(nearprint_fingerprinter_fingerprint(maker, TEXT(texts[1]), two, error));
  OK(nearprint_fingerprinter_distance(maker, one, one, &distance, error));
  CHECK(distance == 0);
  OK(nearprint_fingerprinter_estimate(maker, distance, &estimate, error));
  CHECK(estimate == 1);
  OK(nearprint_fingerprinter_distance(maker, one, two, &distance, error));
  OK(nearprint_fingerprinter_estimate(maker, distance, &estimate, error));
  CHECK(distance > 0 && estimate > 0.2 && estimate < 1);

  char recipe[512], layout[64];
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.width = 256;
  schema.k = nearprint_fingerprinter_default_k(maker);
  OK(nearprint_fingerprinter_recipe(maker, recipe, sizeof recipe, &schema.recipe_len, error));
  OK(nearprint_fingerprinter_layout(maker, layout, sizeof layout, &schema.layout_len, error));
  schema.recipe = recipe;
  schema.layout = layout;
  const nearprint_keys kept[2] = {NEARPRINT_KEYS_AND_FEATURES, NEARPRINT_KEYS_AND_TEXTS};
  for (int which = 0; which < 2; which++) {
    schema.keys = kept[which];
    nearprint_builder *builder;
    const char *name = which == 0 ? "features.np" : "texts.np";
    OK(nearprint_builder_new(TEXT(in_home(name)), &schema, NULL, 0, &builder, error));
    OK(nearprint_builder_push_document(builder, maker, TEXT(names[0]), TEXT(texts[0]), NULL, error));
    OK(nearprint_builder_finish(builder, error));
    nearprint_builder_free(builder);
    nearprint_database *database;
    OK(nearprint_database_open(TEXT(in_home(name)), NULL, &database, error));
    nearprint_writer *writer = writer_of(database);
    uint64_t id = 0;
    for (int at = 1; at < 3; at++) {
      OK(nearprint_writer_insert_document(writer, maker, TEXT(names[at]), TEXT(texts[at]), &id, error));
    }
    FAILS(nearprint_writer_insert_document(writer, other, TEXT("d"), TEXT("text"), &id, error), NEARPRINT_MISMATCH,
          "its recipe is");
    OK(nearprint_writer_close(writer, error));
    nearprint_writer_free(writer);

    nearprint_snapshot *snapshot = snapshot_of(database);
    CHECK(nearprint_snapshot_key_storage(snapshot) == kept[which]);
    nearprint_stream *stream;
    double similarities[4];
    const char *first[4], *second[4];
    size_t count;
    nearprint_columns columns;
    nearprint_columns_init(&columns);
    columns.capacity = 4;
    columns.similarities = similarities;
    columns.keys = first;
    columns.other_keys = second;
    OK(nearprint_snapshot_similar_pairs(snapshot, 0.5, &stream, error));
    OK(nearprint_stream_next(stream, &columns, &count, error));
    CHECK(count == 1 && similarities[0] == 0.6 && (*first[0] ^ *second[0]) == ('a' ^ 'b'));
    nearprint_stream_free(stream);
    nearprint_snapshot_free(snapshot);
    nearprint_database_free(database);
  }
  nearprint_fingerprinter_free(other);
  nearprint_fingerprinter_free(maker);
}

enum { THREADS = 4, EACH = 25 };
typedef struct {
  nearprint_shared_writer *writer;
  int new_rows;
} job;

/* Inserts the same rows as every other thread. */
static void *insert_all(void *argument) {
  job *own = argument;
  for (int row = 0; row < EACH; row++) {
    nearprint_rows rows = rows_of(1);
    rows.fingerprints = fingerprints + row * WORDS;
    rows.keys = NULL;
    int32_t is_new = 7;
    uint64_t id;
    if (nearprint_shared_writer_insert_if_new(own->writer, &rows, 3, &is_new, &id, NULL) != NEARPRINT_OK) return NULL;
    own->new_rows += is_new;
  }
  return own;
}

static void threads(void) {
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.width = 128;
  nearprint_database *database = create("shared.np", &schema);
  nearprint_shared_writer *writer;
  OK(nearprint_shared_writer_open(database, &writer, error));
  pthread_t running[THREADS];
  job jobs[THREADS];
  for (int at = 0; at < THREADS; at++) {
    jobs[at] = (job){writer, 0};
    CHECK(pthread_create(&running[at], NULL, insert_all, &jobs[at]) == 0);
  }
  int new_rows = 0;
  for (int at = 0; at < THREADS; at++) {
    void *done;
    CHECK(pthread_join(running[at], &done) == 0 && done == &jobs[at]);
    new_rows += jobs[at].new_rows;
  }
  /* Whatever the threads did: each row once. They are durable before the writer is closed. */
  CHECK(new_rows == EACH && rows_in(database) == EACH);
  nearprint_rows rows = rows_of(2);
  rows.keys = NULL;
  const uint64_t ids[2] = {1000, 1001};
  uint64_t assigned[2];
  rows.ids = ids;
  OK(nearprint_shared_writer_insert_rows(writer, &rows, assigned, error));
  CHECK(assigned[1] == 1001 && rows_in(database) == EACH + 2);
  FAILS(nearprint_shared_writer_insert_if_new(writer, &rows, 3, NULL, NULL, error), NEARPRINT_INVALID_ARGUMENT,
        "rows.count: 2");
  OK(nearprint_shared_writer_delete(writer, ids, 2, error));
  CHECK(rows_in(database) == EACH);
  /* The first of two rows has the last id. Without an id for the second one, no row is stored. */
  const uint64_t last[1] = {UINT64_MAX - 1};
  rows.ids = last;
  rows.count = 1;
  OK(nearprint_shared_writer_insert_rows(writer, &rows, assigned, error));
  rows.ids = NULL;
  rows.count = 2;
  FAILS(nearprint_shared_writer_insert_rows(writer, &rows, assigned, error), NEARPRINT_LIMIT, "no automatic id is left");
  OK(nearprint_shared_writer_delete(writer, last, 1, error));
  CHECK(rows_in(database) == EACH);
  nearprint_writer *second;
  FAILS(nearprint_writer_open(database, &second, error), NEARPRINT_LOCKED, "shared.np");
  OK(nearprint_shared_writer_close(writer, error));
  FAILS(nearprint_shared_writer_delete(writer, ids, 2, error), NEARPRINT_CLOSED, "closed");
  nearprint_shared_writer_free(writer);
  nearprint_database_free(database);
}

/* Texts of a deduplication: each has a word of its own, and every second one is a copy of the one before. */
enum { TEXTS = 40 };
typedef struct {
  nearprint_deduplicator *dedup;
  int first;
  int kept;
} dedup_job;

static nearprint_rows document_of(int number, char key[16], char text[96], const char **pointers, size_t *lens) {
  snprintf(key, 16, "page %d", number);
  snprintf(text, 96, "the first words of page %d, and its last words%s", number / 2, number % 2 == 0 ? "" : "!");
  pointers[0] = key;
  pointers[1] = text;
  lens[0] = strlen(key);
  lens[1] = strlen(text);
  nearprint_rows rows;
  nearprint_rows_init(&rows);
  rows.count = 1;
  rows.keys = &pointers[0];
  rows.key_lens = &lens[0];
  rows.texts = &pointers[1];
  rows.text_lens = &lens[1];
  return rows;
}

/* Decides all texts, from its own first one on, and commits each. */
static void *decide_all(void *argument) {
  dedup_job *own = argument;
  for (int at = 0; at < TEXTS; at++) {
    char key[16], text[96];
    const char *pointers[2];
    size_t lens[2];
    const nearprint_rows rows = document_of((own->first + at) % TEXTS, key, text, pointers, lens);
    int32_t kept = 7;
    if (nearprint_deduplicator_decide(own->dedup, &rows, &kept, NULL, NULL) != NEARPRINT_OK) return NULL;
    if (nearprint_deduplicator_commit(own->dedup, NULL) != NEARPRINT_OK) return NULL;
    own->kept += kept;
  }
  return own;
}

static void deduplication(void) {
  nearprint_deduplicator *dedup, *second;
  OK(nearprint_deduplicator_open(TEXT(in_home("kept.np")), NULL, 0, 0, NULL, &dedup, error));
  FAILS(nearprint_deduplicator_open(TEXT(in_home("kept.np")), NULL, 0, 0, NULL, &second, error), NEARPRINT_LOCKED,
        "kept.np");
  CHECK(second == NULL);
  pthread_t running[THREADS];
  dedup_job jobs[THREADS];
  for (int at = 0; at < THREADS; at++) {
    jobs[at] = (dedup_job){dedup, at * TEXTS / THREADS, 0};
    CHECK(pthread_create(&running[at], NULL, decide_all, &jobs[at]) == 0);
  }
  int kept_texts = 0;
  for (int at = 0; at < THREADS; at++) {
    void *done;
    CHECK(pthread_join(running[at], &done) == 0 && done == &jobs[at]);
    kept_texts += jobs[at].kept;
  }
  /* Whatever the threads did: one of each two. They are durable before the deduplicator is closed. */
  nearprint_database *database;
  OK(nearprint_database_open(TEXT(in_home("kept.np")), NULL, &database, error));
  CHECK(kept_texts == TEXTS / 2 && rows_in(database) == TEXTS / 2);

  /* One call returns what each document has met, in the call or before it. */
  char key[3][16], text[3][96];
  const char *keys[3], *texts[3], *pointers[2];
  size_t key_lens[3], text_lens[3], lens[2];
  const int numbers[3] = {TEXTS, 6, TEXTS + 1};
  nearprint_rows rows;
  for (int at = 0; at < 3; at++) {
    rows = document_of(numbers[at], key[at], text[at], pointers, lens);
    keys[at] = pointers[0];
    texts[at] = pointers[1];
    key_lens[at] = lens[0];
    text_lens[at] = lens[1];
  }
  rows.count = 3;
  rows.keys = keys;
  rows.key_lens = key_lens;
  rows.texts = texts;
  rows.text_lens = text_lens;
  int32_t kept[3];
  nearprint_stream *duplicates;
  OK(nearprint_deduplicator_decide(dedup, &rows, kept, &duplicates, error));
  CHECK(kept[0] == 1 && kept[1] == 0 && kept[2] == 0);
  uint64_t groups[4];
  double similarities[4];
  const char *of[4];
  size_t of_lens[4], count;
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = 4;
  columns.groups = groups;
  columns.similarities = similarities;
  columns.keys = of;
  columns.key_lens = of_lens;
  OK(nearprint_stream_next(duplicates, &columns, &count, error));
  CHECK(count == 2 && groups[0] == 1 && groups[1] == 2 && similarities[0] == 1 && similarities[1] == 1);
  CHECK(strncmp(of[0], "page 6", of_lens[0]) == 0 || strncmp(of[0], "page 7", of_lens[0]) == 0);
  CHECK(of_lens[1] == 7 && strncmp(of[1], "page 40", 7) == 0);
  OK(nearprint_stream_next(duplicates, &columns, &count, error));
  CHECK(count == 0);
  nearprint_stream_free(duplicates);

  rows.fingerprints = fingerprints;
  FAILS(nearprint_deduplicator_decide(dedup, &rows, kept, NULL, error), NEARPRINT_INVALID_ARGUMENT, "documents");
  rows.fingerprints = NULL;
  /* A key that is too long is no reason to take the database for another one. */
  char *long_key = calloc(1, 65537);
  CHECK(long_key != NULL);
  memset(long_key, 'k', 65537);
  keys[1] = long_key;
  key_lens[1] = 65537;
  FAILS(nearprint_deduplicator_decide(dedup, &rows, kept, NULL, error), NEARPRINT_INVALID_ARGUMENT,
        "documents.keys: number 1 has more than 65536 bytes");
  free(long_key);
  keys[1] = "short";
  key_lens[1] = 5;
  rows.texts = NULL;
  FAILS(nearprint_deduplicator_decide(dedup, &rows, kept, NULL, error), NEARPRINT_INVALID_ARGUMENT,
        "documents.texts");
  OK(nearprint_deduplicator_close(dedup, error));
  FAILS(nearprint_deduplicator_commit(dedup, error), NEARPRINT_CLOSED, "closed");
  nearprint_deduplicator_free(dedup);
  CHECK(rows_in(database) == TEXTS / 2 + 1);
  nearprint_database_free(database);

  /* A recipe that is given is required, and a limit beyond 1 is none. */
  FAILS(nearprint_deduplicator_open(TEXT(in_home("kept.np")), TEXT("minhash shingle=1"), 0, NULL, &second, error),
        NEARPRINT_MISMATCH, "kept.np");
  FAILS(nearprint_deduplicator_open(TEXT(in_home("kept.np")), NULL, 0, 1.5, NULL, &second, error),
        NEARPRINT_INVALID_ARGUMENT, "similarity: 1.5");
  OK(nearprint_deduplicator_open(TEXT(in_home("kept.np")), NULL, 0, 0.9, NULL, &second, error));
  nearprint_deduplicator_free(second);
  /* By simhash, texts within a distance are compared where there is a similarity, and kept for it. */
  OK(nearprint_deduplicator_open(TEXT(in_home("simtexts.np")), TEXT("simhash"), 0.9, NULL, &second, error));
  nearprint_deduplicator_free(second);
  OK(nearprint_deduplicator_open(TEXT(in_home("simhash.np")), TEXT("simhash"), 0, NULL, &second, error));
  rows.texts = texts;
  rows.count = 1;
  OK(nearprint_deduplicator_decide(second, &rows, kept, NULL, error));
  CHECK(kept[0] == 1);
  nearprint_deduplicator_free(second);
}

/* A log of few bytes stays when its writer closes. */
static void short_logs(void) {
  nearprint_options options;
  nearprint_options_init(&options);
  CHECK(options.keep_log_bytes == 0);
  options.keep_log_bytes = 4096;
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.width = 64 * WORDS;
  nearprint_database *database;
  OK(nearprint_database_create(TEXT(in_home("short.np")), &schema, &options, &database, error));
  for (size_t row = 0; row < 2; row++) {
    nearprint_writer *writer = writer_of(database);
    OK(nearprint_writer_insert(writer, fingerprints + row * WORDS, NULL, 1, NULL, error));
    OK(nearprint_writer_close(writer, error));
    nearprint_writer_free(writer);
  }
  FILE *log = fopen(in_home("short.np/wal-00000002.log"), "rb");
  CHECK(log != NULL && rows_in(database) == 2);
  fclose(log);
  nearprint_database_free(database);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  home = argv[1];
  error = nearprint_error_new();
  fill();
  batches();
  expiry();
  events(0);
  events(200);
  short_logs();
  documents();
  threads();
  deduplication();
  nearprint_error_free(error);
  puts("batches: rows, documents, deduplication, expiry, events, threads");
  return 0;
}
