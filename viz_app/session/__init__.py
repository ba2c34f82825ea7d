"""What belongs to one visitor: choices, links, own checkpoints, and how a page ends."""
