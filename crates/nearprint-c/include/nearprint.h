/*
 * nearprint: an embedded, persistent, exact database of fingerprints.
 *
 * Fingerprints. A fingerprint has 64, 128, 256 or 320 bits: 1, 2, 4 or 5 words of 64 bits, the least
 * significant word first. An array of fingerprints is the words of all of them, one after the other.
 *
 * Codes and errors. A function that can fail returns a nearprint_status: NEARPRINT_OK, which is 0,
 * or why it failed. Its last parameter is an error object of the caller, or null; it receives the
 * code, the message and the place of damage. Out parameters are set on success. No panic leaves the
 * library; if memory runs out, the process ends.
 *
 * Handles. A function with an out parameter `nearprint_X **` makes a handle, and sets it to null if
 * it fails. nearprint_X_free() ends each handle, cannot fail, and accepts null. Handles need each
 * other for nothing: they may be freed in any order. What must reach the disk has a function of its
 * own that can fail: nearprint_writer_commit() and nearprint_writer_close(),
 * nearprint_builder_finish(). Freeing a writer or builder without it discards the changes.
 *
 * Structures. The first field of each, struct_size, is its size in the header of the program.
 * nearprint_X_init() sets it and the defaults, for structures that are filled and for those that
 * receive results. Later versions add fields at the end only. They read and write no byte beyond the
 * size that the program gave.
 *
 * Threads. Each section says how many may use a handle at once. A handle may be freed by any thread
 * once no other uses it. In the child of a fork, the streams of its parent fail with
 * NEARPRINT_FORKED. So do writers, builders and deduplicators, at the latest when something is to
 * reach the disk. Freeing them there changes nothing on disk.
 *
 * Strings have lengths in bytes and need no null byte at the end. NEARPRINT_NUL_TERMINATED, which is
 * -1, is the length of those that have one. Keys, recipes, and texts of which fingerprints are made are
 * UTF-8, anything else in them is NEARPRINT_INVALID_ARGUMENT. Paths, and what is stored beside keys, are
 * any bytes; where these are compared as texts, what is not UTF-8 is U+FFFD. No key is a null pointer.
 * A relative path becomes absolute in the call that receives it.
 *
 * Numbers. A width of 0 is 64 bits. A distance beyond the width is the width, so that everything is
 * near; in a schema it is NEARPRINT_INVALID_ARGUMENT. Of 0 rows nothing is stored, and `assigned` is left
 * as it is.
 *
 * Memory. Results go to arrays of the caller. A function with a capacity writes at most that many
 * items, and reports the number of all.
 *
 * Callbacks return 0 to go on; one for events returns nothing. They must return: no exception,
 * longjmp() or end of the thread may leave them. An exception that does ends the process. They must
 * not free the handle that calls them.
 *
 * Example:
 *
 *     #include <nearprint.h>
 *     #include <stdio.h>
 *     #include <string.h>
 *
 *     int main(int argc, char **argv) {
 *       const char *path = argc > 1 ? argv[1] : "seen.np";
 *       const uint64_t fingerprints[] = {0x1f3a, 0x1f3b, 0xffff0000};
 *       uint64_t ids[8];
 *       uint32_t distances[8];
 *       size_t count = 0;
 *       nearprint_error *error = nearprint_error_new();
 *       nearprint_database *database = NULL;
 *       nearprint_writer *writer = NULL;
 *       nearprint_snapshot *snapshot = NULL;
 *       nearprint_columns near;
 *       nearprint_columns_init(&near);
 *       near.capacity = 8;
 *       near.ids = ids;
 *       near.distances = distances;
 *
 *       nearprint_status status = nearprint_database_create(path, strlen(path), NULL, NULL, &database, error);
 *       if (status == NEARPRINT_OK) status = nearprint_writer_open(database, &writer, error);
 *       if (status == NEARPRINT_OK) status = nearprint_writer_insert(writer, fingerprints, NULL, 3, NULL, error);
 *       if (status == NEARPRINT_OK) status = nearprint_writer_close(writer, error);
 *       if (status == NEARPRINT_OK) status = nearprint_snapshot_take(database, &snapshot, error);
 *       if (status == NEARPRINT_OK) status = nearprint_snapshot_query(snapshot, fingerprints, 3, &near, &count, error);
 *       for (size_t row = 0; row < count && row < near.capacity; row++) {
 *         printf("row %llu, distance %u\n", (unsigned long long)ids[row], (unsigned)distances[row]);
 *       }
 *       if (status != NEARPRINT_OK) {
 *         fprintf(stderr, "%s: %s\n", nearprint_status_name(status), nearprint_error_message(error, NULL));
 *       }
 *       nearprint_snapshot_free(snapshot);
 *       nearprint_writer_free(writer);
 *       nearprint_database_free(database);
 *       nearprint_error_free(error);
 *       return status == NEARPRINT_OK ? 0 : 1;
 *     }
 */

#ifndef NEARPRINT_H
#define NEARPRINT_H

