"""Circuits: the parts of a model that make the difference between two texts, and what they pass to each other."""

from viz_app.content.tasks import TASKS
from viz_app.sections.circuits import find_and_draw, require_pairs
from viz_app.widgets import checkpoint_choice

key, _ = checkpoint_choice.require_model(*TASKS)
find_and_draw(key, require_pairs(key))
