"""The same question asked of the two tiny models: what a GPT and a BERT can look at for one word of a text."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.config.paths import CHECKPOINTS
from model.inference.run import Run
from model.inference.tokens import Candidate
from model.inference.translation import Translation
from viz_app.services.listing import CheckpointKey, list_one
from viz_app.services.results import result_of

__all__ = ["BERT", "Seen", "seen_by_bert", "seen_by_gpt"]

BERT, GPT = "tiny-bert-en", "tiny-gpt-en"
MASK = "[MASK]"
FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a model looks at when it chooses one word, and the head that looks most at the token before.

    Attributes:
        guess: Its most probable token.
        keys: How many tokens have a weight above 0 in some head.
        later: Whether a token after the word is among them.
        place: The layer and the head, from 1.
        weight: The mean weight of this head on the token before each query.
    """

    guess: Candidate
    keys: int
    later: bool
    place: tuple[int, int]
    weight: float


def seen_by_bert(text: str) -> Seen | None:
    """What BERT looks at to fill the first gap of a text; None if there is no gap."""
    read = result_of(key_of(BERT), Run(text=text))
    gap = next((place for place, token in enumerate(read.source) if token.candidates), None)
    return None if gap is None else seen(read, "encoder", gap, read.source[gap].candidates[0])


def seen_by_gpt(text: str) -> Seen | None:
    """What GPT looks at to continue the part of a text before the first gap; None if this part is empty."""
    before = text.partition(MASK)[0].strip()
    if not before:
        return None
    run = result_of(key_of(GPT), Run(text=before))
    return seen(run, "decoder", run.prompt_length, run.written[run.prompt_length].candidates[0])


def key_of(name: str) -> CheckpointKey:
    return list_one(CHECKPOINTS / name).key


def seen(run: Translation, kind: str, query: int, guess: Candidate) -> Seen:
    maps = run.maps[kind]
    looked_at: NDArray[np.bool_] = np.any(maps[:, :, query] > 0, axis=(0, 1))  # (S,)
    back: FloatArray = np.diagonal(maps, offset=-1, axis1=2, axis2=3).mean(axis=-1)  # (L, H)
    layer, head = np.unravel_index(int(back.argmax()), back.shape)
    return Seen(
        guess=guess,
        keys=int(looked_at.sum()),
        later=bool(looked_at[query + 1 :].any()),
        place=(int(layer) + 1, int(head) + 1),
        weight=float(back.max()),
    )
