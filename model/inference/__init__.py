"""From a text to its translation, continuation or class, with the attention maps of the run that made it."""
