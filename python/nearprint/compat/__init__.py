"""Replacements for other packages: ``simhash``, ``simhash_db`` and ``datasketch``."""
