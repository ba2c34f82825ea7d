"""The commands of `python -m weights`: one file per command."""
