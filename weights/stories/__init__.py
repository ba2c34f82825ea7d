"""Short English stories, drawn from scenes and words of our own. The tiny language models learn from them."""
