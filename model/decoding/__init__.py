"""Token ids in, token ids out, one step at a time."""
