"""Folders of trained weights: save, load, list and check them, ours and those of a tutorial."""
