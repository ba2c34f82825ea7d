"""Checkpoints, results and analyses for the pages, as plain arrays."""
