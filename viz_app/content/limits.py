"""How much a picture shows. The app and the published pages show the same."""

from viz_app.content.shared import LIMITS

__all__ = ["MAX_CHIPS", "MAX_SENTENCES", "MAX_STEPS", "MAX_TILE", "WINDOW"]

MAX_CHIPS = LIMITS["chips"]  # tokens in a row of chips
MAX_SENTENCES = LIMITS["sentences"]  # of a padded batch
MAX_STEPS = LIMITS["steps"]  # of a translation; with more, the pictures of a step are wider than any screen
MAX_TILE = LIMITS["tile"]  # cells on a side of a small map; more cells would be smaller than a pixel
WINDOW = LIMITS["section"]  # tokens on a side of a large map, whose labels can be read
