"""Positional encodings: tables of checkpoints, sinusoids, and their sum with the embeddings."""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from model.checkpoints.checkpoint import CheckpointError
from model.config.section import ConfigError
from model.inference.run import Run
from model.inference.translate import record_translation
from model.inference.translation import Translation
from model.network.positional import sinusoidal_table
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey, listed_checkpoints
from viz_app.services.loading import loaded, translator
from viz_app.services.results import result_of, without_maps

__all__ = ["encoder_input_of", "learned_table", "position_table", "sinusoids"]

FloatArray = NDArray[np.float32]


@remembered()
def sinusoids(length: int, d_model: int, base: float) -> FloatArray:
    table: FloatArray = sinusoidal_table(length, d_model, base=base).numpy()
    return table


def position_table(key: CheckpointKey) -> FloatArray:
    """The positional encoding of a checkpoint, (max_length, d_model); for rotary positions the angles, (max_length, K).

    Raises:
        CheckpointError: the model has no such table.
    """
    checkpoint = loaded(key)
    found = checkpoint.model.position_table()
    if found is None:
        raise CheckpointError("{name} has no table of positions.", name=key.name)
    table: FloatArray = found.cpu().numpy()
    table.setflags(write=False)  # this memory belongs to the model
    return table


def learned_table() -> FloatArray | None:
    """The learned positions of the first checkpoint that has some, to compare with sinusoids; None without one."""
    for listed in listed_checkpoints():
        if listed.config is not None and listed.config.model.positional == "learned":
            with suppress(CheckpointError, ConfigError):  # the page of this checkpoint shows the problem
                return position_table(listed.key)
    return None


@remembered()
def encoder_input_of(key: CheckpointKey, text: str) -> tuple[Translation, FloatArray, FloatArray]:
    """The translation without its maps, the scaled embeddings (S, D), and their sum with the positions."""
    names = ("encoder.embedding.token_vectors", "encoder.embedding.sum")
    written = result_of(key, Run(text=text)).as_forced
    translation, recording = record_translation(translator(key), text, record=names, forced=written)
    vectors, total = (recording.array(name) for name in names)
    return without_maps(translation), vectors, total
