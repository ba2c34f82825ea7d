"""What Python and JavaScript both read: the pages, the choices in a link, and how much a picture shows.

`live/shared.json` states each once. A published page holds its own part of it (`viz_app/export/live_page.py`).
"""

import json
from collections.abc import Mapping
from typing import Any

from model.config.paths import HOME

__all__ = [
    "CHOICES",
    "FAMILIES",
    "LIMITS",
    "MAX_CHIPS",
    "MAX_SENTENCES",
    "MAX_STEPS",
    "MAX_TILE",
    "PAGES",
    "PUBLISHED_PAGES",
    "SHARED",
    "SWITCHES",
    "TASK_TITLES",
    "WINDOW",
]

SHARED = HOME / "live" / "shared.json"
FOUND = json.loads(SHARED.read_text(encoding="utf-8"))
LIMITS: Mapping[str, int] = FOUND["limits"]
PAGES: Mapping[str, Mapping[str, str]] = FOUND["pages"]  # name → section, icon, title and instruction, in English
# Task → the "title" of the page Translate for a model that does not translate.
TASK_TITLES: Mapping[str, Mapping[str, str]] = FOUND["tasks"]
# The pages of a published page in their order, with those of their texts that are others than in the app.
PUBLISHED_PAGES: Mapping[str, Mapping[str, str]] = FOUND["published_pages"]
# Name → its form in a link; "published", the expression for its values in a published page; or "always", the value
# that a published page always shows. Names never change.
CHOICES: Mapping[str, Mapping[str, Any]] = FOUND["choices"]
# The choices that say all of themselves: their "label" and "help"; and "view" or "run", what they change.
SWITCHES = {name: choice for name, choice in CHOICES.items() if "label" in choice}
# Each family of models of `transformers` that the engine in the browser computes → the task of its base.
FAMILIES: Mapping[str, str] = {family: task for task, families in FOUND["families"].items() for family in families}
MAX_CHIPS = LIMITS["chips"]  # tokens in a row of chips
MAX_SENTENCES = LIMITS["sentences"]  # of a padded batch
MAX_STEPS = LIMITS["steps"]  # of a translation; with more, the pictures of a step are wider than any screen
MAX_TILE = LIMITS["tile"]  # cells on a side of a small map; more cells would be smaller than a pixel
WINDOW = LIMITS["section"]  # tokens on a side of a large map, whose labels can be read
