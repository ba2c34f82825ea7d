"""Parts of the page Positional encoding."""
