"""Parts of the page Checkpoints."""