/* Generated from crates/nearprint-c/src by header.py and cbindgen. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// Version of the binary interface. It grows with every change that existing programs would notice;
// the name of the shared library contains it.
#define NEARPRINT_ABI_VERSION 1

// Version of nearprint that the header belongs to: 1,000,000 times the major, 1,000 times the minor
// and the patch version, such as 1000 for 0.1.0.
#define NEARPRINT_VERSION_NUMBER 1000

// The length of a string that ends with a null byte. -1 is the same, but for warnings about signs.
#define NEARPRINT_NUL_TERMINATED SIZE_MAX

// -------------------------------------------------------------------------------------------------
// Handles
// -------------------------------------------------------------------------------------------------

// A database under construction: any number of rows, sorted in bounded memory. The path does not
// exist until nearprint_builder_finish() succeeds.
typedef struct nearprint_builder nearprint_builder;

// An open database: its path and its options. Read it through a nearprint_snapshot, change it
// through a nearprint_writer.
typedef struct nearprint_database nearprint_database;

// Decides which texts of a stream are kept, and stores those in a database: a text is kept unless an
// earlier kept one is similar.
typedef struct nearprint_deduplicator nearprint_deduplicator;

// Why the last failed call failed. An object of the caller: a program needs one for each thread.
//
// Every function that can fail takes one as its last parameter, which may be null. A failed call
// replaces its content; a successful call leaves it as it is.
typedef struct nearprint_error nearprint_error;

// Makes fingerprints of texts by a recipe. Each thread needs one of its own.
typedef struct nearprint_fingerprinter nearprint_fingerprinter;

// A folder that follows a database. It locks the folder, not the database, until it is freed.
typedef struct nearprint_follower nearprint_follower;

// A writer that several threads use: each call returns when its operations are durable, and one sync
// serves all calls that arrived in the meantime (group commit). Otherwise as a nearprint_writer.
typedef struct nearprint_shared_writer nearprint_shared_writer;

// A database as it stood at one moment. Any number of threads may use it at once.
typedef struct nearprint_snapshot nearprint_snapshot;

// Rows, pairs or clusters that the caller pulls. It needs no other handle to live on.
typedef struct nearprint_stream nearprint_stream;

// The writer of a database: one at a time over all processes. It does not block readers. In the
// child of a fork, the writer of its parent fails with NEARPRINT_FORKED: at the first operation after
// a commit, and whenever something is to be made durable. Freeing it there changes nothing.
typedef struct nearprint_writer nearprint_writer;

// -------------------------------------------------------------------------------------------------
// Versions and codes
//
// Any thread.
// -------------------------------------------------------------------------------------------------

// What a function returns: NEARPRINT_OK, or why it failed.
//
// A number of 32 bits. Codes are never renumbered. Later versions may return further ones.
typedef int32_t nearprint_status;

// Success.
#define NEARPRINT_OK 0

// An argument that no call accepts: a null pointer, a length that cannot be, text that is not
// UTF-8, a layout or a distance that no database of the width can have.
#define NEARPRINT_INVALID_ARGUMENT 1

// The handle was closed or finished. Builds with debug assertions also return it for handles
// that were freed.
#define NEARPRINT_CLOSED 2

// Another thread, or the function that called back, is using this handle.
#define NEARPRINT_BUSY 3

// A callback returned another value than 0. What was begun has been removed.
#define NEARPRINT_STOPPED 4

// A bug of nearprint. The handle may be freed and does nothing else.
#define NEARPRINT_BUG 5

// A system call failed.
#define NEARPRINT_IO 6

// The disk is full. Nothing was lost; retry when there is space.
#define NEARPRINT_DISK_FULL 7

// A sync failed, so the state on disk is unknown. The writer refuses further operations;
// opening the database again recovers everything that was committed.
#define NEARPRINT_POISONED 8

// The database was moved, removed or replaced while a writer had it open; or a folder that follows it has another
// history.
#define NEARPRINT_REPLACED 9

// There is no database at the path.
#define NEARPRINT_NOT_A_DATABASE 10

// The path of a new database exists already.
#define NEARPRINT_ALREADY_EXISTS 11

// The path cannot name a new database: it has no last component, is a mount point, lies in a
// database, or nearprint did not make what stands at `NAME.building`.
#define NEARPRINT_BAD_PLACE 12

// A valid file of a newer format version, or with something that only a newer program knows.
#define NEARPRINT_NEWER_VERSION 13

// A file is damaged. nearprint_error_damage() says where.
#define NEARPRINT_CORRUPT 14

// Another writer holds the lock.
#define NEARPRINT_LOCKED 15

// Fingerprints of another width, databases with different definitions of distance, or one that follows another.
#define NEARPRINT_MISMATCH 16

// A key or a text, where the database stores none.
#define NEARPRINT_NOT_STORED 17

// A recipe that does not exist, or that the database does not have.
#define NEARPRINT_RECIPE 18

// A number would not fit the format.
#define NEARPRINT_LIMIT 19

// A reason without a code in this version of the interface. The message has it.
#define NEARPRINT_OTHER 20

// The child of a fork has used a writer, a builder or a stream of its parent. Nothing was
// changed.
#define NEARPRINT_FORKED 21

// The name of a code, such as `NEARPRINT_CORRUPT`, with a null byte at the end; `NEARPRINT_UNKNOWN`
// for a number that is none. It lives forever.
const char *nearprint_status_name(nearprint_status status);

// -------------------------------------------------------------------------------------------------
// Errors
//
// One thread at a time for each error object. A program needs one for each thread.
// -------------------------------------------------------------------------------------------------

// Where a file is damaged. All strings end with a null byte that their length does not count.
typedef struct {
  // The size of this structure in the header of the program: nearprint_damage_init() sets it.
  size_t struct_size;
  // The file.
  const char *file;
  // Its length in bytes.
  size_t file_len;
  // The section of the file, such as `header` or `ids`.
  const char *section;
  // Its length in bytes.
  size_t section_len;
  // Offset in the file, in bytes.
  uint64_t offset;
  // The expected content.
  const char *expected;
  // Its length in bytes.
  size_t expected_len;
  // The content of the file.
  const char *found;
  // Its length in bytes.
  size_t found_len;
} nearprint_damage;

// Makes an error object.
nearprint_error *nearprint_error_new(void);

// Frees an error object, and the strings that came from it. Null is allowed.
void nearprint_error_free(nearprint_error *error);

// The code of the last failed call; NEARPRINT_OK if none has failed, or for null.
nearprint_status nearprint_error_code(const nearprint_error *error);

// The message of the last failed call: a sentence for users, which names the file or argument at
// fault. UTF-8, with a null byte at the end. Empty if no call has failed, or for null.
//
// It lives until the error object is passed to another function. `len` receives the length in
// bytes without the null byte, and may be null.
const char *nearprint_error_message(const nearprint_error *error, size_t *len);

// Where a file is damaged, if the last failed call returned NEARPRINT_CORRUPT. Returns 1 and fills
// `damage` in that case, and 0 otherwise. `damage` may be null; 0 is also returned where its size was
// not set, as nearprint_damage_init() does.
//
// The strings live until the error object is passed to another function.
int32_t nearprint_error_damage(const nearprint_error *error,
                               nearprint_damage *damage);

// Sets the size of the structure, and 0 in all other fields.
static inline void nearprint_damage_init(nearprint_damage *damage) {
  memset(damage, 0, sizeof *damage);
  damage->struct_size = sizeof *damage;
}

// -------------------------------------------------------------------------------------------------
// Events
//
// A structure belongs to the call that receives it.
// -------------------------------------------------------------------------------------------------

// What a writer has done.
typedef int32_t nearprint_event_kind;

// Something that this version of the interface has no name for.
#define NEARPRINT_EVENT_OTHER 0

// Unflushed rows have become a run.
#define NEARPRINT_EVENT_FLUSH 1

// Runs have become one.
#define NEARPRINT_EVENT_MERGE 2

// Runs were dropped whose rows have expired.
#define NEARPRINT_EVENT_EXPIRY 3

// A call has waited for a flush or a merge that was not finished.
#define NEARPRINT_EVENT_STALL 4

// The last commit lies more than five minutes in the future: the clock was ahead, or it is behind now.
#define NEARPRINT_EVENT_CLOCK 5

// What a writer has done besides what it was called for.
typedef struct {
  // The size of this structure in the library, which may be larger than in the header of the program.
  size_t struct_size;
  // What was done.
  nearprint_event_kind kind;
  // The number of runs that were made, merged or dropped; 0 of a stall and of a clock.
  uint64_t runs;
  // The rows of the new run, or of those that were dropped; 0 of a stall and of a clock.
  uint64_t rows;
  // The bytes of the new files; 0 of an expiry, of a stall and of a clock.
  uint64_t bytes;
  // How long it took, in microseconds; 0 of an expiry and of a clock.
  uint64_t microseconds;
  // Of a clock, when the last commit was, in seconds since 1970; else 0.
  uint64_t last_commit;
  // Of a clock, its time in seconds since 1970; else 0.
  uint64_t now;
} nearprint_event;

// Receives what writers do besides what they are called for. The event lives until the function
// returns.
//
// Called on the thread that calls the writer, before that call returns. It must not throw, and must
// not use that writer.
typedef void (*nearprint_event_fn)(void *context, const nearprint_event *event);

// Sets the size of the structure, and 0 in all other fields.
static inline void nearprint_event_init(nearprint_event *event) {
  memset(event, 0, sizeof *event);
  event->struct_size = sizeof *event;
}

// -------------------------------------------------------------------------------------------------
// Settings
//
// Any thread.
// -------------------------------------------------------------------------------------------------

// Whether a database stores a key beside each row, such as a URL, and what with each key.
typedef int32_t nearprint_keys;

// Rows have ids only.
#define NEARPRINT_NO_KEYS 0

// Rows have keys.
#define NEARPRINT_KEYS 1

// Rows have keys, and keys have texts.
#define NEARPRINT_KEYS_AND_TEXTS 2

// Rows have keys, and keys have hashes of texts, of at most 32 bytes.
#define NEARPRINT_KEYS_AND_HASHES 3

// Rows have keys, and keys have the features of texts, as `nearprint dedup` stores them. Needs a recipe of MinHash and
// its layout: nearprint_fingerprinter_schema() makes such a schema.
#define NEARPRINT_KEYS_AND_FEATURES 4

// What a new database is. It is stored with the database and never changes.
//
// Start from nearprint_schema_init(), which sets the defaults.
typedef struct {
  // The size of this structure in the header of the program: nearprint_schema_init() sets it.
  size_t struct_size;
  // The width of fingerprints in bits: 64, 128, 256 or 320. Default: 64.
  uint32_t width;
  // The distance in bits that the layout is tuned for. Queries may use any other. Default: 3.
  uint32_t k;
  // What is stored beside rows. Default: NEARPRINT_NO_KEYS.
  nearprint_keys keys;
  // How the bits are split: `auto`, `fast`, `small`, `rotations:T`, `blocks:M,S` or `bands:BxN`. In the
  // last one the highest N bits are the first band, the lowest (B - 1) N bits are the others, and between
  // them is the sketch. There the fingerprint 0 is that of a text without features, and near nothing.
  // Default: null, an automatic layout.
  const char *layout;
  // Its length in bytes.
  size_t layout_len;
  // The recipe that makes the fingerprints, of texts or of pictures: see nearprint_fingerprinter_new()
  // and nearprint_picture_fingerprint(). Its width and its bands have to be those of the schema. Default:
  // null, no recipe. A library without the feature `texts` does not check the recipes of texts.
  const char *recipe;
  // Its length in bytes.
  size_t recipe_len;
  // How long rows live, in milliseconds, at most 2^50: no snapshot that is taken later has them, and a
  // writer drops them. Default: 0, forever.
  uint64_t expire_after_milliseconds;
  // Rows that are inserted in one period expire together, a lifetime after it began. 1 to 1,024
  // periods fit a lifetime. Default: 0, a tenth of the lifetime.
  uint64_t expire_period_milliseconds;
} nearprint_schema;

// What a long operation is doing.
typedef int32_t nearprint_stage;

// Something that this version of the interface has no name for.
#define NEARPRINT_STAGE_OTHER 0

// Taking rows in. Counted in rows.
#define NEARPRINT_STAGE_READING 1

// Sorting or merging rows. Counted in rows.
#define NEARPRINT_STAGE_MERGING 2

// Writing tables. Counted in fingerprints, over all tables.
#define NEARPRINT_STAGE_TABLES 3

// Comparing fingerprints with each other. Counted in fingerprints, over all tables.
#define NEARPRINT_STAGE_JOINING 4

// Checking files. Counted in files.
#define NEARPRINT_STAGE_VERIFYING 5

// Copying. Counted in bytes.
#define NEARPRINT_STAGE_COPYING 6

// Answering queries. Counted in queries.
#define NEARPRINT_STAGE_ANSWERING 7

// Waiting for another writer to end. Counted in milliseconds.
#define NEARPRINT_STAGE_WAITING 8

// Receives the progress of long operations: `done` of `total` units of a nearprint_stage. `total`
// is UINT64_MAX while it is unknown. Another value than 0 cancels the operation, which then
// returns NEARPRINT_STOPPED.
//
// Batches of queries, joins, builds, merges and compactions, ingests, backups, followers, checks and the wait for
// a lock ask it. One query, and other calls of a writer, do not.
//
// Called from several threads at once. It must not throw, and must not use the handle that the
// operation works with.
typedef int32_t (*nearprint_progress_fn)(void *context,
                                         nearprint_stage stage,
                                         uint64_t done,
                                         uint64_t total);

// How the handles of a database work. Nothing of it is stored.
//
// Start from nearprint_options_init(), which sets the defaults.
typedef struct {
  // The size of this structure in the header of the program: nearprint_options_init() sets it.
  size_t struct_size;
  // The number of threads of one operation. Results do not depend on it. Default: 0, all cores.
  size_t threads;
  // The memory of a build in bytes, mapped files aside: 1 MiB or more. Default: 0, 1 GiB.
  size_t memory_bytes;
  // The number of operations of which a commit makes a run; what is not committed is in memory. Default: 0,
  // which is 65,536, or 262,144 with a recipe.
  size_t memtable_rows;
  // Whether a writer merges runs inside of its flushes instead of on a thread of its own.
  // Default: 0, on a thread.
  int32_t foreground_merges;
  // How long a new writer waits for another one to end, in milliseconds. Default: 0.
  uint64_t lock_wait_milliseconds;
  // Receives progress. Default: null. It may be called as long as a handle lives that came from
  // the database or builder with these options.
  nearprint_progress_fn progress;
  // The first argument of `progress`.
  void *progress_context;
  // The most bytes that each merge of a writer writes in a second; less than 1 MiB counts as 1 MiB.
  // Default: 0, any number.
  uint64_t merge_bytes_per_second;
  // Whether a writer leaves all merges to nearprint_writer_compact(). Default: 0, it merges.
  int32_t no_merges;
  // Receives what writers do besides what they are called for. Default: null. It may be called as
  // long as a writer lives that came from the database with these options.
  nearprint_event_fn on_event;
  // The first argument of `on_event`.
  void *event_context;
  // The longest log that a writer leaves when it closes, instead of a run, for small databases.
  // Default: 0, none.
  uint64_t keep_log_bytes;
} nearprint_options;

// What nearprint_schema_init() calls: sets the defaults in a structure of `struct_size` bytes.
void nearprint_schema_init_sized(nearprint_schema *schema, size_t struct_size);

// What nearprint_options_init() calls: sets the defaults in a structure of `struct_size` bytes.
void nearprint_options_init_sized(nearprint_options *options, size_t struct_size);

// Sets the size of the structure, and the defaults.
static inline void nearprint_schema_init(nearprint_schema *schema) {
  nearprint_schema_init_sized(schema, sizeof *schema);
}

// Sets the size of the structure, and the defaults.
static inline void nearprint_options_init(nearprint_options *options) {
  nearprint_options_init_sized(options, sizeof *options);
}

// -------------------------------------------------------------------------------------------------
// Columns of results
//
// A structure belongs to the call that it is passed to.
// -------------------------------------------------------------------------------------------------

// Where results go: arrays of the caller, one value a row. A column that is null is not filled.
//
// Not every result has every column: the function that makes the result says which. A column that
// the result does not have must be null.
typedef struct {
  // The size of this structure in the header of the program: nearprint_columns_init() sets it.
  size_t struct_size;
  // The number of rows that each column has space for.
  size_t capacity;
  // The number of the query or of the cluster that the row belongs to, from 0.
  uint64_t *groups;
  // Fingerprints: width / 64 words a row, the least significant word first.
  uint64_t *fingerprints;
  // Ids.
  uint64_t *ids;
  // The number of bits in which the fingerprint differs from the query, or from the other one.
  uint32_t *distances;
  // The second fingerprints of pairs, in the form of the first ones.
  uint64_t *other_fingerprints;
  // The ids of the second rows of pairs.
  uint64_t *other_ids;
  // The exact similarities of documents, from 0 to 1.
  double *similarities;
  // Keys of streams: null for a row without a key. They live until the next
  // nearprint_stream_next(), or until the stream is freed, and no null byte ends them.
  const char **keys;
  // Their lengths in bytes.
  size_t *key_lens;
  // The keys of the second rows of pairs.
  const char **other_keys;
  // Their lengths in bytes.
  size_t *other_key_lens;
} nearprint_columns;

// Sets the size of the structure, and 0 in all other fields.
static inline void nearprint_columns_init(nearprint_columns *columns) {
  memset(columns, 0, sizeof *columns);
  columns->struct_size = sizeof *columns;
}

// -------------------------------------------------------------------------------------------------
// Fingerprints as text
//
// Any thread.
// -------------------------------------------------------------------------------------------------

// The version of the binary interface of the library that the program runs with. A program works
// with it if it was compiled with the same NEARPRINT_ABI_VERSION.
uint32_t nearprint_abi_version(void);

// The version of the library that the program runs with, as NEARPRINT_VERSION_NUMBER is of the header.
uint32_t nearprint_version_number(void);

// The version of nearprint, such as `0.1.0`, with a null byte at the end. It lives forever.
const char *nearprint_version(void);

// Reads a fingerprint from text, as the command line does. 64 bits: decimal, or hexadecimal digits behind `0x`, or
// bits behind `0b`. More bits: all hexadecimal digits, which are 32, 64 or 80, or an even number of them behind `0x`,
// or all bits behind `0b`; 128 bits also in decimal, but for 32 digits. `fingerprint` receives width / 64 words.
nearprint_status nearprint_parse(uint32_t width,
                                 const char *text,
                                 size_t text_len,
                                 uint64_t *fingerprint,
                                 nearprint_error *error);

// Writes a fingerprint as text: decimal for 64 bits, `0x` and all hexadecimal digits for wider
// ones. 82 bytes are enough.
//
// At most `capacity` bytes are written to `buffer`, without a null byte. `len` receives the whole
// length.
nearprint_status nearprint_format(uint32_t width,
                                  const uint64_t *fingerprint,
                                  char *buffer,
                                  size_t capacity,
                                  size_t *len,
                                  nearprint_error *error);

// -------------------------------------------------------------------------------------------------
// Databases
//
// Any number of threads may use a database at once.
// -------------------------------------------------------------------------------------------------

// The result of nearprint_database_verify().
typedef struct {
  // The size of this structure in the header of the program: nearprint_verification_init() sets it.
  size_t struct_size;
  // The number of checked files.
  uint64_t files;
  // The bytes of the files that could be opened.
  uint64_t bytes;
  // The number of damaged places; 0 for a sound database.
  uint64_t damaged;
} nearprint_verification;

// Receives a damaged place. Its strings live until the function returns. Another value than 0 ends
// the list: the call returns NEARPRINT_STOPPED, with all counts.
typedef int32_t (*nearprint_damage_fn)(void *context, const nearprint_damage *damage);

// Makes an empty database and opens it. The path must not exist, or be an empty folder.
//
// `schema` and `options` may be null for the defaults. `database` receives the handle.
nearprint_status nearprint_database_create(const char *path,
                                           size_t path_len,
                                           const nearprint_schema *schema,
                                           const nearprint_options *options,
                                           nearprint_database **database,
                                           nearprint_error *error);

// Opens a database, or makes an empty one if there is none at the path. A database that exists keeps its own settings:
// `schema` is only for a new one. Of several processes that begin together one makes it, and the others open it.
//
// `schema` and `options` may be null for the defaults. `database` receives the handle. NEARPRINT_MISMATCH if the
// database has another width than the schema; NEARPRINT_NOT_A_DATABASE if something else is at the path.
nearprint_status nearprint_open_or_create(const char *path,
                                          size_t path_len,
                                          const nearprint_schema *schema,
                                          const nearprint_options *options,
                                          nearprint_database **database,
                                          nearprint_error *error);

// Opens a database. Reads a few pages, whatever the size.
//
// `options` may be null for the defaults. `database` receives the handle.
nearprint_status nearprint_database_open(const char *path,
                                         size_t path_len,
                                         const nearprint_options *options,
                                         nearprint_database **database,
                                         nearprint_error *error);

// The width of the fingerprints in bits: 64, 128, 256 or 320. A fingerprint has width / 64 words.
// Returns 0 for null.
uint32_t nearprint_database_width(const nearprint_database *database);

// Reads and checks every byte of a database. Damage is not a failure: `verification` counts it, and
// `visit` receives each place. `visit` may be null. The last commit of a log counts as never written if it
// is not whole, as a killed writer may leave it.
nearprint_status nearprint_database_verify(const nearprint_database *database,
                                           nearprint_verification *verification,
                                           nearprint_damage_fn visit,
                                           void *context,
                                           nearprint_error *error);

// Frees the handle. Handles that came from it live on. Null is allowed.
void nearprint_database_free(nearprint_database *database);

// Sets the size of the structure, and 0 in all other fields.
static inline void nearprint_verification_init(nearprint_verification *verification) {
  memset(verification, 0, sizeof *verification);
  verification->struct_size = sizeof *verification;
}

// -------------------------------------------------------------------------------------------------
// Rows to store
//
// A structure belongs to the call that it is passed to.
// -------------------------------------------------------------------------------------------------

// Rows to store, column by column: one value of each column for each row. Start from
// nearprint_rows_init().
typedef struct {
  // The size of this structure in the header of the program: nearprint_rows_init() sets it.
  size_t struct_size;
  // The number of rows.
  size_t count;
  // Fingerprints: width / 64 words for each row, the least significant word first.
  const uint64_t *fingerprints;
  // Ids. Null for ids that are assigned: the 64-bit xxh3 of the key, or, without keys, 1 + the
  // largest ever stored, and 0 for the first.
  const uint64_t *ids;
  // Keys, which are UTF-8, of at most 65,536 bytes. Null for rows without keys. None of them is null: rows
  // without keys are stored by a call of their own.
  const char *const *keys;
  // Their lengths in bytes.
  const size_t *key_lens;
  // What is stored beside each key: texts; bytes of the caller where the database keeps hashes; what
  // another database has stored where it keeps features, and NEARPRINT_NOT_STORED for others. Null
  // for nothing.
  const char *const *texts;
  // Their lengths in bytes.
  const size_t *text_lens;
} nearprint_rows;

// Sets the size of the structure, and 0 in all other fields.
static inline void nearprint_rows_init(nearprint_rows *rows) {
  memset(rows, 0, sizeof *rows);
  rows->struct_size = sizeof *rows;
}

// -------------------------------------------------------------------------------------------------
// Builders
//
// One thread at a time for each builder; others get NEARPRINT_BUSY.
// -------------------------------------------------------------------------------------------------

// Begins a database. The path must not exist, or be an empty folder.
//
// `first_id` is the id of the first row that comes without one. `schema` and `options` may be null
// for the defaults. `builder` receives the handle.
nearprint_status nearprint_builder_new(const char *path,
                                       size_t path_len,
                                       const nearprint_schema *schema,
                                       const nearprint_options *options,
                                       uint64_t first_id,
                                       nearprint_builder **builder,
                                       nearprint_error *error);

// Adds `count` rows. `fingerprints` has width / 64 words for each. `ids` has one id for each, or is
// null: then ids are assigned, each 1 + the largest so far. `assigned` receives the id of the first
// row, and may be null.
//
// After a failure, some of the rows may have been added.
nearprint_status nearprint_builder_push(nearprint_builder *builder,
                                        const uint64_t *fingerprints,
                                        const uint64_t *ids,
                                        size_t count,
                                        uint64_t *assigned,
                                        nearprint_error *error);

// Adds a row with a key, and with a text where the database stores texts. `id` points to the id, or
// is null: then the id is the 64-bit xxh3 of the key. `assigned` receives the id, and may be null.
nearprint_status nearprint_builder_push_keyed(nearprint_builder *builder,
                                              const uint64_t *fingerprint,
                                              const uint64_t *id,
                                              const char *key,
                                              size_t key_len,
                                              const char *text,
                                              size_t text_len,
                                              uint64_t *assigned,
                                              nearprint_error *error);

// Sorts, writes and syncs everything. On success the database is at its path. After a failure it is
// removed. The builder takes no more rows in either case.
nearprint_status nearprint_builder_finish(nearprint_builder *builder, nearprint_error *error);

// Frees the handle. A database that was not finished is removed. Null is allowed.
void nearprint_builder_free(nearprint_builder *builder);

// -------------------------------------------------------------------------------------------------
// Snapshots
//
// Any number of threads may use a snapshot at once.
// -------------------------------------------------------------------------------------------------

// Counts and sizes of a database.
typedef struct {
  // The size of this structure in the header of the program: nearprint_stats_init() sets it.
  size_t struct_size;
  // The width of the fingerprints in bits.
  uint32_t width;
  // The distance that the layout is tuned for.
  uint32_t k;
  // Rows of all runs and logs. Deleted and repeated rows count until a merge removes them.
  uint64_t rows;
  // Distinct fingerprints of each run and of the logs, added up.
  uint64_t fingerprints;
  // Deleted ids that runs still store.
  uint64_t tombstones;
  // The largest id ever stored; 0 if there was none.
  uint64_t largest_id;
  // The version of the manifest; each change adds one.
  uint64_t generation;
  // The number of runs on disk. The rows of the logs are in none.
  uint64_t runs;
  // Bytes of all files: the manifest, runs, identities of ingested runs, and logs.
  uint64_t bytes;
  // Rows that queries find, where that is known without reading them; UINT64_MAX otherwise.
  uint64_t live_rows;
  // How long rows live, in milliseconds; 0 where they do not expire.
  uint64_t expire_after_milliseconds;
  // What is stored beside rows.
  nearprint_keys keys;
  // 1 if rows of the snapshot have expired since it was taken, 0 otherwise.
  int32_t has_expired;
} nearprint_stats;

// Takes a snapshot: everything that was committed so far in any process. `snapshot` receives the
// handle.
nearprint_status nearprint_snapshot_take(const nearprint_database *database,
                                         nearprint_snapshot **snapshot,
                                         nearprint_error *error);

// Takes a snapshot of what the same database has committed by now, also of a snapshot that a writer gave with
// uncommitted rows. Reuses open files, so it costs little if little has changed. `newer` receives a handle of its
// own.
nearprint_status nearprint_snapshot_refresh(const nearprint_snapshot *snapshot,
                                            nearprint_snapshot **newer,
                                            nearprint_error *error);

// Frees the handle. Streams that came from it live on. Null is allowed.
void nearprint_snapshot_free(nearprint_snapshot *snapshot);

// Counts and sizes. Reads nothing.
nearprint_status nearprint_snapshot_stats(const nearprint_snapshot *snapshot,
                                          nearprint_stats *stats,
                                          nearprint_error *error);

// The layout of the database as text, as its schema had it: `auto`, `fast`, `small`, `rotations:T`,
// `blocks:M,S` or `bands:BxN`. nearprint_snapshot_explain() has what `auto` stands for.
//
// At most `capacity` bytes are written to `buffer`, without a null byte. `len` receives the whole
// length.
nearprint_status nearprint_snapshot_layout(const nearprint_snapshot *snapshot,
                                           char *buffer,
                                           size_t capacity,
                                           size_t *len,
                                           nearprint_error *error);

// The recipe of the fingerprints; empty if the database stores none. The buffer is as in
// nearprint_snapshot_layout().
nearprint_status nearprint_snapshot_recipe(const nearprint_snapshot *snapshot,
                                           char *buffer,
                                           size_t capacity,
                                           size_t *len,
                                           nearprint_error *error);

// How queries at `k` are answered, at what cost and why, as text for people. The buffer is as in
// nearprint_snapshot_layout().
nearprint_status nearprint_snapshot_explain(const nearprint_snapshot *snapshot,
                                            uint32_t k,
                                            char *buffer,
                                            size_t capacity,
                                            size_t *len,
                                            nearprint_error *error);

// Copies the database as the snapshot has it to a new path, which must not exist, or be an empty
// folder.
nearprint_status nearprint_snapshot_backup(const nearprint_snapshot *snapshot,
                                           const char *path,
                                           size_t path_len,
                                           nearprint_error *error);

// The Jaccard similarity of two texts whose MinHash sketches differ in `distance` bits, as they
// suggest it: 0 to 1. NEARPRINT_MISMATCH for a database without bands.
nearprint_status nearprint_snapshot_similarity_of(const nearprint_snapshot *snapshot,
                                                  uint32_t distance,
                                                  double *similarity,
                                                  nearprint_error *error);

// The distance to query with for texts from a Jaccard similarity of 0 to 1 on. It is less than such texts
// have on average, so that few less similar ones are found, and some are missed: texts decide exactly,
// with nearprint_snapshot_find_text(). NEARPRINT_MISMATCH for a database without bands, NEARPRINT_INVALID_ARGUMENT for
// another number.
nearprint_status nearprint_snapshot_distance_of(const nearprint_snapshot *snapshot,
                                                double similarity,
                                                uint32_t *distance,
                                                nearprint_error *error);

// Sets the size of the structure, and 0 in all other fields.
static inline void nearprint_stats_init(nearprint_stats *stats) {
  memset(stats, 0, sizeof *stats);
  stats->struct_size = sizeof *stats;
}

// -------------------------------------------------------------------------------------------------
// Queries
//
// Any number of threads may use a snapshot at once.
// -------------------------------------------------------------------------------------------------

// Receives the matches of query number `query`, by distance, fingerprint and id. The arrays live
// until the function returns; `fingerprints` has width / 64 words a match. Another value than 0
// ends the work with NEARPRINT_STOPPED.
//
// Called on the thread of the caller. It must not throw.
typedef int32_t (*nearprint_matches_fn)(void *context,
                                        size_t query,
                                        size_t count,
                                        const uint64_t *fingerprints,
                                        const uint64_t *ids,
                                        const uint32_t *distances);

// Receives a match of query number `query` with one of its keys. `fingerprint` has width / 64 words,
// and lives until the function returns, as `key` does. `key` is null for a row without a key; a row
// with several keys comes once with each. Another value than 0 ends the work with
// NEARPRINT_STOPPED.
//
// Called on the thread of the caller. It must not throw.
typedef int32_t (*nearprint_keyed_match_fn)(void *context,
                                            size_t query,
                                            const uint64_t *fingerprint,
                                            uint64_t id,
                                            uint32_t distance,
                                            const char *key,
                                            size_t key_len);

// Receives a key and its text, or the hash or the features that the database keeps instead. Both live
// until the function returns. `text_len` is 0 where the database stores nothing with keys. Another value
// than 0 ends the list with NEARPRINT_STOPPED.
//
// Called on the thread of the caller. It must not throw.
typedef int32_t (*nearprint_key_fn)(void *context,
                                    const char *key,
                                    size_t key_len,
                                    const char *text,
                                    size_t text_len);

// Finds every row within `k` bits of a fingerprint, by distance, fingerprint and id. Of a database
// of bands, rows with an equal band whose sketch is within `k` bits; 0 is near nothing there.
//
// Columns: fingerprints, ids, distances. `count` receives the number of matches. If it exceeds the
// capacity, the first ones were written.
nearprint_status nearprint_snapshot_query(const nearprint_snapshot *snapshot,
                                          const uint64_t *fingerprint,
                                          uint32_t k,
                                          const nearprint_columns *columns,
                                          size_t *count,
                                          nearprint_error *error);

// Finds the `capacity` nearest rows within `max_k` bits of a fingerprint, in the order of
// nearprint_snapshot_query().
//
// Columns: fingerprints, ids, distances. `count` receives the number of matches, at most the
// capacity.
nearprint_status nearprint_snapshot_nearest(const nearprint_snapshot *snapshot,
                                            const uint64_t *fingerprint,
                                            uint32_t max_k,
                                            const nearprint_columns *columns,
                                            size_t *count,
                                            nearprint_error *error);

// Answers `queries` queries on all threads: for each one, the first `limit` rows within `k` bits,
// in the order of nearprint_snapshot_query(). `limit` is SIZE_MAX for all. `fingerprints` has
// width / 64 words for each query.
//
// Columns: groups (the number of the query), fingerprints, ids, distances. `count` receives the
// number of matches. If it exceeds the capacity, the first ones were written.
nearprint_status nearprint_snapshot_query_batch(const nearprint_snapshot *snapshot,
                                                const uint64_t *fingerprints,
                                                size_t queries,
                                                uint32_t k,
                                                size_t limit,
                                                const nearprint_columns *columns,
                                                size_t *count,
                                                nearprint_error *error);

// Finds the nearest rows of many fingerprints on all threads: for each one, the `limit` nearest rows
// within `max_k` bits. Otherwise as nearprint_snapshot_query_batch().
nearprint_status nearprint_snapshot_nearest_batch(const nearprint_snapshot *snapshot,
                                                  const uint64_t *fingerprints,
                                                  size_t queries,
                                                  uint32_t max_k,
                                                  size_t limit,
                                                  const nearprint_columns *columns,
                                                  size_t *count,
                                                  nearprint_error *error);

// Answers queries as nearprint_snapshot_query_batch() does, and passes the matches of each one to
// `visit`, in the order of the queries.
nearprint_status nearprint_snapshot_visit_matches(const nearprint_snapshot *snapshot,
                                                  const uint64_t *fingerprints,
                                                  size_t queries,
                                                  uint32_t k,
                                                  size_t limit,
                                                  nearprint_matches_fn visit,
                                                  void *context,
                                                  nearprint_error *error);

// Answers queries as nearprint_snapshot_query_batch() does, and passes each match to `visit` with
// each of its keys, in the order of the queries. `limit` counts rows, not keys.
nearprint_status nearprint_snapshot_visit_keyed_matches(const nearprint_snapshot *snapshot,
                                                        const uint64_t *fingerprints,
                                                        size_t queries,
                                                        uint32_t k,
                                                        size_t limit,
                                                        nearprint_keyed_match_fn visit,
                                                        void *context,
                                                        nearprint_error *error);

// Passes the keys of a row to `visit`, ascending.
nearprint_status nearprint_snapshot_visit_keys(const nearprint_snapshot *snapshot,
                                               const uint64_t *fingerprint,
                                               uint64_t id,
                                               nearprint_key_fn visit,
                                               void *context,
                                               nearprint_error *error);

// Finds the ids of a key; none where the database stores no keys. With `everywhere` 0, only the id that is the
// 64-bit xxh3 of the key is looked up; otherwise all keys are read once.
//
// At most `capacity` ids are written to `ids`. `count` receives the number of all.
nearprint_status nearprint_snapshot_ids_of_key(const nearprint_snapshot *snapshot,
                                               const char *key,
                                               size_t key_len,
                                               int32_t everywhere,
                                               uint64_t *ids,
                                               size_t capacity,
                                               size_t *count,
                                               nearprint_error *error);

// Finds the fingerprints of an id. Reads all rows: there is no index by id.
//
// At most `capacity` fingerprints are written to `fingerprints`, width / 64 words each. `count`
// receives the number of all.
nearprint_status nearprint_snapshot_fingerprints_of(const nearprint_snapshot *snapshot,
                                                    uint64_t id,
                                                    uint64_t *fingerprints,
                                                    size_t capacity,
                                                    size_t *count,
                                                    nearprint_error *error);

// -------------------------------------------------------------------------------------------------
// Streams
//
// Any number of threads may use a snapshot at once. A stream is read by one thread at a time;
// others get NEARPRINT_BUSY.
// -------------------------------------------------------------------------------------------------

// All rows, by fingerprint and id. `stream` receives the handle.
//
// Columns: fingerprints, ids; of a nearprint_snapshot_with_keys() also keys.
nearprint_status nearprint_snapshot_rows(const nearprint_snapshot *snapshot,
                                         nearprint_stream **stream,
                                         nearprint_error *error);

// All pairs of distinct fingerprints within `k` bits, each once, the smaller fingerprint first.
// `stream` receives the handle. A thread of its own is a few thousand rows ahead.
//
// Columns: fingerprints, other_fingerprints, distances.
nearprint_status nearprint_snapshot_pairs(const nearprint_snapshot *snapshot,
                                          uint32_t k,
                                          nearprint_stream **stream,
                                          nearprint_error *error);

// All pairs of rows within `k` bits, equal fingerprints included. Otherwise as
// nearprint_snapshot_pairs().
//
// Columns: fingerprints, ids, other_fingerprints, other_ids, distances; of a nearprint_snapshot_with_keys()
// also keys, other_keys.
nearprint_status nearprint_snapshot_row_pairs(const nearprint_snapshot *snapshot,
                                              uint32_t k,
                                              nearprint_stream **stream,
                                              nearprint_error *error);

// The clusters of two rows or more: rows that are connected by pairs within `k` bits. Clusters are
// numbered from 0 by their smallest fingerprint; the rows of one follow each other. `stream`
// receives the handle.
//
// Columns: groups (the number of the cluster), fingerprints, ids; of a nearprint_snapshot_with_keys() also keys.
nearprint_status nearprint_snapshot_clusters(const nearprint_snapshot *snapshot,
                                             uint32_t k,
                                             nearprint_stream **stream,
                                             nearprint_error *error);

// All pairs within `k` bits between two databases of the same width, the fingerprint of `snapshot`
// first. `stream` receives the handle.
//
// Columns: fingerprints, other_fingerprints, distances.
nearprint_status nearprint_snapshot_cross(const nearprint_snapshot *snapshot,
                                          const nearprint_snapshot *other,
                                          uint32_t k,
                                          nearprint_stream **stream,
                                          nearprint_error *error);

// All pairs of rows within `k` bits between two databases. Otherwise as
// nearprint_snapshot_cross().
//
// Columns: fingerprints, ids, other_fingerprints, other_ids, distances; also keys, other_keys if one of the
// snapshots is a nearprint_snapshot_with_keys(). Rows of the other one are then without a key.
nearprint_status nearprint_snapshot_cross_rows(const nearprint_snapshot *snapshot,
                                               const nearprint_snapshot *other,
                                               uint32_t k,
                                               nearprint_stream **stream,
                                               nearprint_error *error);

// Fills the columns with the next rows of a stream, and sets `count` to their number. There are no
// more once it is 0.
//
// A failure ends the stream; the rows before it come first. It is returned once, and then the stream
// is at its end. The capacity is 1 or more. `count` may be less than the capacity before the end.
nearprint_status nearprint_stream_next(nearprint_stream *stream,
                                       const nearprint_columns *columns,
                                       size_t *count,
                                       nearprint_error *error);

// Frees a stream. The rest of its work is cancelled, and a call of its progress waited for, which does not free the
// stream itself. Null is allowed.
void nearprint_stream_free(nearprint_stream *stream);

// -------------------------------------------------------------------------------------------------
// Keys of results, matches as a stream, copies
//
// Any number of threads may use a snapshot at once.
// -------------------------------------------------------------------------------------------------

// What the database stores beside each row, and with each key. Returns NEARPRINT_NO_KEYS for null.
nearprint_keys nearprint_snapshot_key_storage(const nearprint_snapshot *snapshot);

// The same snapshot, whose streams of rows have keys where the database stores some: nearprint_snapshot_rows(),
// nearprint_snapshot_row_pairs(), nearprint_snapshot_clusters(), nearprint_snapshot_cross_rows() and
// nearprint_snapshot_matches(). `view` receives a handle of its own.
//
// The columns keys and key_lens receive the keys, and other_keys and other_key_lens those of the second rows of
// pairs. A row with several keys is then several rows of the result, and a pair is repeated for each two keys. A
// newer snapshot that nearprint_snapshot_refresh() takes of the view has keys, too. Other functions answer for the
// view as for the snapshot.
nearprint_status nearprint_snapshot_with_keys(const nearprint_snapshot *snapshot,
                                              nearprint_snapshot **view,
                                              nearprint_error *error);

// Answers queries as nearprint_snapshot_query_batch() does, as a stream in the order of the queries.
// `stream` receives the handle. The fingerprints are copied.
//
// Columns: groups (the number of the query), fingerprints, ids, distances; of a
// nearprint_snapshot_with_keys() also keys.
nearprint_status nearprint_snapshot_matches(const nearprint_snapshot *snapshot,
                                            const uint64_t *fingerprints,
                                            size_t queries,
                                            uint32_t k,
                                            size_t limit,
                                            nearprint_stream **stream,
                                            nearprint_error *error);

// Copies the database as nearprint_snapshot_backup() does, and shares unchanged files with an earlier
// copy, `base`: they become hard links where the file system has them. `shared` receives the number of
// bytes that are shared, and may be null. Without `base`, null and 0, everything is copied.
nearprint_status nearprint_snapshot_backup_with(const nearprint_snapshot *snapshot,
                                                const char *path,
                                                size_t path_len,
                                                const char *base,
                                                size_t base_len,
                                                uint64_t *shared,
                                                nearprint_error *error);

// -------------------------------------------------------------------------------------------------
// A second folder
//
// One thread at a time for each follower; others get NEARPRINT_BUSY.
// -------------------------------------------------------------------------------------------------

// Makes a folder that follows a database and brings it up to date, or goes on with one. The path must
// not exist, be an empty folder, or follow this database already. `follower` receives the handle.
//
// Readers open the folder as any database; a writer refuses it, until somebody removes its file
// FOLLOWER.
nearprint_status nearprint_follower_open(const nearprint_database *database,
                                         const char *path,
                                         size_t path_len,
                                         nearprint_follower **follower,
                                         nearprint_error *error);

// Copies what was committed since. After any failure and any crash, the folder is a state that the
// database had.
//
// `bytes` receives the number of copied bytes, `changed` 1 if the folder has changed, else 0; both may
// be null. NEARPRINT_CORRUPT for damage in the database: the folder keeps what it has.
nearprint_status nearprint_follower_update(nearprint_follower *follower,
                                           uint64_t *bytes,
                                           int32_t *changed,
                                           nearprint_error *error);

// Releases the lock of the folder and frees the handle. Null is allowed.
void nearprint_follower_free(nearprint_follower *follower);

#ifndef NEARPRINT_NO_TEXTS
// -------------------------------------------------------------------------------------------------
// Documents
//
// Any number of threads may use a snapshot at once.
// -------------------------------------------------------------------------------------------------

// All pairs of rows with similar documents: texts that share at least `similarity`, 0 to 1, of their
// features. `stream` receives the handle.
//
// The database keeps texts (NEARPRINT_KEYS_AND_TEXTS) or features (NEARPRINT_KEYS_AND_FEATURES), and has a
// recipe of MinHash; NEARPRINT_MISMATCH otherwise. Fingerprints find candidates, and the features decide, so
// that the similarity is exact, as that of nearprint_fingerprinter_similarity(). Candidates are those for
// the limit of the recipe: 0.7, unless it has another one (`minhash near=0.5`). Of the pairs at a limit of
// 0.5 or more, 1 in 800 is missed, and more where a text has a few words. Of more similar pairs fewer are
// missed, and of less similar ones more. A row without a text is similar to nothing. A pair of rows with
// several keys follows once for each two similar documents.
//
// Columns: fingerprints, ids, keys, other_fingerprints, other_ids, other_keys, distances, similarities.
nearprint_status nearprint_snapshot_similar_pairs(const nearprint_snapshot *snapshot,
                                                  double similarity,
                                                  nearprint_stream **stream,
                                                  nearprint_error *error);

// The clusters of two rows or more that similar documents connect, numbered from 0 by their smallest
// fingerprint; the rows of one follow each other. `similarities` are those with the first row of the
// cluster, which may be smaller than `similarity`. Otherwise as nearprint_snapshot_similar_pairs().
//
// Columns: groups (the number of the cluster), fingerprints, ids, keys, similarities.
nearprint_status nearprint_snapshot_similar_clusters(const nearprint_snapshot *snapshot,
                                                     double similarity,
                                                     nearprint_stream **stream,
                                                     nearprint_error *error);

// All pairs of a row of `snapshot` and a row of `other` with similar documents. Otherwise as
// nearprint_snapshot_similar_pairs(), of both databases; NEARPRINT_MISMATCH for another recipe.
//
// Columns: fingerprints, ids, keys, other_fingerprints, other_ids, other_keys, distances, similarities.
nearprint_status nearprint_snapshot_similar_cross(const nearprint_snapshot *snapshot,
                                                  const nearprint_snapshot *other,
                                                  double similarity,
                                                  nearprint_stream **stream,
                                                  nearprint_error *error);

// Finds the documents that are similar to a text, which must be UTF-8: the most similar first, equally
// similar ones by distance, fingerprint and id. Otherwise as nearprint_snapshot_similar_pairs().
//
// Columns: fingerprints, ids, distances, similarities. There is no column of keys:
// nearprint_snapshot_visit_keys() has the keys of a row. `count` receives the number of documents. If it
// exceeds the capacity, the first ones were written.
nearprint_status nearprint_snapshot_find_text(const nearprint_snapshot *snapshot,
                                              const char *text,
                                              size_t text_len,
                                              double similarity,
                                              const nearprint_columns *columns,
                                              size_t *count,
                                              nearprint_error *error);
#endif /* NEARPRINT_NO_TEXTS */

