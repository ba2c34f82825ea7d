"""Text on its way to token ids: corpora, tokenizers and batches."""
