/* The C interface: every function, every width, and every refusal. Answers are compared with brute force.
 *
 *   abi FOLDER
 */
#define _POSIX_C_SOURCE 200809L
#include <nearprint.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition,     \
              nearprint_error_message(error, NULL));                                      \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)
#define OK(call) CHECK((call) == NEARPRINT_OK)
/* The call fails with this code, and the error object has the code and a message with this part. */
#define FAILS(call, code, part)                                        \
  do {                                                                 \
    CHECK((call) == (code));                                           \
    CHECK(nearprint_error_code(error) == (code));                      \
    CHECK(strstr(nearprint_error_message(error, NULL), part) != NULL); \
  } while (0)

enum { ROWS = 600, FEW = 64, MAX_WORDS = 4 };

static nearprint_error *error;
static const char *home;

/* The length that paths and texts are passed with. */
static char path_buffer[4096];
static const char *in_home(const char *name) {
  snprintf(path_buffer, sizeof path_buffer, "%s/%s", home, name);
  return path_buffer;
}
#define TEXT(text) (text), strlen(text)

/* Columns of all results. */
static nearprint_columns columns_of(size_t capacity, uint64_t *groups, uint64_t *fingerprints, uint64_t *ids,
                                    uint32_t *distances, uint64_t *others, uint64_t *other_ids,
                                    double *similarities) {
  nearprint_columns columns;
  nearprint_columns_init(&columns);
  columns.capacity = capacity;
  columns.groups = groups;
  columns.fingerprints = fingerprints;
  columns.ids = ids;
  columns.distances = distances;
  columns.other_fingerprints = others;
  columns.other_ids = other_ids;
  columns.similarities = similarities;
  return columns;
}

/* A deterministic random word (splitmix64). */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Fingerprints that often differ in few bits. */
static void fill(uint64_t *fingerprints, size_t words, size_t count, uint64_t seed) {
  for (size_t row = 0; row < count; row++) {
    for (size_t word = 0; word < words; word++) {
      fingerprints[row * words + word] = mix(seed + row % 200 * words + word);
    }
    uint64_t bit = mix(seed ^ row) % (words * 64);
    fingerprints[row * words + bit / 64] ^= (uint64_t)1 << bit % 64;
  }
}

static uint32_t distance(const uint64_t *a, const uint64_t *b, size_t words) {
  uint32_t bits = 0;
  for (size_t word = 0; word < words; word++) {
    for (uint64_t rest = a[word] ^ b[word]; rest != 0; rest &= rest - 1) bits++;
  }
  return bits;
}

static nearprint_database *open_database(const char *name) {
  nearprint_database *database;
  OK(nearprint_database_open(TEXT(in_home(name)), NULL, &database, error));
  return database;
}

static nearprint_snapshot *snapshot_of(const char *name) {
  nearprint_database *database = open_database(name);
  nearprint_snapshot *snapshot;
  OK(nearprint_snapshot_take(database, &snapshot, error));
  nearprint_database_free(database);
  return snapshot;
}

/* A database whose ids are 1000 + the number of the row. */
static nearprint_snapshot *build(const char *name, uint32_t width, const uint64_t *fingerprints, size_t count) {
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.width = width;
  nearprint_builder *builder;
  OK(nearprint_builder_new(TEXT(in_home(name)), &schema, NULL, 1000, &builder, error));
  uint64_t first = 0;
  OK(nearprint_builder_push(builder, fingerprints, NULL, count, &first, error));
  CHECK(first == 1000);
  OK(nearprint_builder_finish(builder, error));
  FAILS(nearprint_builder_push(builder, fingerprints, NULL, 1, NULL, error), NEARPRINT_CLOSED, "builder");
  FAILS(nearprint_builder_finish(builder, error), NEARPRINT_CLOSED, "builder");
  nearprint_builder_free(builder);
  return snapshot_of(name);
}

typedef struct {
  size_t queries, matches;
  int32_t stop_at;
} visited;

static int32_t count_matches(void *context, size_t query, size_t count, const uint64_t *fingerprints,
                             const uint64_t *ids, const uint32_t *distances) {
  visited *seen = context;
  CHECK(query == seen->queries);
  for (size_t at = 0; at < count; at++) CHECK(ids[at] >= 1000 && distances[at] <= 3);
  CHECK(count == 0 || fingerprints != NULL);
  seen->queries++;
  seen->matches += count;
  return (int32_t)seen->queries == seen->stop_at ? 7 : 0;
}

/* Reads a stream to its end, a few rows at a time, and returns the number of rows. Each pair is checked. */
static size_t drain(nearprint_stream *stream, size_t words, nearprint_columns columns, uint32_t k) {
  size_t total = 0, count = 0;
  do {
    OK(nearprint_stream_next(stream, &columns, &count, error));
    for (size_t row = 0; columns.other_fingerprints != NULL && row < count; row++) {
      uint32_t bits = distance(columns.fingerprints + row * words, columns.other_fingerprints + row * words, words);
      CHECK(bits == columns.distances[row] && bits <= k);
    }
    total += count;
  } while (count > 0);
  OK(nearprint_stream_next(stream, &columns, &count, error));
  CHECK(count == 0);
  nearprint_stream_free(stream);
  return total;
}