// -------------------------------------------------------------------------------------------------
// Writers
//
// One thread at a time for each writer; others get NEARPRINT_BUSY.
// -------------------------------------------------------------------------------------------------

// Opens a database for writing, and recovers what a crash left. `writer` receives the handle.
//
// NEARPRINT_LOCKED while there is another writer; NEARPRINT_MISMATCH for the folder of a follower.
nearprint_status nearprint_writer_open(const nearprint_database *database,
                                       nearprint_writer **writer,
                                       nearprint_error *error);

// Inserts `count` rows. `fingerprints` has width / 64 words for each. `ids` has one id for each, or
// is null: then ids are assigned, each 1 + the largest ever stored. `assigned` receives the id of
// the first row, and may be null.
//
// Rows are a set: inserting an existing row changes nothing, but that it lives anew where rows expire. After a
// failure, some of the rows may have been inserted. Rows are durable after nearprint_writer_commit().
nearprint_status nearprint_writer_insert(nearprint_writer *writer,
                                         const uint64_t *fingerprints,
                                         const uint64_t *ids,
                                         size_t count,
                                         uint64_t *assigned,
                                         nearprint_error *error);

// Replaces all rows of each of `count` ids by one row. `fingerprints` has width / 64 words for each.
nearprint_status nearprint_writer_upsert(nearprint_writer *writer,
                                         const uint64_t *fingerprints,
                                         const uint64_t *ids,
                                         size_t count,
                                         nearprint_error *error);

