"""Settings of models, tokenizers, searches, training runs and recipes, as frozen dataclasses with checked values."""
