"""The models that all visitors share, and the results of their runs, for every task.

Nobody changes a model, and as many stay loaded as fit into memory. Results are plain arrays that cannot be changed,
kept in a memory that is bounded in bytes.
"""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pandas as pd
import streamlit as st
import torch

from model.analysis.followed import layer_names, run_names
from model.analysis.learning import SnapshotResult, UnreadableSnapshot, list_snapshots, open_snapshot, run_snapshot
from model.checkpoints.checkpoint import Checkpoint, CheckpointError, ClassifierCheckpoint, Unused, load_checkpoint
from model.checkpoints.languages import with_languages
from model.config.foreign import ChatFrame, ForeignConfig
from model.config.search import GREEDY
from model.config.section import ConfigError
from model.foreign.chat_template import frame_of, with_chat
from model.inference.classify import Classification, log_odds_of
from model.inference.confidence import LowConfidence, low_confidence
from model.inference.continuation import with_continuation
from model.inference.opening import AnyConfig, open_checkpoint
from model.inference.passes import record_again
from model.inference.run import Forced, RecordedArrays, Result, Run
from model.inference.search_tree import SearchTree, search_tree
from model.inference.translate import compute, forced_ids, translate, translate_together, translates_together
from model.network.device import pick_device
from model.network.own_model import direct
from model.text.pair import Text, texts_of
from viz_app.content.translation import t
from viz_app.server.batches import Batches
from viz_app.server.resources import available, threads
from viz_app.server.server_state import GATE, MAX_CHARACTERS, MEGABYTE, MODELS_SHARE, Cache, cut, known, remembered
from viz_app.services.listing import CheckpointKey

__all__ = [
    "MAX_CHARACTERS",
    "attempt_of",
    "can_open",
    "chat_frame",
    "classification_of",
    "config_of",
    "doubt_of",
    "left_out_of",
    "loaded",
    "log_odds_of_label",
    "log_prob_of",
    "parameter_table",
    "parameters_of",
    "recorded_layer",
    "recorded_run",
    "result_of",
    "search_tree_of",
    "seconds_of_run",
    "seconds_of_search",
    "snapshot",
    "snapshot_result_of",
    "tokens_to_force",
    "translator",
    "unused_parts",
]

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
    """The checkpoint with a faster form of our own models, see `direct`."""
    return replace(checkpoint, model=cast(Any, direct(checkpoint.model)))


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


# Parameters × tokens per second: in one pass over many tokens, for each core, and in passes over one token each.
READ_PER_SECOND, WRITTEN_PER_SECOND = 7e10, 2e9
SHORT = 64  # tokens of a text that does not make the others of its batch wait
TRANSLATIONS = Batches(most=16, waiting=GATE.outside)


@remembered("Running the model …")
def result_of(key: CheckpointKey, run: Run) -> Result:
    """Translate, continue, read or classify a text, and record the maps.

    Only the first `MAX_CHARACTERS` characters are read. The run is the cache key, so nobody else's result changes.
    Short texts of visitors who wait at the same time are translated together.
    """
    checkpoint, text = loaded(key), run.text
    if run == run.usual and isinstance(text, str) and translates_together(checkpoint):
        reads = len(checkpoint.tokenizers.source_ids(text, checkpoint.config.model.max_length)[0])
        if reads <= SHORT:  # and with texts of about the same length
            together = partial(translate_together, checkpoint)
            return TRANSLATIONS.ask((key, reads.bit_length()), text, together)
    return compute(checkpoint, run)


def classifier(key: CheckpointKey) -> ClassifierCheckpoint:
    """The model, if it classifies.

    Raises:
        CheckpointError: it translates and does not classify.
    """
    checkpoint = loaded(key)
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError("{name} translates and does not classify.", name=key.name)
    return checkpoint


def classification_of(key: CheckpointKey, run: Run) -> Classification:
    """The result of a classifier.

    Raises:
        CheckpointError: the checkpoint translates and does not classify.
    """
    classifier(key)
    found = result_of(key, run)
    assert isinstance(found, Classification)
    return found


def log_odds_of_label(key: CheckpointKey, run: Run, label: str) -> float:
    """The log-odds of a label of a classifier in nats."""
    model = classifier(key).model
    return float(log_odds_of(model, torch.tensor(classification_of(key, run).logits))[model.config.labels.index(label)])


