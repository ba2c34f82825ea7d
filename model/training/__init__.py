"""From a recipe to a checkpoint, and what it is worth."""
