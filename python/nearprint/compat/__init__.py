"""Modules that stand in for others: ``nearprint.compat.simhash`` for simhash-py."""
