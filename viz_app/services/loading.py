"""The models that all visitors share. Nobody changes them. As many stay loaded as fit into memory."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
import streamlit as st
import torch
from numpy.typing import NDArray

from model.analysis.learning import list_snapshots, open_snapshot
from model.checkpoints.checkpoint import Checkpoint, CheckpointError, ClassifierCheckpoint, Unused
from model.checkpoints.languages import with_languages
from model.config.foreign import ChatFrame, ForeignConfig
from model.config.section import ConfigError
from model.foreign.chat_template import frame_of, with_chat
from model.inference.continuation import with_continuation
from model.inference.opening import AnyConfig, open_checkpoint
from model.network.device import pick_device
from model.network.direct import direct
from model.network.own_model import OwnModel
from viz_app.content.translation import t
from viz_app.server.resources import available, threads
from viz_app.server.server_state import GATE, MEGABYTE, MODELS_SHARE, Cache, remembered
from viz_app.services.listing import CheckpointKey

__all__ = [
    "can_open",
    "chat_frame",
    "classifier",
    "config_of",
    "loaded",
    "parameter_table",
    "snapshot",
    "translator",
    "unused_parts",
]

FloatArray = NDArray[np.float32]
Opened = TypeVar("Opened", bound=Checkpoint | ClassifierCheckpoint)
DEVICE = os.environ.get("HEADLIGHT_DEVICE", "cpu")
torch.set_num_threads(threads())
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the app never asks another host


def loaded(key: CheckpointKey) -> Checkpoint | ClassifierCheckpoint:
    """The model of this checkpoint, loaded if it is not in memory.

    Raises:
        CheckpointError, ConfigError: it cannot be loaded.
    """

    def load() -> Checkpoint | ClassifierCheckpoint:
        folder = Path(key.path)
        with st.spinner(t("Loading the checkpoint …")):
            device = pick_device(DEVICE)
            # Weights on another device do not fill this memory. Other models leave it when this one needs their place.
            most = min(MODELS_SHARE, available() + MODELS.size) if device.type == "cpu" else None
            return called_directly(open_checkpoint(folder, device=str(device), max_bytes=most))

    checkpoint = MODELS.get(key.model, load)
    if isinstance(checkpoint, Checkpoint):
        return as_chosen(checkpoint, key)
    return checkpoint


def called_directly(checkpoint: Opened) -> Opened:
    """The checkpoint with a faster form of our own models, see `direct`. Modules of a library may call each other."""
    model: object = checkpoint.model
    return replace(checkpoint, model=cast(Any, direct(model))) if isinstance(model, OwnModel) else checkpoint


def as_chosen(checkpoint: Checkpoint, key: CheckpointKey) -> Checkpoint:
    """The checkpoint with what the visitor chose: two languages, or how it continues a text."""
    if key.target:
        return with_languages(checkpoint, key.source, key.target)
    if key == key.model:
        return checkpoint
    longer = with_continuation(checkpoint, new_tokens=key.new_tokens)
    return with_chat(longer, chat_frame(key.model)) if key.chat else longer


@remembered("Reading the chat template …")
def chat_frame(key: CheckpointKey) -> ChatFrame:
    """What the chat template of a language model adds to a text.

    Raises:
        ConfigError: it has no template, or the template cannot be used.
    """
    config = config_of(key)
    assert isinstance(config, ForeignConfig)
    return frame_of(config, key.name)


def snapshot(key: CheckpointKey, step: int) -> Checkpoint:
    """The checkpoint after `step` training steps; kept in memory with the other models.

    Raises:
        CheckpointError: its weights cannot be loaded.
    """
    trained = translator(key)

    def load() -> object:
        opened = called_directly(open_snapshot(trained, list_snapshots(trained.path)[step]))
        # A file of weights has no tokenizers of its own, so only the model counts.
        return opened.model if opened.tokenizers is trained.tokenizers else opened

    kept = MODELS.get((key, step), load)
    return kept if isinstance(kept, Checkpoint) else replace(trained, model=cast(Any, kept))


def model_bytes(loaded: Any) -> int:
    """Bytes of the parameters and buffers of a model in the cache; of a checkpoint, with tokenizers as large as any.

    Memory that several of them share counts once.
    """
    whole = isinstance(loaded, Checkpoint | ClassifierCheckpoint)
    model = loaded.model if whole else loaded
    storages = [tensor.untyped_storage() for tensor in (*model.parameters(), *model.buffers())]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values()) + 8 * MEGABYTE * whole


MODELS = Cache(capacity=MODELS_SHARE, size=model_bytes, waiting=GATE.outside)


def translator(key: CheckpointKey) -> Checkpoint:
    """The model, if it translates or writes.

    Raises:
        CheckpointError: it classifies texts.
    """
    checkpoint = loaded(key)
    if not isinstance(checkpoint, Checkpoint):
        raise CheckpointError("{name} classifies texts and does not translate.", name=key.name)
    return checkpoint


def classifier(key: CheckpointKey) -> ClassifierCheckpoint:
    """The model, if it classifies.

    Raises:
        CheckpointError: it translates and does not classify.
    """
    checkpoint = loaded(key)
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError("{name} translates and does not classify.", name=key.name)
    return checkpoint


def config_of(key: CheckpointKey) -> AnyConfig:
    """The configuration of a checkpoint, loaded if it is not in memory.

    Raises:
        CheckpointError, ConfigError: it cannot be loaded.
    """
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
def unused_parts(key: CheckpointKey) -> Unused:
    """What is in the folder of a checkpoint and is not used; nothing where it cannot be loaded."""
    try:
        return loaded(key).unused
    except (CheckpointError, ConfigError):
        return Unused()


@remembered()
def parameter_table(key: CheckpointKey) -> pd.DataFrame:
    """Parameters per module of the loaded model; shared matrices count once."""
    model = loaded(key).model
    rows = [(name, p.numel()) for name, p in model.named_parameters()]
    table = pd.DataFrame(rows, columns=["name", "parameters"])
    table["module"] = table["name"].str.replace(r"\.(weight|bias)$", "", regex=True)
    grouped = table.groupby("module", sort=False)["parameters"].sum().reset_index()
    grouped["share"] = grouped["parameters"] / grouped["parameters"].sum()
    return grouped