static void every_width(uint32_t width) {
  size_t words = width / 64;
  char name[32], other_name[32];
  snprintf(name, sizeof name, "db%u", width);
  snprintf(other_name, sizeof other_name, "other%u", width);
  uint64_t *fingerprints = malloc(ROWS * words * sizeof *fingerprints);
  fill(fingerprints, words, ROWS, 1);
  nearprint_snapshot *snapshot = build(name, width, fingerprints, ROWS);
  nearprint_snapshot *other = build(other_name, width, fingerprints, 100);

  /* Brute force. */
  size_t row_pairs = 0, distinct_pairs = 0, cross_rows = 0, expected_batch = 0;
  for (size_t a = 0; a < ROWS; a++) {
    for (size_t b = 0; b < ROWS; b++) {
      uint32_t bits = distance(fingerprints + a * words, fingerprints + b * words, words);
      row_pairs += a < b && bits <= 3;
      cross_rows += b < 100 && bits <= 3;
      expected_batch += bits <= 3;
    }
  }
  char repeated[ROWS] = {0};
  for (size_t a = 0; a < ROWS; a++) {
    for (size_t b = 0; b < a; b++) {
      uint32_t bits = distance(fingerprints + a * words, fingerprints + b * words, words);
      distinct_pairs += bits > 0 && bits <= 3 && !repeated[b];
      repeated[a] |= bits == 0;
    }
    /* The pairs of a value that was there before were counted then. */
    for (size_t b = 0; repeated[a] && b < a; b++) {
      uint32_t bits = distance(fingerprints + a * words, fingerprints + b * words, words);
      distinct_pairs -= bits > 0 && bits <= 3 && !repeated[b];
    }
  }
  CHECK(distinct_pairs > 100 && row_pairs >= distinct_pairs);

  uint64_t found[FEW * MAX_WORDS], others[FEW * MAX_WORDS], ids[FEW], other_ids[FEW], groups[FEW];
  uint32_t distances[FEW];
  nearprint_columns matches = columns_of(FEW, NULL, found, ids, distances, NULL, NULL, NULL);

  /* Queries: all at once, one by one, with too little space, and the nearest. */
  size_t count = 0, total = 0;
  for (size_t row = 0; row < ROWS; row++) {
    OK(nearprint_snapshot_query(snapshot, fingerprints + row * words, 3, &matches, &count, error));
    CHECK(count >= 1 && count <= FEW && distances[0] == 0);
    for (size_t at = 0; at < count; at++) {
      CHECK(memcmp(found + at * words, fingerprints + (ids[at] - 1000) * words, words * 8) == 0);
      CHECK(distance(found + at * words, fingerprints + row * words, words) == distances[at]);
      CHECK(at == 0 || distances[at] >= distances[at - 1]);
    }
    total += count;
  }
  CHECK(total == expected_batch);
  nearprint_columns one = columns_of(1, NULL, NULL, ids, NULL, NULL, NULL, NULL);
  size_t first_count = 0;
  ids[1] = 77;
  OK(nearprint_snapshot_query(snapshot, fingerprints, 3, &matches, &first_count, error));
  uint64_t second = ids[1];
  ids[1] = 77;
  OK(nearprint_snapshot_query(snapshot, fingerprints, 3, &one, &count, error));
  CHECK(count == first_count && first_count > 1 && second != 77 && ids[1] == 77);
  one.capacity = 2;
  OK(nearprint_snapshot_nearest(snapshot, fingerprints, width, &one, &count, error));
  CHECK(count == 2 && ids[1] == second);

  nearprint_columns batch = columns_of(ROWS * FEW, malloc(ROWS * FEW * 8), NULL, malloc(ROWS * FEW * 8), NULL, NULL, NULL, NULL);
  OK(nearprint_snapshot_query_batch(snapshot, fingerprints, ROWS, 3, SIZE_MAX, &batch, &count, error));
  CHECK(count == total && batch.groups[count - 1] == ROWS - 1);
  OK(nearprint_snapshot_query_batch(snapshot, fingerprints, ROWS, 3, 1, &batch, &count, error));
  CHECK(count == ROWS && batch.groups[17] == 17);
  OK(nearprint_snapshot_query_batch(snapshot, NULL, 0, 3, 1, &batch, &count, error));
  CHECK(count == 0);
  OK(nearprint_snapshot_nearest_batch(snapshot, fingerprints, ROWS, 3, 1, &batch, &count, error));
  CHECK(count == ROWS && batch.groups[17] == 17);
  free(batch.groups);
  free(batch.ids);
  double similarity;
  uint32_t distance;
  FAILS(nearprint_snapshot_similarity_of(snapshot, 3, &similarity, error), NEARPRINT_MISMATCH, "bands");
  FAILS(nearprint_snapshot_distance_of(snapshot, 0.5, &distance, error), NEARPRINT_MISMATCH, "bands");
  const double no_similarities[] = {-1, 1.5, NAN};
  for (size_t at = 0; at < 3; at++) {
    FAILS(nearprint_snapshot_distance_of(snapshot, no_similarities[at], &distance, error), NEARPRINT_INVALID_ARGUMENT,
          "is not from 0 to 1");
  }
  visited seen = {0, 0, 0};
  OK(nearprint_snapshot_visit_matches(snapshot, fingerprints, ROWS, 3, SIZE_MAX, count_matches, &seen, error));
  CHECK(seen.queries == ROWS && seen.matches == total);
  visited stopping = {0, 0, 5};
  FAILS(nearprint_snapshot_visit_matches(snapshot, fingerprints, ROWS, 3, SIZE_MAX, count_matches, &stopping, error),
        NEARPRINT_STOPPED, "returned 7");
  CHECK(stopping.queries == 5);

  /* Streams. They outlive their snapshot. */
  nearprint_stream *stream;
  nearprint_columns pairs = columns_of(7, NULL, found, NULL, distances, others, NULL, NULL);
  nearprint_columns both = columns_of(7, NULL, found, ids, distances, others, other_ids, NULL);
  nearprint_columns grouped = columns_of(7, groups, found, ids, NULL, NULL, NULL, NULL);
  OK(nearprint_snapshot_pairs(snapshot, 3, &stream, error));
  CHECK(drain(stream, words, pairs, 3) == distinct_pairs);
  OK(nearprint_snapshot_row_pairs(snapshot, 3, &stream, error));
  CHECK(drain(stream, words, both, 3) == row_pairs);
  OK(nearprint_snapshot_cross_rows(snapshot, other, 3, &stream, error));
  CHECK(drain(stream, words, both, 3) == cross_rows);
  OK(nearprint_snapshot_cross(snapshot, other, 3, &stream, error));
  FAILS(nearprint_stream_next(stream, &both, &count, error), NEARPRINT_INVALID_ARGUMENT, "columns.ids");
  CHECK(drain(stream, words, pairs, 3) > 0);
  OK(nearprint_snapshot_clusters(snapshot, 3, &stream, error));
  CHECK(drain(stream, words, grouped, 3) > 0);
  OK(nearprint_snapshot_rows(snapshot, &stream, error));
  /* Fingerprints have no texts. */
  const nearprint_status mismatch = NEARPRINT_MISMATCH;
  nearprint_stream *none;
  FAILS(nearprint_snapshot_similar_pairs(snapshot, 0.5, &none, error), mismatch, "keeps no texts");
  FAILS(nearprint_snapshot_similar_clusters(snapshot, 0.5, &none, error), mismatch, "keeps no texts");
  FAILS(nearprint_snapshot_similar_cross(snapshot, other, 0.5, &none, error), mismatch, "keeps no texts");
  FAILS(nearprint_snapshot_find_text(snapshot, "text", 4, 0.5, &one, &count, error), mismatch, "keeps no texts");
  nearprint_stream *unread;
  OK(nearprint_snapshot_pairs(snapshot, 3, &unread, error));
  nearprint_stream_free(unread);

  /* Lists in memory find the same. */
  nearprint_stream *list;
  OK(nearprint_find_all(width, fingerprints, ROWS, 3, NULL, 0, NULL, &list, error));
  CHECK(drain(list, words, pairs, 3) == distinct_pairs);
  /* However many there are, only those that are pulled are made. */
  static uint64_t many[40000];
  for (size_t index = 0; index < 40000; index++) many[index] = index * 0x9e3779b97f4a7c15;
  OK(nearprint_find_all(64, many, 40000, 64, NULL, 0, NULL, &list, error));
  OK(nearprint_stream_next(list, &pairs, &count, error));
  CHECK(count > 0);
  nearprint_stream_free(list);
  nearprint_columns values = columns_of(7, groups, found, NULL, NULL, NULL, NULL, NULL);
  OK(nearprint_find_clusters(width, fingerprints, ROWS, 3, NULL, 0, NULL, &list, error));
  CHECK(drain(list, words, values, 3) > 0);

  /* What a snapshot says of itself. */
  nearprint_stats stats;
  nearprint_stats_init(&stats);
  OK(nearprint_snapshot_stats(snapshot, &stats, error));
  CHECK(stats.width == width && stats.rows == ROWS && stats.k == 3 && stats.runs == 1 && stats.bytes > 0);
  CHECK(stats.largest_id == 1000 + ROWS - 1);
  char text[8];
  size_t len;
  OK(nearprint_snapshot_layout(snapshot, text, 2, &len, error));
  CHECK(len == 4 && memcmp(text, "au", 2) == 0);
  OK(nearprint_snapshot_recipe(snapshot, NULL, 0, &len, error));
  CHECK(len == 0);
  OK(nearprint_snapshot_explain(snapshot, 3, NULL, 0, &len, error));
  CHECK(len > 50);
  OK(nearprint_snapshot_fingerprints_of(snapshot, 1003, found, FEW, &count, error));
  CHECK(count == 1 && memcmp(found, fingerprints + 3 * words, words * 8) == 0);

  /* A backup. Other widths do not mix. */
  snprintf(name, sizeof name, "copy%u", width);
  OK(nearprint_snapshot_backup(snapshot, TEXT(in_home(name)), error));
  FAILS(nearprint_snapshot_backup(snapshot, TEXT(in_home(name)), error), NEARPRINT_ALREADY_EXISTS, name);
  nearprint_snapshot *copy = snapshot_of(name);
  OK(nearprint_snapshot_query(copy, fingerprints, 3, &matches, &count, error));
  CHECK(count == first_count);
  if (width > 64) {
    nearprint_snapshot *narrow = snapshot_of("db64");
    FAILS(nearprint_snapshot_cross(narrow, snapshot, 3, &list, error), NEARPRINT_MISMATCH, "64");
    CHECK(list == NULL);
    nearprint_snapshot_free(narrow);
  }

  nearprint_snapshot_free(copy);
  nearprint_snapshot_free(other);
  nearprint_snapshot_free(snapshot);
  nearprint_columns rows = columns_of(7, NULL, found, ids, NULL, NULL, NULL, NULL);
  CHECK(drain(stream, words, rows, 3) == ROWS);
  free(fingerprints);

  char digits[80], buffer[80];
  memset(digits, 'f', sizeof digits);
  uint64_t value[MAX_WORDS];
  memcpy(digits, "0x", 2);
  OK(nearprint_parse(width, digits, 2 + width / 4, value, error));
  CHECK(value[words - 1] == UINT64_MAX);
  OK(nearprint_format(width, value, buffer, sizeof buffer, &len, error));
  CHECK(width == 64 ? len == 20 : len == 2 + width / 4 && memcmp(buffer, digits, len) == 0);
  FAILS(nearprint_parse(width, TEXT("x"), value, error), NEARPRINT_INVALID_ARGUMENT, "text");
}

