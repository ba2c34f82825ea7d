"""What a model would say if it stopped early: after fewer layers of the decoder, or of the encoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.streams import require_transformer
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.translate import record_translation, translate
from model.inference.translation import Translation

__all__ = ["EarlyReading", "Lens", "decoder_lens", "logit_lens"]

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Lens:
    """The likeliest token after each layer of the decoder; row 0 is the embedding before the first."""

    tokens: tuple[tuple[str, ...], ...]  # (L + 1, T)
    probabilities: FloatArray  # (L + 1, T), of that token
    written: FloatArray  # (L + 1, T), of the token that was written in the end


@dataclass(frozen=True, kw_only=True)
class EarlyReading:
    """What the decoder writes when it reads the encoder's state after so many layers."""

    layers: int
    text: str
    finished: bool


def stopped(state: Tensor, last: Tensor) -> Tensor:
    return state.to(last)


@torch.inference_mode()
def logit_lens(
    checkpoint: Checkpoint, text: str, *, forced: Mapping[int, int] = NOTHING_FORCED
) -> tuple[Translation, Lens]:
    """Project the state after each layer to the vocabulary, behind the last norm where there is one.

    The logit lens (nostalgebraist 2020); each position read what was really written before it.

    Raises:
        ConfigError: the model's stream cannot be followed.
    """
    model = require_transformer(checkpoint)
    layers = range(model.config.num_decoder_layers)
    names = ("decoder.embedding.sum", *(f"decoder.layers.{i}.feed_forward_residual.stream" for i in layers))
    translation, recording = record_translation(checkpoint, text, record=names, forced=forced)
    states = torch.stack([recording.trace.joined(name, recording.rows) for name in names])  # (L + 1, T, D)
    device = next(model.parameters()).device
    chances = model.project(model.decoder.norm(states.to(device))).softmax(dim=-1).cpu()  # (L + 1, T, V)
    best = chances.max(dim=-1)
    ids = torch.tensor([token.id for token in translation.written])
    return translation, Lens(
        tokens=tuple(checkpoint.tokenizers.target.tokens(row) for row in best.indices.tolist()),
        probabilities=best.values.numpy(),
        written=chances[:, torch.arange(len(ids)), ids].numpy(),
    )


def decoder_lens(checkpoint: Checkpoint, text: str) -> list[EarlyReading]:
    """Translate with the encoder stopped after each of its layers, none first (DecoderLens: Langedijk et al. 2024).

    Raises:
        ConfigError: the model's stream cannot be followed.
    """
    model = require_transformer(checkpoint)
    names = [f"encoder.layers.{i}.feed_forward_residual.stream" for i in range(model.config.num_encoder_layers)]
    states = ("encoder.embedding.sum", *names)
    whole, recording = record_translation(checkpoint, text, record=states)
    early = []
    for layers, name in enumerate(states[:-1]):
        (state,) = recording.trace.passes(name)  # (1, S, D)
        found = translate(checkpoint, text, edits={names[-1]: partial(stopped, state)})
        early.append(EarlyReading(layers=layers, text=found.text, finished=found.finished))
    return [*early, EarlyReading(layers=len(names), text=whole.text, finished=whole.finished)]
