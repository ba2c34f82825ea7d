"""Parts of the page Step by step."""
