"""From files to sentences, and from sentences to batches."""
