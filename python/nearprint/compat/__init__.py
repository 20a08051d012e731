"""Replacements for other packages: ``simhash`` for simhash-py, ``simhash_db`` for simhash-db."""
