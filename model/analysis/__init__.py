"""Analyses of a model: recordings of its runs in, arrays out."""
