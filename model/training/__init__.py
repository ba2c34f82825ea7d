"""From a recipe to a checkpoint and its evaluation."""