// Inserts a row with a key, and with a text where the database stores texts. `id` points to the id,
// or is null: then the id is the 64-bit xxh3 of the key. `assigned` receives the id, and may be
// null.
nearprint_status nearprint_writer_insert_keyed(nearprint_writer *writer,
                                               const uint64_t *fingerprint,
                                               const uint64_t *id,
                                               const char *key,
                                               size_t key_len,
                                               const char *text,
                                               size_t text_len,
                                               uint64_t *assigned,
                                               nearprint_error *error);

// Replaces all rows of an id by a row with a key; without an id, the rows of the key whose id was made of it. Its rows
// with other ids stay then, and those of other keys. Otherwise as nearprint_writer_insert_keyed().
nearprint_status nearprint_writer_upsert_keyed(nearprint_writer *writer,
                                               const uint64_t *fingerprint,
                                               const uint64_t *id,
                                               const char *key,
                                               size_t key_len,
                                               const char *text,
                                               size_t text_len,
                                               uint64_t *assigned,
                                               nearprint_error *error);

// Deletes all rows of `count` ids. Unknown ids are no failure.
nearprint_status nearprint_writer_delete(nearprint_writer *writer,
                                         const uint64_t *ids,
                                         size_t count,
                                         nearprint_error *error);

// Deletes a key, and the rows that had no other one. `deleted` receives their number, and may be
// null. Reads all keys.
nearprint_status nearprint_writer_delete_key(nearprint_writer *writer,
                                             const char *key,
                                             size_t key_len,
                                             uint64_t *deleted,
                                             nearprint_error *error);