typedef struct {
  int keys;
  char last[32], text[32];
} seen_keys;

static int32_t remember_key(void *context, const char *key, size_t key_len, const char *text, size_t text_len) {
  seen_keys *seen = context;
  CHECK(key_len < sizeof seen->last && text_len < sizeof seen->text);
  seen->keys++;
  memcpy(seen->last, key, key_len);
  seen->last[key_len] = 0;
  memcpy(seen->text, text, text_len);
  seen->text[text_len] = 0;
  return 0;
}

static int32_t remember_match(void *context, size_t query, const uint64_t *fingerprint, uint64_t id, uint32_t distance,
                              const char *key, size_t key_len) {
  CHECK(query == 0 && fingerprint != NULL && distance <= 64);
  (void)id;
  return key == NULL ? 0 : remember_key(context, key, key_len, "", 0);
}

static int32_t refuse_key(void *context, const char *key, size_t key_len, const char *text, size_t text_len) {
  (void)context, (void)key, (void)key_len, (void)text, (void)text_len;
  return -1;
}

static void living(void) {
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.keys = NEARPRINT_KEYS_AND_TEXTS;
  schema.recipe = "made by hand";
  schema.recipe_len = strlen(schema.recipe);
  nearprint_database *database;
  FAILS(nearprint_database_create(TEXT(in_home("living")), &schema, NULL, &database, error),
        NEARPRINT_RECIPE, "made");
  schema.recipe = "dhash";
  schema.recipe_len = strlen(schema.recipe);
  OK(nearprint_database_create(TEXT(in_home("living")), &schema, NULL, &database, error));
  CHECK(nearprint_database_width(database) == 64);
  FAILS(nearprint_database_create(TEXT(in_home("living")), &schema, NULL, &database, error),
        NEARPRINT_ALREADY_EXISTS, "living");
  CHECK(database == NULL);
  database = open_database("living");

  nearprint_writer *writer, *second;
  OK(nearprint_writer_open(database, &writer, error));
  FAILS(nearprint_writer_open(database, &second, error), NEARPRINT_LOCKED, "locked");
  uint64_t prints[] = {0x1f3a, 0x1f3b, 0xffff0000}, ids[] = {10, 11, 12}, assigned = 0;
  OK(nearprint_writer_insert(writer, prints, ids, 3, &assigned, error));
  CHECK(assigned == 10);
  OK(nearprint_writer_insert(writer, prints, NULL, 1, &assigned, error));
  CHECK(assigned == 13);
  // A length of -1 was refused for texts alone.
  FAILS(nearprint_writer_insert_keyed(writer, prints, NULL, NULL, (size_t)-1, NULL, 0, NULL, error),
        NEARPRINT_INVALID_ARGUMENT, "key: a null pointer");
  OK(nearprint_writer_insert_keyed(writer, prints, NULL, TEXT("https://a/"), "a text", (size_t)-1, &assigned, error));
  uint64_t keyed = assigned, fourteen = 14;
  OK(nearprint_writer_insert_keyed(writer, prints, &fourteen, "b", (size_t)-1, NULL, (size_t)-1, NULL,
                                   error));

  uint64_t found[8];
  uint32_t distances[8];
  nearprint_columns columns = columns_of(8, NULL, NULL, found, distances, NULL, NULL, NULL);
  size_t count;
  OK(nearprint_writer_query(writer, prints, 1, &columns, &count, error));
  CHECK(count == 5 && distances[4] == 1 && found[4] == 11);
  nearprint_snapshot *early, *before, *after;
  OK(nearprint_writer_snapshot(writer, &early, error));
  OK(nearprint_snapshot_take(database, &before, error));
  OK(nearprint_snapshot_query(before, prints, 1, &columns, &count, error));
  CHECK(count == 0);
  OK(nearprint_snapshot_query(early, prints, 1, &columns, &count, error));
  CHECK(count == 5);
  OK(nearprint_writer_commit(writer, error));
  OK(nearprint_snapshot_refresh(before, &after, error));
  OK(nearprint_snapshot_query(after, prints, 1, &columns, &count, error));
  CHECK(count == 5);

  seen_keys seen = {0, "", ""};
  OK(nearprint_snapshot_visit_keys(after, prints, keyed, remember_key, &seen, error));
  CHECK(seen.keys == 1 && strcmp(seen.last, "https://a/") == 0 && strcmp(seen.text, "a text") == 0);
  seen.keys = 0;
  OK(nearprint_snapshot_visit_keyed_matches(after, prints, 1, 0, SIZE_MAX, remember_match, &seen, error));
  CHECK(seen.keys == 2 && strcmp(seen.last, "https://a/") == 0);
  FAILS(nearprint_snapshot_visit_keys(after, prints, keyed, refuse_key, NULL, error), NEARPRINT_STOPPED, "-1");
  OK(nearprint_snapshot_ids_of_key(after, TEXT("https://a/"), 0, found, 8, &count, error));
  CHECK(count == 1 && found[0] == keyed);
  OK(nearprint_snapshot_ids_of_key(after, TEXT("b"), 0, found, 8, &count, error));
  CHECK(count == 0);
  OK(nearprint_snapshot_ids_of_key(after, TEXT("b"), 1, NULL, 0, &count, error));
  CHECK(count == 1);
  char recipe[16];
  OK(nearprint_snapshot_recipe(after, recipe, sizeof recipe, &count, error));
  CHECK(count == 5 && memcmp(recipe, "dhash", 5) == 0);

  OK(nearprint_writer_delete(writer, ids, 1, error));
  OK(nearprint_writer_upsert(writer, prints + 2, ids + 1, 1, error));
  OK(nearprint_writer_upsert_keyed(writer, prints + 2, NULL, TEXT("https://a/"), TEXT("new"), NULL, error));
  uint64_t deleted = 0;
  OK(nearprint_writer_delete_key(writer, TEXT("b"), &deleted, error));
  CHECK(deleted == 1);
  OK(nearprint_writer_flush(writer, error));
  OK(nearprint_writer_compact(writer, error));
  OK(nearprint_writer_close(writer, error));
  FAILS(nearprint_writer_commit(writer, error), NEARPRINT_CLOSED, "closed");
  FAILS(nearprint_writer_close(writer, error), NEARPRINT_CLOSED, "closed");
  nearprint_writer_free(writer);
  nearprint_snapshot_free(early);
  nearprint_snapshot_free(before);
  OK(nearprint_snapshot_refresh(after, &before, error));
  OK(nearprint_snapshot_query(before, prints, 0, &columns, &count, error));
  CHECK(count == 1 && found[0] == 13);
  OK(nearprint_snapshot_query(before, prints + 2, 0, &columns, &count, error));
  CHECK(count == 3);

  /* What is not committed is discarded. */
  OK(nearprint_writer_open(database, &writer, error));
  OK(nearprint_writer_delete(writer, ids + 2, 1, error));
  nearprint_writer_free(writer);
  nearprint_snapshot_free(after);
  OK(nearprint_snapshot_refresh(before, &after, error));
  OK(nearprint_snapshot_query(after, prints + 2, 0, &columns, &count, error));
  CHECK(count == 3);
  nearprint_snapshot_free(after);
  nearprint_snapshot_free(before);
  nearprint_database_free(database);

  /* Databases without keys or texts refuse them. */
  database = open_database("db64");
  OK(nearprint_writer_open(database, &writer, error));
  FAILS(nearprint_writer_insert_keyed(writer, prints, NULL, TEXT("k"), NULL, 0, NULL, error), NEARPRINT_NOT_STORED,
        "without keys");
  nearprint_writer_free(writer);
  nearprint_database_free(database);
}

