"""Trains two tiny models on our stories: one continues a text as GPT-2 does, one fills gaps as BERT does."""
