"""Parts of the page Inside."""