// Finds every row within `k` bits, including uncommitted ones, as nearprint_snapshot_query() does.
nearprint_status nearprint_writer_query(nearprint_writer *writer,
                                        const uint64_t *fingerprint,
                                        uint32_t k,
                                        const nearprint_columns *columns,
                                        size_t *count,
                                        nearprint_error *error);

// Takes a snapshot that includes uncommitted operations. `snapshot` receives the handle.
nearprint_status nearprint_writer_snapshot(nearprint_writer *writer,
                                           nearprint_snapshot **snapshot,
                                           nearprint_error *error);

// Makes all operations durable, and visible to new snapshots in every process. After
// NEARPRINT_DISK_FULL nothing is lost, and the commit can be repeated.
nearprint_status nearprint_writer_commit(nearprint_writer *writer, nearprint_error *error);

// Commits, and writes all unflushed rows as a run.
nearprint_status nearprint_writer_flush(nearprint_writer *writer, nearprint_error *error);

// Merges all runs into one without deleted rows.
nearprint_status nearprint_writer_compact(nearprint_writer *writer, nearprint_error *error);

// Commits, flushes, waits for merges, and releases the lock. After a failure the writer is still
// open, and the call can be repeated. A closed writer does nothing more and is still to be freed.
nearprint_status nearprint_writer_close(nearprint_writer *writer, nearprint_error *error);

