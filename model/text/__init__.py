"""Text to token ids and back, and nothing else."""
