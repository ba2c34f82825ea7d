"""The command line: its commands are in `commands.py`, their options in `commands.toml`."""