/* A handle answered from whatever database stood at its path. */
static void regression_a_handle_is_one_database(void) {
  nearprint_database *database, *newcomer;
  OK(nearprint_database_create(TEXT(in_home("one")), NULL, NULL, &database, error));
  nearprint_writer *writer;
  uint64_t print = 11, id = 1;
  OK(nearprint_writer_open(database, &writer, error));
  OK(nearprint_writer_insert(writer, &print, &id, 1, NULL, error));
  OK(nearprint_writer_close(writer, error));
  nearprint_writer_free(writer);
  nearprint_snapshot *snapshot, *newer;
  OK(nearprint_snapshot_take(database, &snapshot, error));

  char away[4096];
  strcpy(away, in_home("one.away"));
  CHECK(rename(in_home("one"), away) == 0);
  for (uint32_t width = 64; width <= 128; width += 64) {
    nearprint_schema schema;
    nearprint_schema_init(&schema);
    schema.width = width;
    OK(nearprint_database_create(TEXT(in_home("one")), &schema, NULL, &newcomer, error));
    nearprint_database_free(newcomer);
    FAILS(nearprint_snapshot_refresh(snapshot, &newer, error), NEARPRINT_REPLACED, "one");
    CHECK(newer == NULL);
    FAILS(nearprint_snapshot_take(database, &newer, error), NEARPRINT_REPLACED, "one");
    FAILS(nearprint_writer_open(database, &writer, error), NEARPRINT_REPLACED, "one");
    nearprint_verification verification;
    nearprint_verification_init(&verification);
    FAILS(nearprint_database_verify(database, &verification, NULL, NULL, error), NEARPRINT_REPLACED, "one");
    nearprint_columns columns = columns_of(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    size_t count;
    OK(nearprint_snapshot_query(snapshot, &print, 0, &columns, &count, error));
    CHECK(count == 1);
    char aside[4096];
    strcpy(aside, in_home(width == 64 ? "one.64" : "one.128"));
    CHECK(rename(in_home("one"), aside) == 0);
  }
  CHECK(rename(away, in_home("one")) == 0);
  OK(nearprint_snapshot_refresh(snapshot, &newer, error));
  nearprint_snapshot_free(newer);
  nearprint_snapshot_free(snapshot);
  nearprint_database_free(database);
}

static int32_t note_damage(void *context, const nearprint_damage *damage) {
  CHECK(damage->file_len > 0 && damage->expected_len > 0 && strlen(damage->section) == damage->section_len);
  *(size_t *)context += 1;
  return 0;
}

/* A byte of each file in turn is changed. */
static void damage(void) {
  nearprint_database *database = open_database("copy64");
  nearprint_verification verification;
  nearprint_verification_init(&verification);
  size_t places = 0;
  OK(nearprint_database_verify(database, &verification, note_damage, &places, error));
  CHECK(verification.files > 1 && verification.bytes > 0 && verification.damaged == 0 && places == 0);

  char command[8192];
  snprintf(command, sizeof command,
           "for file in '%s'/copy64/*.seg; do printf '\\377\\376\\375\\374' | "
           "dd of=\"$file\" bs=1 seek=4200 conv=notrunc 2> /dev/null; done", home);
  CHECK(system(command) == 0);
  OK(nearprint_database_verify(database, &verification, note_damage, &places, error));
  CHECK(verification.damaged > 0 && places == verification.damaged);

  nearprint_snapshot *snapshot;
  FAILS(nearprint_snapshot_take(database, &snapshot, error), NEARPRINT_CORRUPT, "copy64");
  nearprint_database_free(database);
  nearprint_damage place;
  nearprint_damage_init(&place);
  CHECK(nearprint_error_damage(error, &place) == 1);
  CHECK(strstr(place.file, "copy64") != NULL && place.found_len == strlen(place.found));
  size_t len;
  CHECK(strstr(nearprint_error_message(error, &len), place.section) != NULL && len > 20);
  FAILS(nearprint_database_open(TEXT("/nowhere"), NULL, &database, error), NEARPRINT_NOT_A_DATABASE, "/nowhere");
  CHECK(nearprint_error_damage(error, &place) == 0);
}

typedef struct {
  nearprint_builder *builder;
  nearprint_status inside;
} cancelling;

/* Uses the handle that is at work, which is refused, and cancels. */
static int32_t cancel(void *context, int32_t stage, uint64_t done, uint64_t total) {
  (void)stage, (void)done, (void)total;
  cancelling *state = context;
  state->inside = nearprint_builder_push(state->builder, NULL, NULL, 0, NULL, NULL);
  return 1;
}

static void refusals(void) {
  nearprint_database *database;
  nearprint_builder *builder;
  nearprint_snapshot *snapshot;
  nearprint_stream *stream;
  nearprint_fingerprinter *fingerprinter;
  size_t count;
  const nearprint_status bad = NEARPRINT_INVALID_ARGUMENT;
  uint64_t words[MAX_WORDS] = {1, 2, 3, 4};
  nearprint_columns columns = columns_of(1, NULL, NULL, words, NULL, NULL, NULL, NULL);

  FAILS(nearprint_database_open(NULL, 3, NULL, &database, error), bad, "path");
  FAILS(nearprint_database_open("a\0b", 3, NULL, &database, error), bad, "null byte");
  FAILS(nearprint_database_open("", 0, NULL, &database, error), bad, "empty");
  FAILS(nearprint_database_open("a", SIZE_MAX - 1, NULL, &database, error), bad, "longer");
  FAILS(nearprint_database_open(TEXT("a"), NULL, NULL, error), bad, "database");
  CHECK(nearprint_database_open(NULL, 0, NULL, NULL, NULL) == bad);
  CHECK(nearprint_database_width(NULL) == 0);
  FAILS(nearprint_snapshot_take(NULL, &snapshot, error), bad, "database: a null pointer");
  CHECK(snapshot == NULL);

  nearprint_schema schema;
  nearprint_options options;
  nearprint_schema_init(&schema);
  nearprint_options_init(&options);
  nearprint_schema_init(NULL);
  schema.width = 65;
  FAILS(nearprint_builder_new(TEXT(in_home("x")), &schema, NULL, 0, &builder, error), bad, "width 65");
  schema.width = 128;
  schema.k = 129;
  FAILS(nearprint_builder_new(TEXT(in_home("x")), &schema, NULL, 0, &builder, error), bad, "129");
  schema.k = 3;
  schema.keys = 5;
  FAILS(nearprint_builder_new(TEXT(in_home("x")), &schema, NULL, 0, &builder, error), bad, "schema.keys");
  schema.keys = NEARPRINT_KEYS_AND_FEATURES;
  FAILS(nearprint_builder_new(TEXT(in_home("x")), &schema, NULL, 0, &builder, error), bad, "compared with MinHash");
  schema.keys = NEARPRINT_KEYS;
  schema.layout = "rotations:0";
  schema.layout_len = strlen(schema.layout);
  FAILS(nearprint_builder_new(TEXT(in_home("x")), &schema, NULL, 0, &builder, error), bad, "rotations:0");
  schema.layout = "\xff";
  schema.layout_len = 1;
  FAILS(nearprint_builder_new(TEXT(in_home("x")), &schema, NULL, 0, &builder, error), bad, "UTF-8");
  schema.layout = NULL;
  FAILS(nearprint_builder_new(TEXT(in_home("x")), &schema, NULL, 0, &builder, error), bad, "schema.layout");
  schema.layout_len = 0;
  options.memory_bytes = 1;
  FAILS(nearprint_builder_new(TEXT(in_home("x")), &schema, &options, 0, &builder, error), bad, "memory");

  /* A builder that is cancelled, and one that is abandoned. */
  cancelling state = {NULL, NEARPRINT_OK};
  options.memory_bytes = 1 << 20;
  options.progress = cancel;
  options.progress_context = &state;
  OK(nearprint_builder_new(TEXT(in_home("x")), &schema, &options, 0, &builder, error));
  state.builder = builder;
  FAILS(nearprint_builder_push(builder, words, NULL, SIZE_MAX / 2, NULL, error), bad, "fingerprints");
  FAILS(nearprint_builder_push(builder, words, NULL, SIZE_MAX / 16, NULL, error), bad, "longer");
  FAILS(nearprint_builder_push(builder, NULL, NULL, 1, NULL, error), bad, "fingerprints");
  OK(nearprint_builder_push(builder, NULL, NULL, 0, NULL, error));
  OK(nearprint_builder_push_keyed(builder, words, NULL, TEXT("key"), NULL, 0, NULL, error));
  FAILS(nearprint_builder_push_keyed(builder, words, NULL, TEXT("key"), TEXT("text"), NULL, error),
        NEARPRINT_NOT_STORED, "without texts");
  FAILS(nearprint_builder_push_keyed(builder, words, NULL, "\xe2\x82", 2, NULL, 0, NULL, error), bad, "key: not UTF-8");
  FAILS(nearprint_builder_push_keyed(builder, words, NULL, NULL, 0, NULL, 0, NULL, error), bad, "key: a null pointer");
  FAILS(nearprint_builder_finish(builder, error), NEARPRINT_STOPPED, "interrupted");
  CHECK(state.inside == NEARPRINT_BUSY);
  nearprint_builder_free(builder);
  OK(nearprint_builder_new(TEXT(in_home("x")), NULL, NULL, 0, &builder, error));
  nearprint_builder_free(builder);
  FAILS(nearprint_database_open(TEXT(in_home("x")), NULL, &database, error), NEARPRINT_NOT_A_DATABASE, "x");

  snapshot = snapshot_of("db64");
  FAILS(nearprint_snapshot_query(snapshot, NULL, 3, &columns, &count, error), bad, "fingerprint");
  FAILS(nearprint_snapshot_query(snapshot, words, 3, NULL, &count, error), bad, "columns");
  FAILS(nearprint_snapshot_query(snapshot, words, 3, &columns, NULL, error), bad, "count");
  FAILS(nearprint_snapshot_query(snapshot, (const uint64_t *)((const char *)words + 1), 3, &columns, &count, error), bad,
        "aligned");
  columns.capacity = SIZE_MAX;
  FAILS(nearprint_snapshot_query(snapshot, words, 3, &columns, &count, error), bad, "columns.ids: longer");
  columns.capacity = 1;
  columns.groups = words;
  FAILS(nearprint_snapshot_query(snapshot, words, 3, &columns, &count, error), bad, "columns.groups");
  columns.groups = NULL;
  FAILS(nearprint_snapshot_visit_matches(snapshot, words, 1, 3, 1, NULL, NULL, error), bad, "visit");
  OK(nearprint_snapshot_rows(snapshot, &stream, error));
  columns.capacity = 0;
  FAILS(nearprint_stream_next(stream, &columns, &count, error), bad, "capacity");
  nearprint_stream_free(stream);
  nearprint_snapshot_free(snapshot);

  FAILS(nearprint_find_all(96, words, 1, 3, NULL, 0, NULL, &stream, error), bad, "width 96");
  FAILS(nearprint_find_all(64, words, 1, 3, TEXT("0x"), NULL, &stream, error), bad, "0x");
  FAILS(nearprint_fingerprinter_new(TEXT("no-such-recipe"), &fingerprinter, error), NEARPRINT_RECIPE, "no-such-recipe");
  CHECK(fingerprinter == NULL);

  /* Null is nothing to free. */
  nearprint_database_free(NULL);
  nearprint_builder_free(NULL);
  nearprint_snapshot_free(NULL);
  nearprint_stream_free(NULL);
  nearprint_writer_free(NULL);
  nearprint_fingerprinter_free(NULL);
  nearprint_error_free(NULL);
  CHECK(nearprint_error_code(NULL) == NEARPRINT_OK && nearprint_error_message(NULL, &count)[0] == 0 && count == 0);

  /* The library under test has debug assertions: it recognizes handles that are gone, and handles of another kind. */
  database = open_database("db64");
  FAILS(nearprint_snapshot_take((nearprint_database *)(void *)error, &snapshot, error), NEARPRINT_CLOSED,
        "not a handle of this kind");
  nearprint_database_free(database);
  FAILS(nearprint_snapshot_take(database, &snapshot, error), NEARPRINT_CLOSED, "freed");
  nearprint_database_free(database);
}

static void texts(void) {
  const char *fox = "the quick brown fox jumps over the lazy dog";
  nearprint_fingerprinter *fingerprinter;
  OK(nearprint_fingerprinter_new(TEXT("minhash"), &fingerprinter, error));
  CHECK(nearprint_fingerprinter_width(fingerprinter) == 256 && nearprint_fingerprinter_default_k(fingerprinter) > 0);
  char recipe[256], layout[32];
  size_t recipe_len, layout_len;
  OK(nearprint_fingerprinter_recipe(fingerprinter, recipe, sizeof recipe, &recipe_len, error));
  OK(nearprint_fingerprinter_layout(fingerprinter, layout, sizeof layout, &layout_len, error));
  CHECK(memcmp(layout, "bands:", 6) == 0 && recipe_len <= sizeof recipe);

  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.width = nearprint_fingerprinter_width(fingerprinter);
  schema.k = nearprint_fingerprinter_default_k(fingerprinter);
  schema.layout = layout;
  schema.layout_len = layout_len;
  schema.recipe = recipe;
  schema.recipe_len = recipe_len;
  nearprint_builder *builder;
  OK(nearprint_builder_new(TEXT(in_home("texts")), &schema, NULL, 0, &builder, error));
  uint64_t print[MAX_WORDS];
  OK(nearprint_fingerprinter_fingerprint(fingerprinter, TEXT(fox), print, error));
  OK(nearprint_builder_push(builder, print, NULL, 1, NULL, error));
  OK(nearprint_builder_finish(builder, error));
  nearprint_builder_free(builder);

  nearprint_snapshot *snapshot = snapshot_of("texts");
  nearprint_columns columns = columns_of(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  size_t count;
  OK(nearprint_fingerprinter_fingerprint(fingerprinter, TEXT("The quick brown fox jumps over the lazy DOG!"), print,
                                         error));
  OK(nearprint_snapshot_query(snapshot, print, schema.k, &columns, &count, error));
  CHECK(count == 1);
  FAILS(nearprint_fingerprinter_fingerprint(fingerprinter, "\xc3(", 2, print, error), NEARPRINT_INVALID_ARGUMENT,
        "byte 0");
  FAILS(nearprint_fingerprinter_fingerprint(fingerprinter, TEXT(fox), NULL, error), NEARPRINT_INVALID_ARGUMENT,
        "fingerprint");
  nearprint_snapshot_free(snapshot);
  nearprint_fingerprinter_free(fingerprinter);

  // Three words make no shingle of four.
  OK(nearprint_fingerprinter_new(TEXT("simhash-py"), &fingerprinter, error));
  OK(nearprint_fingerprinter_fingerprint(fingerprinter, TEXT("red car sale"), print, error));
  OK(nearprint_fingerprinter_count_features(fingerprinter, TEXT("red car sale"), &count, error));
  CHECK(print[0] == 0 && count == 0);
  OK(nearprint_fingerprinter_count_features(fingerprinter, TEXT(fox), &count, error));
  CHECK(count == 6);
  FAILS(nearprint_fingerprinter_count_features(fingerprinter, TEXT(fox), NULL, error), NEARPRINT_INVALID_ARGUMENT,
        "count");
  nearprint_fingerprinter_free(fingerprinter);
}

/* The cases of the table in docs/c.md that are not errors of the program. */
static void edges(void) {
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  schema.width = 0;
  schema.layout = "rotations:4";
  schema.layout_len = strlen(schema.layout);
  const uint64_t prints[3] = {0, 1, UINT64_MAX};
  uint64_t assigned = 77;
  nearprint_builder *builder;
  OK(nearprint_builder_new(TEXT(in_home("edges")), &schema, NULL, 5, &builder, error));
  OK(nearprint_builder_push(builder, NULL, NULL, 0, &assigned, error));
  CHECK(assigned == 77);
  OK(nearprint_builder_push(builder, prints, NULL, 3, &assigned, error));
  CHECK(assigned == 5);
  OK(nearprint_builder_finish(builder, error));
  nearprint_builder_free(builder);

  nearprint_database *database = open_database("edges");
  CHECK(nearprint_database_width(database) == 64);
  nearprint_writer *writer;
  assigned = 77;
  OK(nearprint_writer_open(database, &writer, error));
  OK(nearprint_writer_insert(writer, NULL, NULL, 0, &assigned, error));
  nearprint_rows none;
  nearprint_rows_init(&none);
  OK(nearprint_writer_insert_rows(writer, &none, &assigned, error));
  CHECK(assigned == 77);
  nearprint_writer_free(writer);
  nearprint_database_free(database);

  /* The name of the layout, and distances beyond the width. */
  nearprint_snapshot *snapshot = snapshot_of("edges");
  char layout[32];
  size_t len, count;
  OK(nearprint_snapshot_layout(snapshot, layout, sizeof layout, &len, error));
  CHECK(len == schema.layout_len && memcmp(layout, schema.layout, len) == 0);
  uint64_t groups[4], ids[4];
  nearprint_columns all = columns_of(4, NULL, NULL, ids, NULL, NULL, NULL, NULL);
  OK(nearprint_snapshot_query(snapshot, prints, UINT32_MAX, &all, &count, error));
  CHECK(count == 3 && ids[2] == 7);
  nearprint_columns empty = columns_of(4, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  nearprint_stream *stream;
  OK(nearprint_snapshot_pairs(snapshot, 1000, &stream, error));
  CHECK(drain(stream, 1, empty, 64) == 3);
  OK(nearprint_find_all(64, prints, 3, 1000, NULL, 0, NULL, &stream, error));
  CHECK(drain(stream, 1, empty, 64) == 3);
  all.groups = groups;
  OK(nearprint_snapshot_clusters(snapshot, 65, &stream, error));
  OK(nearprint_stream_next(stream, &all, &count, error));
  CHECK(count == 3 && groups[2] == 0);
  nearprint_stream_free(stream);
  nearprint_snapshot_free(snapshot);

  /* A null byte separates words, as a space does. */
  nearprint_fingerprinter *fingerprinter;
  uint64_t of_null, of_space, of_first;
  OK(nearprint_fingerprinter_new(TEXT("seomoz-cpp"), &fingerprinter, error));
  OK(nearprint_fingerprinter_fingerprint(fingerprinter, "one two three\0four five", 23, &of_null, error));
  OK(nearprint_fingerprinter_fingerprint(fingerprinter, TEXT("one two three four five"), &of_space, error));
  OK(nearprint_fingerprinter_fingerprint(fingerprinter, TEXT("one two three"), &of_first, error));
  CHECK(of_null == of_space && of_null != of_first);
  nearprint_fingerprinter_free(fingerprinter);
}

/* A stream over damage: rows before it, the failure once, and then the end. */
static void a_failed_stream(void) {
  enum { STORED = 20000 };
  static uint64_t prints[STORED];
  for (uint64_t row = 0; row < STORED; row++) prints[row] = mix(row);
  nearprint_snapshot_free(build("failing", 64, prints, STORED));
  char command[8192];
  snprintf(command, sizeof command,
           "for file in '%s'/failing/*.seg; do printf damage | "
           "dd of=\"$file\" bs=1 seek=60000 conv=notrunc 2> /dev/null; done", home);
  CHECK(system(command) == 0);
  nearprint_snapshot *snapshot = snapshot_of("failing");
  nearprint_stream *stream;
  OK(nearprint_snapshot_rows(snapshot, &stream, error));
  nearprint_snapshot_free(snapshot);
  nearprint_columns columns = columns_of(100, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  size_t count, rows = 0;
  nearprint_status status;
  while ((status = nearprint_stream_next(stream, &columns, &count, error)) == NEARPRINT_OK && count > 0) rows += count;
  CHECK(status == NEARPRINT_CORRUPT && count == 0 && rows > 0 && rows < STORED);
  for (int again = 0; again < 2; again++) {
    OK(nearprint_stream_next(stream, &columns, &count, error));
    CHECK(count == 0);
  }
  nearprint_stream_free(stream);
}

/* A relative path was looked up in the folder of each later call. */
static void regression_a_relative_path_meant_another_place_after_chdir(void) {
  char before[4096];
  CHECK(getcwd(before, sizeof before) != NULL && chdir(home) == 0);
  nearprint_builder *builder;
  nearprint_database *database, *again;
  const uint64_t word = 7;
  OK(nearprint_builder_new("moved.np", -1, NULL, NULL, 0, &builder, error));
  OK(nearprint_builder_push(builder, &word, NULL, 1, NULL, error));
  CHECK(chdir("/") == 0);
  OK(nearprint_builder_finish(builder, error));
  nearprint_builder_free(builder);
  CHECK(chdir(home) == 0);
  OK(nearprint_database_open("moved.np", -1, NULL, &database, error));
  CHECK(chdir("/") == 0);
  nearprint_snapshot *snapshot;
  nearprint_writer *writer;
  OK(nearprint_snapshot_take(database, &snapshot, error));
  OK(nearprint_writer_open(database, &writer, error));
  OK(nearprint_writer_insert(writer, &word, NULL, 1, NULL, error));
  FAILS(nearprint_database_open("moved.np", -1, NULL, &again, error), NEARPRINT_NOT_A_DATABASE, "/moved.np");
  OK(nearprint_writer_close(writer, error));
  nearprint_writer_free(writer);
  nearprint_snapshot_free(snapshot);
  nearprint_database_free(database);
  CHECK(chdir(before) == 0);
}

/* The right database in one call, and strings that end with a null byte. */
static void open_or_create(void) {
  nearprint_database *database, *again;
  nearprint_deduplicator *dedup;
  nearprint_fingerprinter *fingerprinter;
  nearprint_schema schema;
  nearprint_schema_init(&schema);
  OK(nearprint_fingerprinter_new("minhash", -1, &fingerprinter, error));
  OK(nearprint_fingerprinter_schema(fingerprinter, &schema, error));
  CHECK(schema.width == 256 && schema.k == nearprint_fingerprinter_default_k(fingerprinter));
  CHECK(schema.keys == NEARPRINT_KEYS_AND_FEATURES && strncmp(schema.layout, "bands:", 6) == 0);
  CHECK(strlen(schema.layout) == schema.layout_len && strlen(schema.recipe) == schema.recipe_len);
  schema.expire_after_milliseconds = 7 * 86400000u;
  const char *path = in_home("documents");
  OK(nearprint_open_or_create(path, -1, &schema, NULL, &database, error));
  nearprint_fingerprinter_free(fingerprinter);
  OK(nearprint_deduplicator_open(path, -1, NULL, -1, 0.8, NULL, &dedup, error));
  const char *keys[] = {"a", "b"}, *texts[] = {"one two three four five", "One two three four five!"};
  const size_t lens[] = {-1, -1};
  nearprint_rows rows;
  nearprint_rows_init(&rows);
  rows.count = 2;
  rows.keys = keys;
  rows.texts = texts;
  rows.key_lens = rows.text_lens = lens;
  int32_t kept[2];
  OK(nearprint_deduplicator_decide(dedup, &rows, kept, NULL, error));
  CHECK(kept[0] == 1 && kept[1] == 0);
  OK(nearprint_deduplicator_close(dedup, error));
  nearprint_deduplicator_free(dedup);
  nearprint_schema_init(&schema);
  FAILS(nearprint_open_or_create(path, -1, &schema, NULL, &again, error), NEARPRINT_MISMATCH, "256");
  schema.width = 256;
  OK(nearprint_open_or_create(path, -1, &schema, NULL, &again, error));
  nearprint_snapshot *snapshot;
  nearprint_stats stats;
  nearprint_stats_init(&stats);
  OK(nearprint_snapshot_take(again, &snapshot, error));
  OK(nearprint_snapshot_stats(snapshot, &stats, error));
  CHECK(stats.rows == 1 && stats.expire_after_milliseconds == 7 * 86400000u);
  nearprint_snapshot_free(snapshot);
  nearprint_database_free(again);
  nearprint_database_free(database);
  FAILS(nearprint_open_or_create("/dev/null", -1, NULL, NULL, &again, error), NEARPRINT_NOT_A_DATABASE, "/dev/null");
  FAILS(nearprint_open_or_create(NULL, -1, NULL, NULL, &again, error), NEARPRINT_INVALID_ARGUMENT, "path");
  FAILS(nearprint_fingerprinter_schema(NULL, &schema, error), NEARPRINT_INVALID_ARGUMENT, "fingerprinter");
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  home = argv[1];
  error = nearprint_error_new();
  CHECK(nearprint_error_code(error) == NEARPRINT_OK && nearprint_error_message(error, NULL)[0] == 0);
  CHECK(nearprint_abi_version() == NEARPRINT_ABI_VERSION && strlen(nearprint_version()) > 0);
  every_width(64);
  every_width(128);
  every_width(256);
  living();
  regression_a_handle_is_one_database();
  regression_a_relative_path_meant_another_place_after_chdir();
  refusals();
  texts();
  edges();
  open_or_create();
  a_failed_stream();
  damage();
  nearprint_error_free(error);
  puts("abi: all functions, widths and refusals");
  return 0;
}
