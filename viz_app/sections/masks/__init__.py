"""Parts of the page Masks."""
