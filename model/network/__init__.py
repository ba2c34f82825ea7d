"""The Transformer, from masks to layers: token ids in, logits out."""
