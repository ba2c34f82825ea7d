"""Tooling that made our corpora and checkpoints once. It is no part of the library."""
