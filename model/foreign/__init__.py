"""Models that we did not train: those of Hugging Face's `transformers`, behind the calls of our own translators."""
