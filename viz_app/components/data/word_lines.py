"""Lines between the token chips of a page."""

import numpy as np
from numpy.typing import NDArray

from viz_app.components.data.encoding import Data, packed

__all__ = ["word_lines_data"]


def word_lines_data(weights: NDArray[np.float32], kind: str, *, title: str, given: int, in_map: bool) -> Data:
    """The weights of a map (T, S), and the chips of its rows and columns.

    Args:
        weights: Of one head, or the mean of several.
        kind: One of `KINDS`.
        title: Of a saved picture of the chips and lines.
        given: Tokens of a prompt, whose chips are among those that are read.
        in_map: The large map on the page has exactly these rows and columns.
    """
    queries, keys = weights.shape
    # The position that writes a token is the query of its row. As a key, a position is the token that it has read.
    writes = {"row": "writes", "from": -given}
    rows = {
        "cross": (writes, {"row": "reads", "from": 0}),
        "encoder": ({"row": "reads", "from": 0},) * 2,
        "decoder": (writes, {"row": "writes", "from": -given - 1}),
    }
    query, key = rows[kind]
    return {
        "title": title,
        "weights": packed(weights),
        "queries": queries,
        "keys": keys,
        "query_row": query["row"],
        "query_from": query["from"],
        "key_row": key["row"],
        "key_from": key["from"],
        "in_map": in_map,
    }
