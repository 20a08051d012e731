"""Makes src/recipe/categories/table.rs from the Unicode Character Database, or checks it.

    pip install unicodedata2==16.0.0
    python make.py [--check]

The recipes that databases store mean this version of Unicode, so the table never changes.
"""

import sys
from pathlib import Path

import unicodedata2

FILE = Path(__file__).parent.parent / "src/recipe/categories/table.rs"
VERSION = "16.0.0"
# As in `Category` of src/recipe/categories/mod.rs. The others are 4.
NUMBERS = {"Cn": 0, "L": 1, "M": 2, "N": 3, "Pc": 5}
OTHER = 4
HEADER = """\
//! Made by unicode/make.py from the Unicode Character Database 16.0.0, © Unicode, Inc., under the Unicode License v3.

/// The first character of each range, times 8, and the number of its category.
#[rustfmt::skip]
pub(super) const RANGES: &[u32] = &[
"""
PER_LINE = 10


def number(character):
    category = unicodedata2.category(chr(character))
    return NUMBERS.get(category, NUMBERS.get(category[0], OTHER))


def made():
    assert unicodedata2.unidata_version == VERSION, unicodedata2.unidata_version
    ranges, last = [], None
    for character in range(0x110000):
        if (category := number(character)) != last:
            ranges.append(character * 8 + category)
            last = category
    lines = (ranges[at : at + PER_LINE] for at in range(0, len(ranges), PER_LINE))
    return HEADER + "".join("    " + " ".join(f"{value}," for value in line) + "\n" for line in lines) + "];\n"


if sys.argv[1:] == ["--check"]:
    sys.exit(0 if FILE.read_text(encoding="utf-8") == made() else f"{FILE} is not what {__file__} makes")
FILE.write_text(made(), encoding="utf-8")
