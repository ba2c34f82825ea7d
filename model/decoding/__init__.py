"""Greedy search, sampling and beam search: source ids in, target ids out. No text.

Each search is a generator. It yields a `Step` after every pass of the decoder and returns its hypotheses.
"""
