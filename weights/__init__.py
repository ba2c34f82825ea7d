"""Commands that made our corpora and checkpoints once. They do not belong to the library."""
