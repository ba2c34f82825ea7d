"""One visitor: choices, links, own checkpoints, and the end of a page."""