// Frees the handle. What was not committed is discarded. Null is allowed.
void nearprint_writer_free(nearprint_writer *writer);

// -------------------------------------------------------------------------------------------------
// Writers: batches, deletions, rollback
//
// As of writers and builders.
// -------------------------------------------------------------------------------------------------

// Adds rows to a builder, with keys and texts where there are some. `assigned` receives the id of each
// row, and may be null.
//
// After a failure, some of the rows may have been added.
nearprint_status nearprint_builder_push_rows(nearprint_builder *builder,
                                             const nearprint_rows *rows,
                                             uint64_t *assigned,
                                             nearprint_error *error);

// Inserts rows, with keys and texts where there are some. `assigned` receives the id of each row, and
// may be null.
//
// Inserting a fingerprint again with its id, and with its key where there are keys, changes nothing, not even its
// text, but that it lives anew where rows expire. A key may
// have several rows, which have one id; nearprint_writer_upsert_rows() replaces them. After a failure, some
// of the rows may have been inserted; nearprint_writer_rollback() takes them back.
nearprint_status nearprint_writer_insert_rows(nearprint_writer *writer,
                                              const nearprint_rows *rows,
                                              uint64_t *assigned,
                                              nearprint_error *error);

// Makes each row the only one with its id. What a row with a key and without an id replaces,
// nearprint_writer_upsert_keyed() says. Otherwise as nearprint_writer_insert_rows().
nearprint_status nearprint_writer_upsert_rows(nearprint_writer *writer,
                                              const nearprint_rows *rows,
                                              uint64_t *assigned,
                                              nearprint_error *error);

