"""What the pages ask for: checkpoints, translations, masks. The only file that caches.

Models are shared by all visitors and never changed; results are plain arrays. Every cache has a bound, and its keys
name a checkpoint by its folder and the state of its files: a retrained one is never confused with its predecessor.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from model.analysis.anatomy import Anatomy, anatomy, value_norms
from model.analysis.importance import gradient_importance, make_examples
from model.analysis.mask_bugs import BugReport, mask_bug
from model.analysis.padded_batch import STAGES, PaddedBatch, padded_batch
from model.analysis.statistics import head_metrics
from model.checkpoint import (
    Checkpoint,
    CheckpointConfig,
    CheckpointError,
    ClassifierCheckpoint,
    find_checkpoints,
    load_checkpoint,
    load_classifier,
    read_config,
)
from model.config import ConfigError, SearchConfig
from model.inference.classify import Classification, classify
from model.inference.search_tree import SearchTree, search_tree
from model.inference.translate import GREEDY, Translation, record_translation, translate
from model.interventions import Intervention
from model.kinds import KINDS
from model.network.positional import sinusoidal_table

__all__ = [
    "MAX_CHARACTERS",
    "STAGES",
    "UNTOUCHED",
    "CheckpointKey",
    "Forced",
    "Listed",
    "a_learned_table",
    "anatomy_of",
    "batch_of",
    "bug_of",
    "checkpoint_figures",
    "classification_of",
    "config_of",
    "encoder_input_of",
    "gradient_importance_of",
    "head_metrics_of",
    "listed_checkpoints",
    "model_card",
    "parameter_table",
    "position_table",
    "search_tree_of",
    "sinusoids",
    "training_history",
    "translation_of",
    "translator",
    "value_norms_of",
]

FloatArray = NDArray[np.float32]
BUNDLED = Path(__file__).resolve().parent.parent / "checkpoints"
MAX_CHARACTERS = 20_000
# Small models gain little from a second thread; other visitors, and a browser on the same laptop, gain much.
torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))


@dataclass(frozen=True)
class CheckpointKey:
    """Names one state of one checkpoint."""

    path: str
    version: str

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A checkpoint that was found: its configuration, or the sentence that says why it cannot be used."""

    key: CheckpointKey
    config: CheckpointConfig | None
    problem: str = ""
    megabytes: float = 0.0


def folders() -> list[Path]:
    """Where checkpoints are looked for: the bundled ones, then the folders in `HEADLIGHT_CHECKPOINTS`."""
    named = os.environ.get("HEADLIGHT_CHECKPOINTS", "")
    return [BUNDLED, *(Path(name) for name in named.split(os.pathsep) if name)]


def listed_checkpoints() -> list[Listed]:
    """Everything that looks like a checkpoint, read anew each time: a freshly trained one appears at once."""
    return [list_one(path) for path in find_checkpoints(folders()).values()]


def list_one(path: Path) -> Listed:
    files = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
    stats = [(file.name, file.stat()) for file in files]
    version = "|".join(f"{name}:{stat.st_mtime_ns}:{stat.st_size}" for name, stat in stats)
    key = CheckpointKey(path=str(path), version=version)
    megabytes = sum(stat.st_size for _, stat in stats) / 1e6
    try:
        config = read_config(path)
        if not any(name == "model.safetensors" for name, _ in stats):
            raise CheckpointError(f"{path.name} has no model.safetensors yet; its training may still be running.")
    except CheckpointError as error:
        return Listed(key=key, config=None, problem=str(error), megabytes=megabytes)
    return Listed(key=key, config=config, megabytes=megabytes)


@st.cache_resource(max_entries=4, show_spinner="Loading the checkpoint …")
def loaded(key: CheckpointKey) -> Checkpoint | ClassifierCheckpoint:
    folder = Path(key.path)
    return load_classifier(folder) if read_config(folder).task == "classification" else load_checkpoint(folder)


def translator(key: CheckpointKey) -> Checkpoint:
    """Raises CheckpointError where the checkpoint is no translator."""
    checkpoint = loaded(key)
    if not isinstance(checkpoint, Checkpoint):
        raise CheckpointError(f"{key.name} classifies texts and does not translate.")
    return checkpoint


