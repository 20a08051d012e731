"""Drives the C interface from another language: Python's ctypes, without any code of the Python package.

python3 abi.py LIBRARY FOLDER
"""

import ctypes
import sys
import threading
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, sizeof

OK, STOPPED, NOT_A_DATABASE = 0, 4, 10


class Columns(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("capacity", c_size_t),
        ("groups", POINTER(c_uint64)),
        ("fingerprints", POINTER(c_uint64)),
        ("ids", POINTER(c_uint64)),
        ("distances", POINTER(c_uint32)),
        ("other_fingerprints", POINTER(c_uint64)),
        ("other_ids", POINTER(c_uint64)),
        ("similarities", POINTER(c_double)),
    ]


MatchesFn = ctypes.CFUNCTYPE(
    c_int32, c_void_p, c_size_t, c_size_t, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint32)
)

library = ctypes.CDLL(sys.argv[1])
folder = sys.argv[2].encode()
for name in ["nearprint_error_new", "nearprint_error_message", "nearprint_version"]:
    getattr(library, name).restype = c_void_p if name.endswith("new") else c_char_p
library.nearprint_error_message.argtypes = [c_void_p, c_void_p]
error = c_void_p(library.nearprint_error_new())


def call(name, *arguments, expect=OK):
    status = getattr(library, "nearprint_" + name)(*arguments, error)
    message = library.nearprint_error_message(error, None).decode()
    assert status == expect, (name, status, message)
    return message


def free(name, handle):
    getattr(library, f"nearprint_{name}_free")(handle)


def words(*values):
    return (c_uint64 * len(values))(*values)


def main():
    assert library.nearprint_abi_version() == 1
    path = folder + b"/ctypes.np"
    database, writer, snapshot, stream = c_void_p(), c_void_p(), c_void_p(), c_void_p()
    message = call("database_open", path, c_size_t(len(path)), None, byref(database), expect=NOT_A_DATABASE)
    assert "ctypes.np" in message and database.value is None
    call("database_create", path, c_size_t(len(path)), None, None, byref(database))
    call("writer_open", database, byref(writer))
    prints = words(0x1F3A, 0x1F3B, 0x1F38, 0xFFFF0000)
    first = c_uint64()
    call("writer_insert", writer, prints, words(10, 11, 12, 13), c_size_t(4), byref(first))
    assert first.value == 10
    call("writer_close", writer)
    free("writer", writer)
    call("snapshot_take", database, byref(snapshot))
    free("database", database)

    ids, distances, count = (c_uint64 * 8)(), (c_uint32 * 8)(), c_size_t()
    columns = Columns(struct_size=sizeof(Columns), capacity=8, ids=ids, distances=distances)
    call("snapshot_query", snapshot, words(0x1F3A), c_uint32(3), byref(columns), byref(count))
    assert (list(ids[: count.value]), list(distances[: count.value])) == ([10, 12, 11], [0, 1, 1])

    call("snapshot_clusters", snapshot, c_uint32(3), byref(stream))
    groups = (c_uint64 * 2)()
    columns = Columns(struct_size=sizeof(Columns), capacity=2, groups=groups, ids=ids)
    rows = []
    while True:
        call("stream_next", stream, byref(columns), byref(count))
        if count.value == 0:
            break
        rows += zip(groups[: count.value], ids[: count.value])
    assert rows == [(0, 12), (0, 10), (0, 11)], rows
    free("stream", stream)

    # Callbacks, and a snapshot that threads share.
    def threaded(found):
        def visit(_, query, matches, *columns):
            found.append((query, matches))
            return 0

        status = library.nearprint_snapshot_visit_matches(
            snapshot, prints, c_size_t(4), c_uint32(3), c_size_t(2**64 - 1), MatchesFn(visit), None, None
        )
        found.append(status)

    results = [[] for _ in range(4)]
    threads = [threading.Thread(target=threaded, args=(found,)) for found in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[(0, 3), (1, 3), (2, 3), (3, 1), OK]] * 4, results
    stop = MatchesFn(lambda *_: 3)
    message = call(
        "snapshot_visit_matches", snapshot, prints, c_size_t(4), c_uint32(3), c_size_t(1), stop, None, expect=STOPPED
    )
    assert "returned 3" in message
    free("snapshot", snapshot)
    free("error", error)
    print("ctypes: database, queries, clusters, callbacks, threads")


main()