// Inserts each row that has no stored row within `k` bits, uncommitted rows and earlier rows of this
// call included. Costs a query and an insertion for each.
//
// `ids` receives the id of each row, or, where a row was near, the id of the nearest stored row. It may
// be null. `met` receives those nearest rows, and `met_count` their number: the columns groups (the
// number of the row that met it, from 0), fingerprints, ids, distances. If the number exceeds the
// capacity, the first ones were written. Both may be null.
nearprint_status nearprint_writer_insert_if_new(nearprint_writer *writer,
                                                const nearprint_rows *rows,
                                                uint32_t k,
                                                uint64_t *ids,
                                                const nearprint_columns *met,
                                                size_t *met_count,
                                                nearprint_error *error);

// Deletes all rows with an id from `first` to `last`, both included. `deleted` receives their number,
// and may be null. Reads all rows.
nearprint_status nearprint_writer_delete_ids(nearprint_writer *writer,
                                             uint64_t first,
                                             uint64_t last,
                                             uint64_t *deleted,
                                             nearprint_error *error);

// Deletes `count` keys, and the rows that had no other one. `deleted` receives their number, and may be
// null. Costs a look-up for each key; all keys are read once where ids are not the hashes of keys.
nearprint_status nearprint_writer_delete_keys(nearprint_writer *writer,
                                              const char *const *keys,
                                              const size_t *key_lens,
                                              size_t count,
                                              uint64_t *deleted,
                                              nearprint_error *error);

// Deletes all keys that begin with a prefix, and the rows that had no other one. `deleted` receives
// their number, and may be null. All keys begin with the empty prefix. Reads all keys.
nearprint_status nearprint_writer_delete_key_prefix(nearprint_writer *writer,
                                                    const char *prefix,
                                                    size_t prefix_len,
                                                    uint64_t *deleted,
                                                    nearprint_error *error);

// Finds the `capacity` nearest rows within `max_k` bits, including uncommitted ones, as
// nearprint_snapshot_nearest() does.
nearprint_status nearprint_writer_nearest(nearprint_writer *writer,
                                          const uint64_t *fingerprint,
                                          uint32_t max_k,
                                          const nearprint_columns *columns,
                                          size_t *count,
                                          nearprint_error *error);

// Answers queries on all threads, including uncommitted rows, as nearprint_snapshot_query_batch() does.
nearprint_status nearprint_writer_query_batch(nearprint_writer *writer,
                                              const uint64_t *fingerprints,
                                              size_t queries,
                                              uint32_t k,
                                              size_t limit,
                                              const nearprint_columns *columns,
                                              size_t *count,
                                              nearprint_error *error);

// Takes back all operations since the last commit. Costs reading the log: what was committed and is in no
// run yet.
nearprint_status nearprint_writer_rollback(nearprint_writer *writer,
                                           nearprint_error *error);

// -------------------------------------------------------------------------------------------------
// Writers for several threads
//
// Any number of threads may use a shared writer at once. One thread closes and frees it.
// -------------------------------------------------------------------------------------------------

// Opens a database for writing by several threads. `writer` receives the handle. NEARPRINT_LOCKED while
// there is another writer.
nearprint_status nearprint_shared_writer_open(const nearprint_database *database,
                                              nearprint_shared_writer **writer,
                                              nearprint_error *error);

// Inserts rows, and returns when they are durable. Otherwise as nearprint_writer_insert_rows(), but a call
// that fails to insert a row takes back those before it. It does not touch what other threads insert.
nearprint_status nearprint_shared_writer_insert_rows(const nearprint_shared_writer *writer,
                                                     const nearprint_rows *rows,
                                                     uint64_t *assigned,
                                                     nearprint_error *error);

// Inserts one row unless a row within `k` bits is stored, and returns when it is durable. `rows` has one
// row. `is_new` receives 1 if it was inserted, and 0 otherwise; `id` the id of the row, or of the nearest
// stored row. Both may be null.
nearprint_status nearprint_shared_writer_insert_if_new(const nearprint_shared_writer *writer,
                                                       const nearprint_rows *rows,
                                                       uint32_t k,
                                                       int32_t *is_new,
                                                       uint64_t *id,
                                                       nearprint_error *error);

// Deletes all rows of `count` ids, and returns when that is durable.
nearprint_status nearprint_shared_writer_delete(const nearprint_shared_writer *writer,
                                                const uint64_t *ids,
                                                size_t count,
                                                nearprint_error *error);

// Does what nearprint_writer_close() does. NEARPRINT_BUSY while another thread uses the writer.
nearprint_status nearprint_shared_writer_close(const nearprint_shared_writer *writer,
                                               nearprint_error *error);

// Frees the handle. Null is allowed.
void nearprint_shared_writer_free(nearprint_shared_writer *writer);

// -------------------------------------------------------------------------------------------------
// Lists in memory
//
// Any thread. A stream is read by one thread at a time.
// -------------------------------------------------------------------------------------------------

// Finds all pairs of distinct values of an array within `k` bits, each once, the smaller value
// first. A thread searches a copy of the array, a few thousand pairs ahead of the caller: memory does
// not grow with the pairs. Whatever the thread finds wrong, such as bands that do not fit, is returned by
// nearprint_stream_next().
//
// `fingerprints` has width / 64 words for each of `count` values. `bands` is null, or bands as in a
// layout, such as `6x16`: then one of them must be equal, `k` compares the rest, and 0 is near nothing. `options` may
// be null. `stream` receives the handle.
//
// Columns: fingerprints, other_fingerprints, distances.
nearprint_status nearprint_find_all(uint32_t width,
                                    const uint64_t *fingerprints,
                                    size_t count,
                                    uint32_t k,
                                    const char *bands,
                                    size_t bands_len,
                                    const nearprint_options *options,
                                    nearprint_stream **stream,
                                    nearprint_error *error);

// Finds the clusters of an array: values that are connected by pairs within `k` bits, two or more.
// Clusters are numbered from 0 by their smallest value. Otherwise as nearprint_find_all().
//
// Columns: groups (the number of the cluster), fingerprints.
nearprint_status nearprint_find_clusters(uint32_t width,
                                         const uint64_t *fingerprints,
                                         size_t count,
                                         uint32_t k,
                                         const char *bands,
                                         size_t bands_len,
                                         const nearprint_options *options,
                                         nearprint_stream **stream,
                                         nearprint_error *error);

#ifndef NEARPRINT_NO_TEXTS
// -------------------------------------------------------------------------------------------------
// Fingerprints of texts
//
// One thread at a time for each fingerprinter; others get NEARPRINT_BUSY.
// -------------------------------------------------------------------------------------------------

// Makes a fingerprinter. A recipe is a name, such as `minhash`, `simhash` or `seomoz-cpp`, parts, or
// a name and parts, such as `simhash shingle=2 width=128`. Those of texts take the visible text of what is a
// whole HTML page, unless `clean` is given without `detect-html`. `fingerprinter` receives the handle.
nearprint_status nearprint_fingerprinter_new(const char *recipe,
                                             size_t recipe_len,
                                             nearprint_fingerprinter **fingerprinter,
                                             nearprint_error *error);

// The width of the fingerprints in bits. Returns 0 for null.
uint32_t nearprint_fingerprinter_width(const nearprint_fingerprinter *fingerprinter);

// The recipe as a database should store it in its schema: equal recipes have equal texts.
//
// At most `capacity` bytes are written to `buffer`, without a null byte. `len` receives the whole
// length.
nearprint_status nearprint_fingerprinter_recipe(const nearprint_fingerprinter *fingerprinter,
                                                char *buffer,
                                                size_t capacity,
                                                size_t *len,
                                                nearprint_error *error);

// The layout that a database of such fingerprints needs in its schema: `bands:BxN` for MinHash,
// `auto` otherwise. The buffer is as in nearprint_fingerprinter_recipe().
nearprint_status nearprint_fingerprinter_layout(const nearprint_fingerprinter *fingerprinter,
                                                char *buffer,
                                                size_t capacity,
                                                size_t *len,
                                                nearprint_error *error);

// The distance within which texts count as near-duplicates by default. Returns 0 for null.
uint32_t nearprint_fingerprinter_default_k(const nearprint_fingerprinter *fingerprinter);

// The schema of a database of documents by this recipe, with all that it needs: the width, the recipe, its layout, its
// default distance, and keys. Beside the keys are features for MinHash, by which similarities are exact, and otherwise
// hashes of texts. For fingerprints alone, set `keys` to NEARPRINT_NO_KEYS.
//
// `schema` is initialized before, and its other fields are set to their defaults. Its strings live as long as the
// fingerprinter, and end with a null byte.
nearprint_status nearprint_fingerprinter_schema(const nearprint_fingerprinter *fingerprinter,
                                                nearprint_schema *schema,
                                                nearprint_error *error);

