"""How much a picture shows. The app and the published pages show the same."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["LIMITS", "MAX_CHIPS", "MAX_SENTENCES", "MAX_STEPS", "MAX_TILE", "WINDOW"]

MAX_CHIPS = 80  # tokens in a row of chips
MAX_SENTENCES = 4  # of a padded batch
MAX_STEPS = 60  # of a translation; with more, the pictures of a step are wider than any screen
MAX_TILE = 48  # cells on a side of a small map; more cells would be smaller than a pixel
WINDOW = 40  # tokens on a side of a large map, whose labels can be read
# As `live/limits.js` names them.
LIMITS: Mapping[str, int] = MappingProxyType(
    {"chips": MAX_CHIPS, "steps": MAX_STEPS, "tile": MAX_TILE, "section": WINDOW}
)
