"""Files to sentences and batches."""