// Makes the fingerprint of a text, which must be UTF-8. `fingerprint` receives width / 64 words; 0
// for a text without features, see nearprint_fingerprinter_count_features().
nearprint_status nearprint_fingerprinter_fingerprint(nearprint_fingerprinter *fingerprinter,
                                                     const char *text,
                                                     size_t text_len,
                                                     uint64_t *fingerprint,
                                                     nearprint_error *error);

// Counts the features of a text, which must be UTF-8: what the recipe compares, shingles or keywords,
// each as often as it occurs. `count` receives their number.
//
// All texts without features have the fingerprint 0. In a database of bands, 0 is near nothing; in
// others such texts would be near each other, so a program should not store or look up their
// fingerprints. nearprint_writer_insert_document() stores them with a fingerprint that is made of the key.
nearprint_status nearprint_fingerprinter_count_features(nearprint_fingerprinter *fingerprinter,
                                                        const char *text,
                                                        size_t text_len,
                                                        size_t *count,
                                                        nearprint_error *error);

// Frees the handle. Null is allowed.
void nearprint_fingerprinter_free(nearprint_fingerprinter *fingerprinter);
#endif /* NEARPRINT_NO_TEXTS */

#ifndef NEARPRINT_NO_TEXTS
// -------------------------------------------------------------------------------------------------
// Similarities of texts, documents to store
//
// One thread at a time for each fingerprinter; others get NEARPRINT_BUSY.
// -------------------------------------------------------------------------------------------------

// The number of bits in which two fingerprints of the recipe differ; for MinHash, bits of their sketches.
// Each has width / 64 words.
nearprint_status nearprint_fingerprinter_distance(nearprint_fingerprinter *fingerprinter,
                                                  const uint64_t *one,
                                                  const uint64_t *other,
                                                  uint32_t *distance,
                                                  nearprint_error *error);

// The similarity of two texts, 0 to 1, that a distance of their fingerprints suggests: an estimate of the
// Jaccard similarity for MinHash, and of the cosine for simhash.
nearprint_status nearprint_fingerprinter_estimate(const nearprint_fingerprinter *fingerprinter,
                                                  uint32_t distance,
                                                  double *similarity,
                                                  nearprint_error *error);

// The exact Jaccard similarity of two texts, 0 to 1: the features that both have, divided by those that
// one of them has. Features are compared by hashes of 24 bits or more: of texts of 200 words, up to 1 in 400 pairs
// shares a hash by chance. 0 for two texts without features. With another recipe than one of MinHash, these are the
// features of `minhash`: runs of three words.
nearprint_status nearprint_fingerprinter_similarity(nearprint_fingerprinter *fingerprinter,
                                                    const char *one,
                                                    size_t one_len,
                                                    const char *other,
                                                    size_t other_len,
                                                    double *similarity,
                                                    nearprint_error *error);

// Inserts a document: its fingerprint, its key, and what the database keeps with keys: its text, the hash
// of it, or its features, by which similarities are exact. A text without features gets a fingerprint that is
// made of its key, and is near nothing. Another document of the key stays beside it: to replace that, delete the key
// first. `id` receives the id of the row, the 64-bit
// xxh3 of the key, and may be null. NEARPRINT_MISMATCH unless the database has the recipe of the
// fingerprinter.
nearprint_status nearprint_writer_insert_document(nearprint_writer *writer,
                                                  nearprint_fingerprinter *fingerprinter,
                                                  const char *key,
                                                  size_t key_len,
                                                  const char *text,
                                                  size_t text_len,
                                                  uint64_t *id,
                                                  nearprint_error *error);

// Adds a document to a builder, as nearprint_writer_insert_document() does. The schema of the builder has
// the recipe and the layout of the fingerprinter.
nearprint_status nearprint_builder_push_document(nearprint_builder *builder,
                                                 nearprint_fingerprinter *fingerprinter,
                                                 const char *key,
                                                 size_t key_len,
                                                 const char *text,
                                                 size_t text_len,
                                                 uint64_t *id,
                                                 nearprint_error *error);
#endif /* NEARPRINT_NO_TEXTS */

#ifndef NEARPRINT_NO_TEXTS
// -------------------------------------------------------------------------------------------------
// Deduplication of texts
//
// Any number of threads may use a deduplicator at once. One thread closes and frees it.
// -------------------------------------------------------------------------------------------------

// Opens the database of a deduplication, or makes one. `deduplicator` receives the handle.
//
// `recipe` makes the fingerprints, see nearprint_fingerprinter_new(). Null: the recipe of the database,
// and `minhash` for a new one; NEARPRINT_MISMATCH for another one than the database has, but for the limit
// `near`, which counts for a new database alone. `similarity` is the least exact Jaccard similarity of
// duplicates, 0 to 1; 0 for the limit of the recipe of the database, which is 0.7 for `minhash`. It chooses the
// bands of a new database: nearprint_snapshot_recipe() tells the recipe that it has. A database that was made for a
// higher limit misses duplicates of a lower one: of one for 0.9, a quarter at 0.5.
//
// With a recipe of simhash and a `similarity` of 0, texts with fingerprints within the distance of the
// database are duplicates, and similarities are estimates. With another `similarity`, the words of these texts
// are compared, too. A new database keeps the texts for that. Texts of a lower similarity often have fingerprints
// that are further apart: MinHash finds them.
//
// With MinHash, similarities are exact: NEARPRINT_MISMATCH for a database that keeps neither texts nor features,
// such as one with the schema of NEARPRINT_KEYS.
//
// `options` may be null.
// NEARPRINT_LOCKED while the database has a writer, NEARPRINT_MISMATCH while it has an unfinished job of
// `nearprint dedup`, whose progress a commit would forget.
nearprint_status nearprint_deduplicator_open(const char *path,
                                             size_t path_len,
                                             const char *recipe,
                                             size_t recipe_len,
                                             double similarity,
                                             const nearprint_options *options,
                                             nearprint_deduplicator **deduplicator,
                                             nearprint_error *error);

// Decides documents in their order, and stores those that are kept. Earlier ones count, of this call, of other
// threads, and uncommitted ones. After a failure, some of the documents may have been decided.
//
// A document that is given again is a duplicate of itself, unless it has no word: nothing is near such a one.
// `documents` has keys and texts, and neither fingerprints nor ids. `kept` receives 1 for each one that is
// kept, and 0 otherwise; it may be null. `duplicates` receives a stream of those that are not kept, and
// may be null.
//
// Columns: groups (the number of the document, from 0), fingerprints (of the document), distances,
// similarities and keys (of the most similar kept one).
nearprint_status nearprint_deduplicator_decide(const nearprint_deduplicator *deduplicator,
                                               const nearprint_rows *documents,
                                               int32_t *kept,
                                               nearprint_stream **duplicates,
                                               nearprint_error *error);

// Returns when all that was decided before is durable, and visible to new snapshots. One sync serves all
// threads that call it in the meantime (group commit).
nearprint_status nearprint_deduplicator_commit(const nearprint_deduplicator *deduplicator,
                                               nearprint_error *error);

// Commits, flushes, waits for merges and releases the lock. NEARPRINT_BUSY while another thread uses the
// deduplicator. After a failure it is still open.
nearprint_status nearprint_deduplicator_close(const nearprint_deduplicator *deduplicator,
                                              nearprint_error *error);

// Frees the handle, without what was not committed. Null is allowed.
void nearprint_deduplicator_free(nearprint_deduplicator *deduplicator);
#endif /* NEARPRINT_NO_TEXTS */

#ifndef NEARPRINT_NO_TEXTS
// -------------------------------------------------------------------------------------------------
// Fingerprints of pictures
//
// Any thread.
// -------------------------------------------------------------------------------------------------

// Makes the fingerprint of a picture from the bytes of its file: JPEG, PNG, WebP, GIF (its first
// frame), TIFF, BMP or HEIC. It is turned as EXIF data say; transparent pixels are white. A file that is
// no such picture, is damaged, or has more than 120 million pixels is NEARPRINT_INVALID_ARGUMENT.
//
// `recipe` is `pdq` (256 bits: pictures within 31 bits are the same one), `dhash` or `phash` (64
// bits); NEARPRINT_RECIPE for another one. `fingerprint` receives 4 words, or 1. `quality`, if it is
// not null, receives a number from 0 to 100: how much there is to see. Only PDQ measures it, and others give 100; its
// authors recommend to ignore pictures of less than 50.
nearprint_status nearprint_picture_fingerprint(const char *recipe,
                                               size_t recipe_len,
                                               const uint8_t *bytes,
                                               size_t bytes_len,
                                               uint64_t *fingerprint,
                                               uint32_t *quality,
                                               nearprint_error *error);

// Makes the fingerprint of a picture of red, green and blue samples of 8 bits, pixel by pixel and
// row by row from the upper left: `3 * width * height` bytes, of any number of pixels. Otherwise as
// nearprint_picture_fingerprint().
nearprint_status nearprint_picture_fingerprint_rgb(const char *recipe,
                                                   size_t recipe_len,
                                                   size_t width,
                                                   size_t height,
                                                   const uint8_t *samples,
                                                   uint64_t *fingerprint,
                                                   uint32_t *quality,
                                                   nearprint_error *error);
#endif /* NEARPRINT_NO_TEXTS */

#ifdef __cplusplus
}
#endif

#endif /* NEARPRINT_H */