def seconds_of_run(key: CheckpointKey, run: Run) -> float:
    """About how long `result_of` still takes; 0 for a result that is kept."""
    return 0.0 if known(result_of, key, run) is not None else seconds_of_search(key, run.text)


@remembered()
def parameters_of(key: CheckpointKey) -> int:
    """How many parameters the model has."""
    return sum(parameter.numel() for parameter in loaded(key).model.parameters())


def seconds_of_search(key: CheckpointKey, text: Text) -> float:
    """About how long a search over a text takes."""
    checkpoint, parameters = loaded(key), parameters_of(key)
    longest = checkpoint.config.model.max_length
    reads = min(len(checkpoint.tokenizers.encode(cut(text), longest).ids), longest)
    task = checkpoint.config.task
    written = {"reading": 0, "classification": 0, "continuation": checkpoint.tokenizers.specials.new_tokens}
    writes = written.get(task, reads)
    return parameters * (reads / READ_PER_SECOND / threads() + writes / WRITTEN_PER_SECOND)


@remembered()
def log_prob_of(key: CheckpointKey, run: Run) -> float:
    """The log-probability in nats of what a run writes. The maps of the run are not kept."""
    return compute(translator(key), run).log_prob


def tokens_to_force(key: CheckpointKey, written: str) -> Forced:
    """The tokens to force so that the model writes this text."""
    return tuple(forced_ids(translator(key).tokenizers, written[:MAX_CHARACTERS]).items())


@remembered("Searching …")
def search_tree_of(key: CheckpointKey, run: Run) -> SearchTree:
    """Every hypothesis of a beam search."""
    return search_tree(translator(key), texts_of(run.text)[0], search=run.search, forced=dict(run.forced))


@remembered()
def left_out_of(key: CheckpointKey, text: Text) -> tuple[str, ...]:
    """The parts of a text that the vocabulary of the checkpoint does not have, and that have no token."""
    return tuple(part for one in texts_of(text) for part in translator(key).tokenizers.source.encode(one).left_out)


@remembered()
def doubt_of(key: CheckpointKey, run: Run) -> LowConfidence:
    """Why the model's own translation is doubtful; "" if it is not. Sampling is judged by its greedy translation."""
    text, _ = texts_of(run.text)
    own = Run(text=text, search=GREEDY if run.search.method == "sample" else run.search)
    return low_confidence(translator(key), text, result_of(key, own)) if text.strip() else ""


@remembered()
def snapshot_result_of(key: CheckpointKey, text: str, step: int) -> SnapshotResult | UnreadableSnapshot:
    """What one snapshot of a training run does with a text; or why its weights cannot be loaded."""
    try:
        loaded_snapshot = snapshot(key, step)
    except CheckpointError as error:
        return UnreadableSnapshot(message=error.message)
    return run_snapshot(loaded_snapshot, text, result_of(key, Run(text=text)))


@remembered()
def attempt_of(key: CheckpointKey, text: str, answer: str, step: int | None = None) -> tuple[str, Result]:
    """The translation by a model that is still training, and its forced run over the right translation.

    The model is not kept in memory, because its next state follows after two seconds.

    Args:
        key: The folder of the training run.
        text: The source.
        answer: The right translation.
        step: The step of a snapshot; None for the checkpoint.

    Raises:
        CheckpointError: its weights cannot be loaded.
    """
    folder = Path(key.path)
    checkpoint = load_checkpoint(folder, weights=None if step is None else list_snapshots(folder)[step])
    forced = forced_ids(checkpoint.tokenizers, answer)
    return translate(checkpoint, text).text, translate(checkpoint, text, forced=forced)


@remembered("Following the text through the layers …")
def recorded_run(key: CheckpointKey, run: Run) -> RecordedArrays:
    """What passed the hook points that the analyses of the stream read.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    model = loaded(key).model
    return record_again(model, result_of(key, run), run_names(model), edits=run.changes.edits()).arrays()


@remembered()
def recorded_layer(key: CheckpointKey, run: Run, stack: str, layer: int) -> RecordedArrays:
    """What passed all hook points of one layer.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    model = loaded(key).model
    record = layer_names(model.stack(stack), layer)
    return record_again(model, result_of(key, run), record, edits=run.changes.edits()).arrays()
