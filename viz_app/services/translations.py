"""Translations of one sentence, and the searches for them.

Results are plain arrays that cannot be changed. They are kept in a memory that is bounded in bytes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.config.search import SearchConfig
from model.inference.confidence import LowConfidence, low_confidence
from model.inference.run import Run as ModelRun
from model.inference.run import compute
from model.inference.search_tree import SearchTree, search_tree
from model.inference.searching import GREEDY, forced_ids
from model.inference.translate import translate
from model.inference.translation import Translation
from model.interventions import Intervention
from model.text.pair import Text, texts_of
from viz_app.server.resources import threads
from viz_app.server.server_state import MAX_CHARACTERS, cut, known, remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import loaded, translator

__all__ = [
    "MAX_CHARACTERS",
    "UNTOUCHED",
    "Forced",
    "Run",
    "changed_log_prob_of",
    "doubt_of",
    "left_out_of",
    "search_tree_of",
    "seconds_of_run",
    "seconds_of_search",
    "tokens_to_force",
    "translation_of",
    "without_maps",
    "written_of",
]

Forced = tuple[tuple[int, int], ...]  # (position, target id) pairs
UNTOUCHED = Intervention()
# Parameters × tokens per second: in one pass over many tokens, for each core, and in passes over one token each.
READ_PER_SECOND, WRITTEN_PER_SECOND = 7e10, 2e9


class Run(NamedTuple):
    """How the model translates a text; by default with greedy search and no forced tokens."""

    search: SearchConfig = GREEDY
    forced: Forced = ()


@remembered("Running the model …")
def translation_of(
    key: CheckpointKey,
    text: Text,
    search: SearchConfig = GREEDY,
    forced: Forced = (),
    intervention: Intervention = UNTOUCHED,
) -> Translation:
    """Translate, continue, read or classify `text`, and record the maps.

    Only the first `MAX_CHARACTERS` characters are read. Forced tokens and interventions are part of the cache key, so
    nobody else's translation changes.
    """
    edits, checkpoint = intervention.edits(), loaded(key)
    if isinstance(checkpoint, ClassifierCheckpoint):
        return compute(checkpoint, ModelRun(text=text), edits=edits)
    return translate(checkpoint, text, search=search, forced=dict(forced), edits=edits)


def seconds_of_run(key: CheckpointKey, text: Text, run: Run) -> float:
    """About how long `translation_of` still takes; 0 for a result that is kept."""
    return 0.0 if known(translation_of, key, text, *run, UNTOUCHED) is not None else seconds_of_search(key, text)


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
def changed_log_prob_of(key: CheckpointKey, text: Text, written: Forced, intervention: Intervention) -> float:
    """The log-probability in nats that the changed model gives to tokens that are forced."""
    return translate(translator(key), text, forced=dict(written), edits=intervention.edits()).log_prob


def written_of(key: CheckpointKey, text: Text, search: SearchConfig, forced: Forced) -> Mapping[int, int]:
    """The tokens that an analysis forces, so that it follows the displayed translation of any search."""
    return translation_of(key, text, search, forced).as_forced


def tokens_to_force(key: CheckpointKey, written: str) -> Forced:
    """The tokens to force so that the model writes this text."""
    return tuple(forced_ids(translator(key).tokenizers, written[:MAX_CHARACTERS]).items())


@remembered("Searching …")
def search_tree_of(key: CheckpointKey, text: str, search: SearchConfig, forced: Forced = ()) -> SearchTree:
    return search_tree(translator(key), text, search=search, forced=dict(forced))


def without_maps(translation: Translation) -> Translation:
    return replace(translation, maps={})


@remembered()
def left_out_of(key: CheckpointKey, text: Text) -> tuple[str, ...]:
    """The parts of a text that the vocabulary of the checkpoint does not have, and that have no token."""
    return tuple(part for one in texts_of(text) for part in translator(key).tokenizers.source.encode(one).left_out)


@remembered()
def doubt_of(key: CheckpointKey, text: str, search: SearchConfig = GREEDY) -> LowConfidence:
    """Why the model's own translation is doubtful; "" if it is not. Sampling is judged by its greedy translation."""
    own = GREEDY if search.method == "sample" else search
    return low_confidence(translator(key), text, translation_of(key, text, own)) if text.strip() else ""
