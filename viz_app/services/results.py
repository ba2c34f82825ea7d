"""The result of a run, for a model of any task: its searches, its recordings, and the results of snapshots.

Results are plain arrays that cannot be changed. They are kept in a memory that is bounded in bytes.
"""

from dataclasses import replace
from pathlib import Path

import torch

from model.analysis.followed import layer_names, run_names
from model.analysis.learning import SnapshotResult, UnreadableSnapshot, list_snapshots, run_snapshot
from model.checkpoints.checkpoint import CheckpointError, load_checkpoint
from model.inference.classify import Classification, log_odds_of
from model.inference.confidence import LowConfidence, low_confidence
from model.inference.passes import record_again
from model.inference.result import RecordedArrays, Result
from model.inference.run import Forced, Run, compute
from model.inference.search_tree import SearchTree, search_tree
from model.inference.searching import GREEDY, forced_ids
from model.inference.translate import translate
from model.text.pair import Text, texts_of
from viz_app.server.resources import threads
from viz_app.server.server_state import MAX_CHARACTERS, cut, known, remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import classifier, loaded, snapshot, translator

__all__ = [
    "MAX_CHARACTERS",
    "attempt_of",
    "classification_of",
    "doubt_of",
    "left_out_of",
    "log_odds_of_label",
    "log_prob_of",
    "parameters_of",
    "recorded_layer",
    "recorded_run",
    "result_of",
    "search_tree_of",
    "seconds_of_run",
    "seconds_of_search",
    "snapshot_result_of",
    "tokens_to_force",
    "without_maps",
]

# Parameters × tokens per second: in one pass over many tokens, for each core, and in passes over one token each.
READ_PER_SECOND, WRITTEN_PER_SECOND = 7e10, 2e9


@remembered("Running the model …")
def result_of(key: CheckpointKey, run: Run) -> Result:
    """Translate, continue, read or classify a text, and record the maps.

    Only the first `MAX_CHARACTERS` characters are read. The run is the cache key, so nobody else's result changes.
    """
    return compute(loaded(key), run)


def classification_of(key: CheckpointKey, run: Run) -> Classification:
    """Raises CheckpointError where the checkpoint translates and does not classify."""
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


def without_maps(found: Result) -> Result:
    return replace(found, maps={})


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
