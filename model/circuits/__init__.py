"""Which parts of a model do a task, and what they pass to each other: circuits of heads and feed-forward networks."""
