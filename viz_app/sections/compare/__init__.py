"""Parts of the page Side by side."""
