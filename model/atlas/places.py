"""Reservoirs of rows: a random sample for each tenth of the strongest weight, and the rows with the strongest weight.

A sample of a group is its rows with the smallest hashes (bottom-k sampling, Cohen and Kaplan 2007). So neither the
order of the rows nor a split of the corpus changes it. Equal weights are ordered by the hash.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.atlas.reading import KEYS, BatchFound
from model.atlas.texts import TextTokens
from model.corpora.hashing import uniform_bits

__all__ = ["FORCED", "PLACE", "SIZES", "SPECIAL_ROW", "STRONGEST", "Places", "kept", "places_of"]

SMALLEST_SHARE = 0.005  # of the weight of a row: smaller keys are not kept
TENTHS, STRONGEST = 10, 10  # groups 0 to 9 are tenths of the strongest weight; group 10 has the strongest rows
SIZES = np.array([8] * TENTHS + [16])  # rows of a head in each group
FORCED, SPECIAL_ROW = 1, 2  # marks of a row

PLACE = np.dtype(
    [
        ("head", "<i4"),  # of the atlas, in the order of `Atlas.heads`
        ("group", "u1"),
        ("marks", "u1"),
        ("row", "<i4"),
        ("line", "<i8"),  # number of the text
        ("order", "<u8"),  # the smallest stay
        ("keys", "<i4", KEYS),  # strongest first; −1 for none
        ("weights", "<f2", KEYS),
    ]
)
Places = NDArray[np.void]


def kept(places: Places) -> Places:
    """The places that stay in their reservoirs, ordered by head, group and order."""
    return places[staying(places)]


def staying(places: Places) -> NDArray[np.int64]:
    """The indices of the places that stay."""
    sequence = np.lexsort((places["row"], places["line"], places["order"], places["group"], places["head"]))
    group = places["head"][sequence].astype(np.int64) * len(SIZES) + places["group"][sequence]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    rank = np.arange(len(group)) - np.repeat(starts, np.diff(starts, append=len(group)))
    return sequence[rank < SIZES[group % len(SIZES)]]


def places_of(found: BatchFound, texts: Sequence[TextTokens], *, first_head: int, written: bool, seed: int) -> Places:
    """The places of one kind of attention in a batch.

    Args:
        found: Of the batch.
        texts: Of the batch.
        first_head: The number of the first head of this kind.
        written: Its rows are written tokens. The model may be forced to write some.
        seed: Of the atlas.
    """
    weights, keys = np.stack(found.weights, axis=1), np.stack(found.keys, axis=1)  # (B, L, H, T, 8)
    real, special = found.layout.rows.cpu().numpy(), found.layout.row_classes[..., 0].cpu().numpy() > 0
    lines = np.array([text.line for text in texts])
    forced = np.arange(real.shape[1]) < np.array([text.forced for text in texts])[:, None]
    marks = special * SPECIAL_ROW + (forced & written) * FORCED  # (B, T)
    bits = uniform_bits(seed, lines[:, None], np.arange(real.shape[1])[None])  # (B, T)
    b, layer, head, t = np.nonzero(np.broadcast_to(real[:, None, None], weights.shape[:4]))
    strongest = weights[b, layer, head, t, 0]
    rows = np.zeros(len(b), dtype=PLACE)
    rows["head"] = first_head + layer * weights.shape[2] + head
    rows["group"] = np.minimum((strongest * TENTHS).astype(np.int64), TENTHS - 1)
    rows["order"], rows["marks"], rows["row"], rows["line"] = bits[b, t], marks[b, t], t, lines[b]
    top = rows.copy()
    # In the high bits, 1 minus the weight in steps of 2⁻²⁰; in the low bits, the hash.
    above = np.rint((1 - strongest.astype(np.float64)).clip(0, 1) * 2**20).astype(np.uint64)
    top["group"], top["order"] = STRONGEST, (above << np.uint64(40)) | (bits[b, t] >> np.uint64(24))
    chosen = [(one, staying(one)) for one in (rows, top)]
    places, at = np.concatenate([one[stay] for one, stay in chosen]), np.concatenate([stay for _, stay in chosen])
    found_weights, found_keys = (values[b[at], layer[at], head[at], t[at]] for values in (weights, keys))
    enough = found_weights >= SMALLEST_SHARE
    places["keys"], places["weights"] = np.where(enough, found_keys, -1), np.where(enough, found_weights, 0)
    return places