def config_of(key: CheckpointKey) -> CheckpointConfig:
    """Raises CheckpointError where the checkpoint cannot be loaded."""
    return loaded(key).config


Forced = tuple[tuple[int, int], ...]  # (position, target id) pairs
UNTOUCHED = Intervention()


@st.cache_data(max_entries=128, show_spinner="Translating …")
def translation_of(
    key: CheckpointKey,
    text: str,
    search: SearchConfig = GREEDY,
    forced: Forced = (),
    intervention: Intervention = UNTOUCHED,
) -> Translation:
    """Translate `text` and keep the maps; texts beyond `MAX_CHARACTERS` are cut before anything else is done.

    What a visitor forces or ablates is part of the key and of nothing else: no one else's translation changes.
    """
    edits = intervention.edits()
    return translate(translator(key), text[:MAX_CHARACTERS], search=search, forced=dict(forced), edits=edits)


@st.cache_data(max_entries=64, show_spinner="Searching …")
def search_tree_of(key: CheckpointKey, text: str, search: SearchConfig, forced: Forced = ()) -> SearchTree:
    return search_tree(translator(key), text[:MAX_CHARACTERS], search=search, forced=dict(forced))


@st.cache_data(max_entries=32, show_spinner=False)
def anatomy_of(key: CheckpointKey, text: str, kind: str, layer: int) -> tuple[Translation, Anatomy]:
    """Raises ConfigError where the checkpoint does not compute scaled dot products."""
    return anatomy(translator(key), text[:MAX_CHARACTERS], kind, layer)


@st.cache_data(max_entries=32, show_spinner=False)
def value_norms_of(key: CheckpointKey, text: str, search: SearchConfig = GREEDY) -> Mapping[str, FloatArray]:
    """Kind → length of each value after the output projection, (L, H, S)."""
    return value_norms(translator(key), text[:MAX_CHARACTERS], search=search)[1]


@st.cache_data(max_entries=32, show_spinner=False)
def encoder_input_of(key: CheckpointKey, text: str) -> tuple[Translation, FloatArray, FloatArray]:
    """The translation, the scaled embeddings of the source (S, D), and their sum with the encoding (S, D)."""
    names = ("encoder.embedding.token_vectors", "encoder.embedding.sum")
    translation, recording = record_translation(translator(key), text[:MAX_CHARACTERS], record=names)
    vectors, total = (recording.array(name) for name in names)
    return translation, vectors, total


@st.cache_data(max_entries=32, show_spinner=False)
def bug_of(key: CheckpointKey, texts: tuple[str, ...], name: str = "") -> BugReport:
    """What one of the mask mistakes, or with no name none, does to a batch."""
    return mask_bug(translator(key), tuple(text[:MAX_CHARACTERS] for text in texts), name)


@st.cache_data(max_entries=512, show_spinner=False)
def head_metrics_of(key: CheckpointKey, text: str) -> Mapping[str, Mapping[str, FloatArray]]:
    """Kind → metric → (L, H, T) of the queries of one translation."""
    translation = translate(translator(key), text[:MAX_CHARACTERS])
    found = {}
    for kind in config_of(key).model.kinds:
        found[kind] = head_metrics(
            getattr(translation.maps, kind),
            aligned=KINDS[kind].aligned,
            special_key=0 if kind == "decoder" else -1,
        )
    return found


@st.cache_data(max_entries=128, show_spinner=False)
def gradient_importance_of(key: CheckpointKey, pairs: tuple[tuple[str, str], ...]) -> Mapping[str, FloatArray]:
    """Kind → |∂loss/∂gate| of each head for each of a few sentences and their translations, (N, L, H)."""
    checkpoint = translator(key)
    return gradient_importance(checkpoint.model, make_examples(checkpoint, pairs))


@st.cache_data(max_entries=32, show_spinner="Reading …")
def classification_of(key: CheckpointKey, text: str) -> Classification:
    """Raises CheckpointError where the checkpoint is no classifier."""
    checkpoint = loaded(key)
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError(f"{key.name} translates and does not classify.")
    return classify(checkpoint, text[:MAX_CHARACTERS])


