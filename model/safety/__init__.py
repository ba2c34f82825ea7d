"""Limits for the files of a checkpoint that somebody else made. They hold for every format that opens.

Text is read up to a number of bytes and a depth. Names and shapes of the weights are known before a weight is read. A
configuration is compared with these shapes before a model is built, so a folder gets only as much memory and time as it
has weights for. Nothing in a file runs as code.
"""
