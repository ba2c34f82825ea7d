"""What the pages ask for: checkpoints, translations, masks. The only file that caches and queues work.

Models are shared by all visitors and never changed; results are plain arrays that cannot be written to, and no more
than a page asks for. All are bounded in bytes, and their keys name a checkpoint by its folder and the state of its
files: a retrained one is never confused with its predecessor.
"""

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import pandas as pd
import streamlit as st
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from model.analysis.anatomy import Anatomy, anatomy, value_norms
from model.analysis.importance import all_heads, gradient_importance, loss_changes, make_examples
from model.analysis.mask_bugs import BugReport, bug_weights, mask_bug
from model.analysis.padded_batch import STAGES, PaddedBatch, layer_stages, padded_batch
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
from model.inference.export import count_weights, maps_csv, maps_npz
from model.inference.search_tree import SearchTree, search_tree
from model.inference.translate import GREEDY, AttentionMaps, Translation, record_translation, translate
from model.interventions import Intervention
from model.kinds import KINDS
from model.network.positional import sinusoidal_table
from viz_app.cache import Cache, read_only
from viz_app.jobs import Job, Report
from viz_app.pairs import Pairs, in_batches
from viz_app.shared import CORES, GATE, JOBS, MAX_CHARACTERS, MEGABYTE, MODELS_SHARE, RESULTS, remembered

__all__ = [
    "MAX_CHARACTERS",
    "STAGES",
    "UNTOUCHED",
    "CheckpointKey",
    "Forced",
    "Listed",
    "a_learned_table",
    "anatomy_of",
    "arrays_of",
    "batch_of",
    "bug_of",
    "bug_weights_of",
    "checkpoint_figures",
    "classification_of",
    "config_of",
    "encoder_input_of",
    "gradient_importance_of",
    "head_metrics_of",
    "importance_of",
    "listed_checkpoints",
    "measure_importance",
    "model_card",
    "parameter_table",
    "position_table",
    "search_tree_of",
    "sinusoids",
    "stages_of",
    "table_of",
    "too_long_for_a_table",
    "training_history",
    "translation_of",
    "translator",
    "value_norms_of",
]

