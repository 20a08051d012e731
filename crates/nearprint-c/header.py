#!/usr/bin/env python3
"""Prints nearprint.h: the declarations that cbindgen makes, in sections.

    crates/nearprint-c/header.py > FILE

A section is a module of src/lib.rs, in that order. It has the constants, types and functions of the module in the
order of its file. The handles come first.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

TOP = """\
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
"""

NUL_TERMINATED = """\
// The length of a string that ends with a null byte. -1 is the same, but for warnings about signs.
#define NEARPRINT_NUL_TERMINATED SIZE_MAX"""

INITS = {
    "nearprint_schema": "nearprint_schema_init_sized(schema, sizeof *schema);",
    "nearprint_options": "nearprint_options_init_sized(options, sizeof *options);",
}

SECTIONS = {
    "status": ("Versions and codes", "Any thread."),
    "error": ("Errors", "One thread at a time for each error object. A program needs one for each thread."),
    "events": ("Events", "A structure belongs to the call that receives it."),
    "settings": ("Settings", "Any thread."),
    "columns": ("Columns of results", "A structure belongs to the call that it is passed to."),
    "text": ("Fingerprints as text", "Any thread."),
    "database": ("Databases", "Any number of threads may use a database at once."),
    "rows": ("Rows to store", "A structure belongs to the call that it is passed to."),
    "builder": ("Builders", "One thread at a time for each builder; others get NEARPRINT_BUSY."),
    "snapshot": ("Snapshots", "Any number of threads may use a snapshot at once."),
    "query": ("Queries", "Any number of threads may use a snapshot at once."),
    "stream": ("Streams", "Any number of threads may use a snapshot at once. A stream is read by one thread at a time;\n"
               "others get NEARPRINT_BUSY."),
    "views": ("Keys of results, matches as a stream, copies", "Any number of threads may use a snapshot at once."),
    "follower": ("A second folder", "One thread at a time for each follower; others get NEARPRINT_BUSY."),
    "documents": ("Documents", "Any number of threads may use a snapshot at once."),
    "writer": ("Writers", "One thread at a time for each writer; others get NEARPRINT_BUSY."),
    "batches": ("Writers: batches, deletions, rollback", "As of writers and builders."),
    "shared": ("Writers for several threads", "Any number of threads may use a shared writer at once. One thread closes and frees it."),
    "lists": ("Lists in memory", "Any thread. A stream is read by one thread at a time."),
    "fingerprinter": ("Fingerprints of texts", "One thread at a time for each fingerprinter; others get NEARPRINT_BUSY."),
    "similarity": ("Similarities of texts, documents to store", "One thread at a time for each fingerprinter; others get NEARPRINT_BUSY."),
    "deduplicator": ("Deduplication of texts", "Any number of threads may use a deduplicator at once. One thread closes and frees it."),
    "images": ("Fingerprints of pictures", "Any thread."),
}

# What a library without the features `images` and `texts` does not have.
OF_TEXTS = ["documents", "fingerprinter", "similarity", "deduplicator", "images"]

RULE = "// " + "-" * 97
ITEM = re.compile(r"^pub (?:const|type|struct|(?:unsafe )?extern \"C\" fn) (\w+)", re.M)
NAME = re.compile(
    r"^#define (\w+)|^typedef struct (\w+) |^} (\w+);|^typedef \w+ (\w+);|^typedef \w+ \(\*(\w+)\)|^[a-z].*?\b(nearprint_\w+)\(",
    re.M,
)


def declarations():
    """The declarations of cbindgen with their comments, by name."""
    made = subprocess.run(
        ["cbindgen", "--quiet", "--config", "cbindgen.toml", "."], cwd=HERE, check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for item in re.split(r"\n\n(?!//)|\n\n(?=// )", re.sub(r"(?m)^#(if|end|include|ifn).*$|^extern \"C\".*$|^}  //.*$", "", made)):
        item = item.strip("\n")
        code = "\n".join(line for line in item.splitlines() if not line.lstrip().startswith("//"))
        if name := NAME.search(code):
            found[next(filter(None, name.groups()))] = item
    return found


def items_of(module):
    """The names of the public items of a module, in the order of its files."""
    file = HERE / "src" / f"{module}.rs"
    files = [file] if file.exists() else sorted((HERE / "src" / module).glob("*.rs"), reverse=True)
    return [name for path in files for name in ITEM.findall(path.read_text())]


def init_of(name):
    """The function that sets the size of a structure."""
    variable = name.removeprefix("nearprint_")
    body = INITS.get(name, f"memset({variable}, 0, sizeof *{variable});\n  {variable}->struct_size = sizeof *{variable};")
    rest = "the defaults" if name in INITS else "0 in all other fields"
    return (
        f"// Sets the size of the structure, and {rest}.\n"
        f"static inline void {name}_init({name} *{variable}) {{\n  {body}\n}}"
    )


def section(module, found):
    """A section: types and constants, then functions, then those that set the sizes of structures."""
    title, threads = SECTIONS[module]
    threads = "\n".join(f"// {line}" for line in threads.splitlines())
    items = {name: found.pop(name) for name in items_of(module) if name in found}
    functions = [item for item in items.values() if item.endswith(");") and "typedef" not in item]
    others = [item for item in items.values() if item not in functions]
    inits = [init_of(name) for name, item in items.items() if "size_t struct_size;" in item]
    text = "\n\n".join([f"{RULE}\n// {title}\n//\n{threads}\n{RULE}", *others, *functions, *inits])
    return f"#ifndef NEARPRINT_NO_TEXTS\n{text}\n#endif /* NEARPRINT_NO_TEXTS */" if module in OF_TEXTS else text


def main():
    found = declarations()
    version = [found.pop(name) for name in ("NEARPRINT_ABI_VERSION", "NEARPRINT_VERSION_NUMBER")]
    handles = [name for name, item in found.items() if "typedef struct nearprint_" in item]
    parts = [*version, NUL_TERMINATED, f"{RULE}\n// Handles\n{RULE}", *(found.pop(name) for name in handles)]
    parts += [section(module, found) for module in SECTIONS]
    if found:
        sys.exit(f"header.py: no section has {', '.join(found)}")
    example = (HERE / "examples" / "header.c").read_text().splitlines()
    example = "\n".join(f" *     {line}".rstrip() for line in example)
    print(TOP + " *\n" + example + "\n */")
    print("\n#ifndef NEARPRINT_H\n#define NEARPRINT_H\n")
    print("/* Generated from crates/nearprint-c/src by header.py and cbindgen. */\n")
    print("#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n")
    print('#ifdef __cplusplus\nextern "C" {\n#endif\n')
    print("\n\n".join(parts))
    print('\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* NEARPRINT_H */')


main()
