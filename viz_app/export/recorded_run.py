"""The recorded run of one text as data for the page of `live/`: its tokens, probabilities, maps and masks."""

import base64
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from model.inference.result import Result
from model.inference.tokens import Token
from viz_app.components.encoding import Data, packed

__all__ = ["heads_of", "run_data"]


def run_data(translation: Result, *, maps: bool = True) -> Data:
    """A translation in the form of `Translation` in `live/engine/types.d.ts`. Every number is exact.

    The tokens that the decoder read are the first one and those that it wrote, so only the first one is repeated.

    Args:
        translation: A translation, a continuation or a reading.
        maps: Include its maps and masks.
    """
    return {
        "text": translation.text,
        "source": [token_data(token) for token in translation.source],
        "start": token_data(translation.read[0]) if translation.read else None,
        "written": [token_data(token) for token in translation.written],
        "finished": translation.finished,
        "dropped": translation.dropped,
        "languages": list(translation.languages),
        "given": translation.prompt_length,
        "fixed_start": translation.first_token_fixed,
        "maps": {kind: weights_data(weights) for kind, weights in translation.maps.items()} if maps else {},
        "masks": {kind: mask_data(mask) for kind, mask in translation.masks.items()} if maps else {},
    }


def token_data(token: Token) -> Data:
    data: dict[str, object] = {"text": token.text, "id": token.id, "word": token.word}
    if token.unknown:
        data["unknown"] = True
    if token.part:
        data["part"] = token.part
    if token.candidates or not math.isnan(token.probability):  # of a written token
        data |= {"probability": token.probability, "entropy": token.entropy}
    if token.candidates:
        data["candidates"] = [{"text": c.token, "probability": c.probability, "id": c.id} for c in token.candidates]
    return data


def weights_data(weights: NDArray[np.float32]) -> Data:
    """Float32, (L, H, T, S). Half precision would change the last digits that the page shows."""
    return {"shape": weights.shape, "data": packed(weights)}


def mask_data(mask: NDArray[np.bool_]) -> Data:
    """A byte for each cell, (L, T, S): 1 where the query may attend to the key."""
    return {"shape": mask.shape, "data": base64.b64encode(mask.astype(np.uint8).tobytes()).decode("ascii")}


def heads_of(translation: Result) -> Mapping[str, Sequence[int]]:
    """Kind → number of layers, heads in a layer."""
    return {kind: weights.shape[:2] for kind, weights in translation.maps.items()}
