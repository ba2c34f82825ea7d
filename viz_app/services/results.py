"""The result of a run, for a model of any task, and the searches for it.

Results are plain arrays that cannot be changed. They are kept in a memory that is bounded in bytes.
"""

from dataclasses import replace

import torch

from model.inference.classify import Classification, log_odds_of
from model.inference.confidence import LowConfidence, low_confidence
from model.inference.result import Result
from model.inference.run import Forced, Run, compute
from model.inference.search_tree import SearchTree, search_tree
from model.inference.searching import GREEDY, forced_ids
from model.text.pair import Text, texts_of
from viz_app.server.resources import threads
from viz_app.server.server_state import MAX_CHARACTERS, cut, known, remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import classifier, loaded, translator

__all__ = [
    "MAX_CHARACTERS",
    "classification_of",
    "doubt_of",
    "left_out_of",
    "log_odds_of_label",
    "log_prob_of",
    "result_of",
    "search_tree_of",
    "seconds_of_run",
    "seconds_of_search",
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


def seconds_of_search(key: CheckpointKey, text: Text) -> float:
    """About how long a search over a text takes."""
    checkpoint = loaded(key)
    parameters = sum(parameter.numel() for parameter in checkpoint.model.parameters())
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
