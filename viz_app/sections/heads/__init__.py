"""Parts of the page Heads."""