FloatArray = NDArray[np.float32]
BUNDLED = Path(__file__).resolve().parent.parent / "checkpoints"
# Small models gain little from a second thread; other visitors, and a browser on the same laptop, gain much.
torch.set_num_threads(max(1, CORES // 2))


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
    stats = files_of(path)
    version = "|".join(f"{name}:{stat.st_mtime_ns}:{stat.st_size}" for name, stat in stats)
    key = CheckpointKey(path=str(path), version=version)
    megabytes = sum(stat.st_size for _, stat in stats) / 1e6
    try:
        config = read_once(key)
        if not any(name == "model.safetensors" for name, _ in stats):
            raise CheckpointError(f"{path.name} has no model.safetensors yet; its training may still be running.")
    except CheckpointError as error:
        return Listed(key=key, config=None, problem=str(error), megabytes=megabytes)
    return Listed(key=key, config=config, megabytes=megabytes)


def files_of(path: Path) -> list[tuple[str, os.stat_result]]:
    """Name and state of each file, without those that a training is replacing just now."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(path):
            with suppress(OSError):
                if entry.is_file() and not entry.name.startswith("."):
                    found.append((entry.name, entry.stat()))
    return sorted(found)


@remembered()
def read_once(key: CheckpointKey) -> CheckpointConfig:
    return read_config(Path(key.path))


def loaded(key: CheckpointKey) -> Checkpoint | ClassifierCheckpoint:
    """The model that all visitors share; as many stay loaded as there is memory for."""

    def load() -> Checkpoint | ClassifierCheckpoint:
        folder = Path(key.path)
        with st.spinner("Loading the checkpoint …"):
            return load_classifier(folder) if read_once(key).task == "classification" else load_checkpoint(folder)

    return MODELS.get(key, load)


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


def config_of(key: CheckpointKey) -> CheckpointConfig:
    """Raises CheckpointError where the checkpoint cannot be loaded."""
    return loaded(key).config


MAX_TABLE = 300_000  # rows of a table, 20 MB
Forced = tuple[tuple[int, int], ...]  # (position, target id) pairs
UNTOUCHED = Intervention()


@remembered("Translating …")
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
    return translate(translator(key), text, search=search, forced=dict(forced), edits=edits)


@remembered("Searching …")
def search_tree_of(key: CheckpointKey, text: str, search: SearchConfig, forced: Forced = ()) -> SearchTree:
    return search_tree(translator(key), text, search=search, forced=dict(forced))


@remembered()
def anatomy_of(key: CheckpointKey, text: str, kind: str, layer: int) -> tuple[Translation, Anatomy]:
    """The translation without its maps, and one layer taken apart.

    Raises:
        ConfigError: the checkpoint does not compute scaled dot products.
    """
    translation, parts = anatomy(translator(key), text, kind, layer)
    return without_maps(translation), parts


def without_maps(translation: Translation) -> Translation:
    nothing = np.empty((0, 0, 0, 0), dtype=np.float32)
    return replace(translation, maps=AttentionMaps(encoder=nothing, decoder=nothing, cross=nothing))


@remembered()
def value_norms_of(key: CheckpointKey, text: str, search: SearchConfig = GREEDY) -> Mapping[str, FloatArray]:
    """Kind → length of each value after the output projection, (L, H, S)."""
    return value_norms(translator(key), text, search=search)[1]


@remembered()
def encoder_input_of(key: CheckpointKey, text: str) -> tuple[Translation, FloatArray, FloatArray]:
    """The translation without its maps, the scaled embeddings of the source (S, D), and their sum with the encoding."""
    names = ("encoder.embedding.token_vectors", "encoder.embedding.sum")
    translation, recording = record_translation(translator(key), text, record=names)
    vectors, total = (recording.array(name) for name in names)
    return without_maps(translation), vectors, total


@remembered()
def bug_of(key: CheckpointKey, texts: tuple[str, ...], name: str = "") -> BugReport:
    """What one of the mask mistakes, or with no name none, does to a batch."""
    return mask_bug(translator(key), texts, name)


@remembered()
def bug_weights_of(
    key: CheckpointKey, texts: tuple[str, ...], name: str, kind: str, layer: int, row: int
) -> FloatArray:
    """The weights of one layer for one of the texts, (H, T, S), under a mistake or with no name under none."""
    return bug_weights(translator(key), texts, name, kind, layer)[row]


@remembered()
def head_metrics_of(key: CheckpointKey, text: str) -> Mapping[str, Mapping[str, FloatArray]]:
    """Kind → metric → (L, H, T) of the queries of one translation."""
    translation = translate(translator(key), text)
    found = {}
    for kind in config_of(key).model.kinds:
        found[kind] = head_metrics(
            getattr(translation.maps, kind),
            aligned=KINDS[kind].aligned,
            special_key=0 if kind == "decoder" else -1,
        )
    return found


@remembered()
def gradient_importance_of(key: CheckpointKey, pairs: Pairs) -> Mapping[str, FloatArray]:
    """Kind → |∂loss/∂gate| of each head for each of a few sentences and their translations, (N, L, H)."""
    checkpoint = translator(key)
    return gradient_importance(checkpoint.model, make_examples(checkpoint, pairs))


def too_long_for_a_table(translation: Translation) -> str:
    """Why `table_of` is refused, or nothing where it is not."""
    count = count_weights(translation)
    if count <= MAX_TABLE:
        return ""
    return (
        f"The maps of this text have {count:,} weights, and a table takes up to {MAX_TABLE:,}: shorten the text, or "
        "take the NPZ file."
    )


def table_of(key: CheckpointKey, text: str, search: SearchConfig) -> bytes:
    """The CSV of a translation that is not `too_long_for_a_table`."""
    with GATE.inside():
        return maps_csv(translation_of(key, text, search))


def arrays_of(key: CheckpointKey, text: str, search: SearchConfig) -> bytes:
    """The NPZ of a translation."""
    with GATE.inside():
        return maps_npz(translation_of(key, text, search))


def importance_of(key: CheckpointKey, pairs: Pairs) -> Mapping[str, FloatArray] | None:
    """Kind → rise in each sentence's loss when a head is silenced, (N, L, H); None where it is not measured yet."""
    return cast(Mapping[str, FloatArray] | None, RESULTS.peek(("importance", key, pairs)))


def measure_importance(key: CheckpointKey, pairs: Pairs, tell: Callable[[Job[object]], None]) -> None:
    """Silence each head in turn: long work, which is done once for all who ask for it.

    Args:
        key: Of a translator.
        pairs: Sentences and their translations, or nothing for the model's own.
        tell: Called now and then with how far it is.
    """
    subject = ("importance", key, pairs)

    def work(report: Report) -> None:
        with GATE.inside():
            RESULTS.get(subject, lambda: read_only(measured(translator(key), pairs, report)))

    with GATE.outside():
        JOBS.watch(subject, work, tell)


def measured(checkpoint: Checkpoint, pairs: Pairs, report: Report) -> dict[str, FloatArray]:
    model = checkpoint.model
    heads = all_heads(model)
    found = {
        kind: np.zeros((len(pairs), model.config.layers_of(kind), model.config.num_heads), dtype=np.float32)
        for kind in model.config.kinds
    }
    few = in_batches(pairs)
    examples = Unhurried([make_examples(checkpoint, some) for some in Unhurried(few)])
    for done, (head, changes) in enumerate(loss_changes(model, examples), start=1):
        found[head.kind][:, head.layer, head.head] = changes
        with GATE.outside():
            report(done, len(heads))
    return found


Item = TypeVar("Item")


class Unhurried(tuple[Item, ...]):
    """Batches of long work: between two of them, visitors who wait go first."""

    def __iter__(self) -> Iterator[Item]:
        for item in super().__iter__():
            GATE.give_way()
            yield item


@remembered("Reading …")
def classification_of(key: CheckpointKey, text: str) -> Classification:
    """Raises CheckpointError where the checkpoint is no classifier."""
    checkpoint = loaded(key)
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError(f"{key.name} translates and does not classify.")
    return classify(checkpoint, text)


@remembered("Running the batch …")
def batch_of(key: CheckpointKey, texts: tuple[str, ...]) -> PaddedBatch:
    """Translate the texts, and put them together as one padded batch."""
    return padded_batch(translator(key), texts)


@remembered()
def stages_of(key: CheckpointKey, texts: tuple[str, ...], kind: str, layer: int, row: int) -> Mapping[str, FloatArray]:
    """Stage, one of `STAGES` → (H, T, S): what one layer does to its scores of one of the texts, in their batch."""
    stages = layer_stages(translator(key), batch_of(key, texts), kind, layer)
    return {stage: scores[row] for stage, scores in stages.items()}


def position_table(key: CheckpointKey) -> FloatArray:
    """The checkpoint's own positional encoding of the encoder, (max_length, d_model)."""
    table: FloatArray = loaded(key).model.encoder.embedding.positions.table.detach().numpy()
    table.setflags(write=False)  # it is the model's own memory
    return table


def a_learned_table() -> FloatArray | None:
    """The positions of the first checkpoint that learned them, to be compared with sinusoids; None without one."""
    for listed in listed_checkpoints():
        if listed.config is not None and listed.config.model.positional == "learned":
            with suppress(CheckpointError, ConfigError):  # its own page says what is wrong with it
                return position_table(listed.key)
    return None


@remembered()
def sinusoids(length: int, d_model: int, base: float) -> FloatArray:
    table: FloatArray = sinusoidal_table(length, d_model, base=base).numpy()
    return table


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


@remembered()
def training_history(key: CheckpointKey, quality: str) -> pd.DataFrame | None:
    """`history.csv`, or None where there is none that can be read and has the column `quality`."""
    try:
        history = pd.read_csv(Path(key.path) / "history.csv")
    except (OSError, ValueError):
        return None
    return history if {"step", "train_loss", "valid_loss", quality} <= set(history.columns) and len(history) else None


@remembered()
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


@remembered()
def count_parameters(key: CheckpointKey) -> int | None:
    """Numbers stored in model.safetensors, read from its header; None where it cannot be read."""
    try:
        with safe_open(Path(key.path) / "model.safetensors", framework="np") as file:
            return sum(int(np.prod(file.get_slice(name).get_shape())) for name in file.offset_keys())
    except (OSError, SafetensorError):
        return None


# All that is imported stays: the search for garbage need not walk through all of torch again and again.
gc.collect()
gc.freeze()