@st.cache_data(max_entries=32, show_spinner="Running the batch …")
def batch_of(key: CheckpointKey, texts: tuple[str, ...]) -> PaddedBatch:
    """Translate the texts, then run them through the model as one padded batch."""
    return padded_batch(translator(key), [text[:MAX_CHARACTERS] for text in texts])


def position_table(key: CheckpointKey) -> FloatArray:
    """The checkpoint's own positional encoding of the encoder, (max_length, d_model)."""
    table: FloatArray = loaded(key).model.encoder.embedding.positions.table.detach().numpy()
    return table


def a_learned_table() -> FloatArray | None:
    """The positions of the first checkpoint that learned them, to be compared with sinusoids; None without one."""
    for listed in listed_checkpoints():
        if listed.config is not None and listed.config.model.positional == "learned":
            with suppress(CheckpointError, ConfigError):  # its own page says what is wrong with it
                return position_table(listed.key)
    return None


@st.cache_data(max_entries=32, show_spinner=False)
def sinusoids(length: int, d_model: int, base: float) -> FloatArray:
    table: FloatArray = sinusoidal_table(length, d_model, base=base).numpy()
    return table


@st.cache_data(max_entries=16, show_spinner=False)
def parameter_table(key: CheckpointKey) -> pd.DataFrame:
    """Parameters per module, as the model has them in memory: shared matrices are counted once."""
    model = loaded(key).model
    rows = [(name, p.numel()) for name, p in model.named_parameters()]
    table = pd.DataFrame(rows, columns=["name", "parameters"])
    table["module"] = table["name"].str.replace(r"\.(weight|bias)$", "", regex=True)
    grouped = table.groupby("module", sort=False)["parameters"].sum().reset_index()
    grouped["share"] = grouped["parameters"] / grouped["parameters"].sum()
    return grouped


@st.cache_data(max_entries=16, show_spinner=False)
def training_history(key: CheckpointKey, quality: str) -> pd.DataFrame | None:
    """`history.csv`, or None where there is none that can be read and has the column `quality`."""
    try:
        history = pd.read_csv(Path(key.path) / "history.csv")
    except (OSError, ValueError):
        return None
    return history if {"step", "train_loss", "valid_loss", quality} <= set(history.columns) and len(history) else None


@st.cache_data(max_entries=16, show_spinner=False)
def model_card(key: CheckpointKey) -> str:
    """The checkpoint's README.md without its first heading, or nothing."""
    try:
        text = (Path(key.path) / "README.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    return text.partition("\n")[2] if text.startswith("# ") else text


def checkpoint_figures(found: Sequence[Listed]) -> pd.DataFrame:
    """One row a checkpoint, for the table of all of them."""
    return pd.DataFrame([figures_row(listed) for listed in found])


def figures_row(listed: Listed) -> dict[str, object]:
    row: dict[str, object] = {"checkpoint": listed.key.name, "size, MB": listed.megabytes, "problem": listed.problem}
    config = listed.config
    if config is None:
        return row
    return row | {
        "task": config.task,
        "languages": " → ".join(filter(None, (config.tokenizer.source_language, config.tokenizer.target_language))),
        "tokens": {"bpe": "subwords (BPE)", "words": "words"}[config.tokenizer.kind],
        "positions": config.model.positional,
        "layers": f"{config.model.num_encoder_layers} + {getattr(config.model, 'num_decoder_layers', 0)}",
        "heads": config.model.num_heads,
        "parameters": count_parameters(listed.key),
        "BLEU": config.bleu,
        "chrF": config.figure("chrf"),
        "accuracy": config.figure("accuracy"),
    }


@st.cache_data(max_entries=64, show_spinner=False)
def count_parameters(key: CheckpointKey) -> int | None:
    """Numbers stored in model.safetensors, read from its header; None where it cannot be read."""
    try:
        with safe_open(Path(key.path) / "model.safetensors", framework="np") as file:
            return sum(int(np.prod(file.get_slice(name).get_shape())) for name in file.offset_keys())
    except (OSError, SafetensorError):
        return None
