"""The models that all visitors share, never changed; as many stay loaded as there is memory for."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
import torch
from numpy.typing import NDArray

from model.analysis.learning import list_snapshots, open_snapshot
from model.checkpoints.checkpoint import Checkpoint, CheckpointError, ClassifierCheckpoint
from model.checkpoints.languages import between
from model.config.section import ConfigError
from model.inference.opening import AnyConfig, open_checkpoint
from model.network.device import pick_device
from viz_app.server.cache import Cache
from viz_app.server.resources import threads
from viz_app.server.server_state import GATE, MEGABYTE, MODELS_SHARE, remembered
from viz_app.services.listing import CheckpointKey

__all__ = [
    "can_open",
    "config_of",
    "loaded",
    "parameter_table",
    "snapshot",
    "translator",
]

FloatArray = NDArray[np.float32]
DEVICE = os.environ.get("HEADLIGHT_DEVICE", "cpu")
torch.set_num_threads(threads())
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the app asks no host but its own


def loaded(key: CheckpointKey) -> Checkpoint | ClassifierCheckpoint:
    """The model that all visitors share; as many stay loaded as there is memory for."""

    def load() -> Checkpoint | ClassifierCheckpoint:
        folder = Path(key.path)
        with st.spinner("Loading the checkpoint …"):
            device = pick_device(DEVICE)
            most = MODELS_SHARE if device.type == "cpu" else None  # else it is not this memory that is filled
            return open_checkpoint(folder, device=str(device), max_bytes=most)

    checkpoint = MODELS.get(replace(key, source="", target=""), load)
    if key.target and isinstance(checkpoint, Checkpoint):
        return between(checkpoint, key.source, key.target)
    return checkpoint


def snapshot(key: CheckpointKey, step: int) -> Checkpoint:
    """A checkpoint as it was after `step` steps of its training; kept in memory with the other models.

    Raises:
        CheckpointError: its weights cannot be loaded.
    """
    trained = translator(key)
    return MODELS.get((key, step), lambda: open_snapshot(trained, list_snapshots(trained.path)[step]))


def model_bytes(checkpoint: object) -> int:
    """Of the parameters and buffers, and of a tokenizer as large as any."""
    assert isinstance(checkpoint, Checkpoint | ClassifierCheckpoint)
    tensors = [*checkpoint.model.parameters(), *checkpoint.model.buffers()]
    return sum(tensor.nbytes for tensor in tensors) + 8 * MEGABYTE


MODELS = Cache(capacity=MODELS_SHARE, size=model_bytes, waiting=GATE.outside)


def translator(key: CheckpointKey) -> Checkpoint:
    """Raises CheckpointError where the checkpoint is no translator."""
    checkpoint = loaded(key)
    if not isinstance(checkpoint, Checkpoint):
        raise CheckpointError(f"{key.name} classifies texts and does not translate.")
    return checkpoint


def config_of(key: CheckpointKey) -> AnyConfig:
    """Raises CheckpointError where the checkpoint cannot be loaded."""
    return loaded(key).config


@remembered()
def can_open(key: CheckpointKey) -> bool:
    """Whether the checkpoint can be loaded."""
    try:
        loaded(key)
    except (CheckpointError, ConfigError):
        return False
    return True


@remembered()
def parameter_table(key: CheckpointKey) -> pd.DataFrame:
    """Parameters per module, as the model has them in memory: shared matrices are counted once."""
    model = loaded(key).model
    rows = [(name, p.numel()) for name, p in model.named_parameters()]
    table = pd.DataFrame(rows, columns=["name", "parameters"])
    table["module"] = table["name"].str.replace(r"\.(weight|bias)$", "", regex=True)
    grouped = table.groupby("module", sort=False)["parameters"].sum().reset_index()
    grouped["share"] = grouped["parameters"] / grouped["parameters"].sum()
    return grouped
