"""What the pages ask of a model: translations, searches, masks, one layer taken apart.

Results are plain arrays that cannot be written to, no more than a page asks for, and kept in a memory that is bounded
in bytes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.analysis.anatomy import Anatomy, anatomy, value_norms, why_unmixed
from model.analysis.deletion import Deletion, delete_each_word
from model.analysis.importance import gradient_importance, make_examples
from model.analysis.mask_bugs import BugReport, bug_weights, mask_bug
from model.analysis.padded_batch import STAGES, PaddedBatch, layer_stages, padded_batch
from model.analysis.statistics import head_metrics
from model.checkpoints.checkpoint import CheckpointError, ClassifierCheckpoint
from model.config.kinds import KINDS
from model.config.search import SearchConfig
from model.inference.classify import Classification, classify
from model.inference.confidence import Doubt, doubt
from model.inference.export import FORMATS, count_weights
from model.inference.search_tree import SearchTree, search_tree
from model.inference.searching import GREEDY, forced_text
from model.inference.translate import record_translation, translate
from model.inference.translation import Translation
from model.interventions import Intervention
from model.network.positional import sinusoidal_table
from viz_app.server.server_state import GATE, MAX_CHARACTERS, remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import config_of, loaded, translator
from viz_app.services.sentence_batches import Pairs

__all__ = [
    "MAX_CHARACTERS",
    "STAGES",
    "UNTOUCHED",
    "Forced",
    "Run",
    "anatomy_of",
    "batch_of",
    "bug_of",
    "bug_weights_of",
    "classification_of",
    "deletions_of",
    "doubt_of",
    "encoder_input_of",
    "gradient_importance_of",
    "head_metrics_of",
    "maps_of",
    "search_tree_of",
    "sinusoids",
    "spelled",
    "stages_of",
    "too_long_for_a_table",
    "translation_of",
    "value_norms_of",
    "why_no_norms",
    "without_maps",
    "written_of",
]

FloatArray = NDArray[np.float32]


MAX_DELETED, MOST_WORK = 200, 1e11  # words; words × tokens × parameters: some two seconds on one core
MAX_TABLE = 300_000  # rows of a table, 20 MB
Forced = tuple[tuple[int, int], ...]  # (position, target id) pairs
UNTOUCHED = Intervention()


class Run(NamedTuple):
    """How the model is to translate a text; by default greedily, with nothing forced."""

    search: SearchConfig = GREEDY
    forced: Forced = ()


@remembered("Running the model …")
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


def written_of(key: CheckpointKey, text: str, search: SearchConfig, forced: Forced) -> Mapping[int, int]:
    """What an analysis forces so that it follows the very translation that the page shows, however that was found."""
    return translation_of(key, text, search, forced).as_forced


def spelled(key: CheckpointKey, written: str) -> Forced:
    """What to force so that a text is written."""
    return tuple(forced_text(translator(key).tokenizers, written[:MAX_CHARACTERS]).items())


@remembered("Searching …")
def search_tree_of(key: CheckpointKey, text: str, search: SearchConfig, forced: Forced = ()) -> SearchTree:
    return search_tree(translator(key), text, search=search, forced=dict(forced))


@remembered()
def anatomy_of(
    key: CheckpointKey, text: str, kind: str, layer: int, search: SearchConfig = GREEDY, forced: Forced = ()
) -> tuple[Translation, Anatomy]:
    """The translation without its maps, and one layer taken apart.

    Raises:
        ConfigError: the checkpoint does not compute scaled dot products.
    """
    written = written_of(key, text, search, forced)
    translation, parts = anatomy(translator(key), text, kind, layer, forced=written)
    return without_maps(translation), parts


def without_maps(translation: Translation) -> Translation:
    return replace(translation, maps={})


@remembered()
def value_norms_of(
    key: CheckpointKey, text: str, search: SearchConfig = GREEDY, forced: Forced = ()
) -> Mapping[str, FloatArray]:
    """Kind → length of each value after the output projection, (L, H, S)."""
    return value_norms(translator(key), text, forced=written_of(key, text, search, forced))[1]


def why_no_norms(key: CheckpointKey) -> str:
    """Why `value_norms_of` is not offered; nothing where it is."""
    return why_unmixed(translator(key).model)


@remembered()
def encoder_input_of(key: CheckpointKey, text: str) -> tuple[Translation, FloatArray, FloatArray]:
    """The translation without its maps, the scaled embeddings of the source (S, D), and their sum with the encoding."""
    names = ("encoder.embedding.token_vectors", "encoder.embedding.sum")
    written = written_of(key, text, GREEDY, ())
    translation, recording = record_translation(translator(key), text, record=names, forced=written)
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
    translation = translation_of(key, text)
    found = {}
    for kind in config_of(key).model.kinds:
        found[kind] = head_metrics(
            translation.maps[kind],
            aligned=KINDS[kind].aligned,
            special_key=0 if kind == "decoder" else -1,
        )
    return found


@remembered()
def gradient_importance_of(key: CheckpointKey, pairs: Pairs) -> Mapping[str, FloatArray]:
    """Kind → |∂loss/∂gate| of each head for each of a few sentences and their translations, (N, L, H)."""
    checkpoint = translator(key)
    return gradient_importance(checkpoint.model, make_examples(checkpoint, pairs))


@remembered()
def doubt_of(key: CheckpointKey, text: str, search: SearchConfig = GREEDY) -> Doubt:
    """Why the model's own translation of a text is not to be trusted, or nothing; of a drawn one, the greedy one's."""
    own = GREEDY if search.method == "sample" else search
    return doubt(translator(key), text, translation_of(key, text, own)) if text.strip() else ""


def too_long_for_a_table(translation: Translation) -> str:
    """Why `maps_of` is refused as CSV and JSON, or nothing where it is not."""
    count = count_weights(translation)
    if count <= MAX_TABLE:
        return ""
    return (
        f"The maps of this text have {count:,} weights, and a table takes up to {MAX_TABLE:,}: shorten the text, or "
        "take the NPZ file."
    )


def maps_of(form: str, key: CheckpointKey, text: str, search: SearchConfig, forced: Forced = ()) -> bytes:
    """All maps of a translation as a file, made when it is asked for and not kept.

    Args:
        form: One of `FORMATS`; other than "npz" for what is not `too_long_for_a_table`.
        key: Of the checkpoint.
        text: What is translated.
        search: How.
        forced: Tokens that were not the model's choice.
    """
    with GATE.inside():
        translation = translation_of(key, text, search, forced)
        facts = {"checkpoint": key.name, "sentence": text[:MAX_CHARACTERS], "translation": translation.text}
        return b"".join(FORMATS[form](translation, facts))


@remembered("Reading …")
def classification_of(key: CheckpointKey, text: str) -> Classification:
    """Raises CheckpointError where the checkpoint is no classifier."""
    checkpoint = loaded(key)
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError(f"{key.name} translates and does not classify.")
    return classify(checkpoint, text)


@remembered("Deleting every word …")
def deletions_of(key: CheckpointKey, text: str) -> tuple[Deletion, ...]:
    """The class without each of the first words of a text, as many as take no longer than a moment."""
    checkpoint = loaded(key)
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError(f"{key.name} translates and does not classify.")
    # A table of embeddings is looked up, not computed with.
    used = sum(weight.numel() for name, weight in checkpoint.model.named_parameters() if "embedding" not in name)
    tokens = len(checkpoint.tokenizers.source.encode(text).ids)
    most = int(min(MAX_DELETED, MOST_WORK / (used * max(tokens, 1))))
    return tuple(delete_each_word(checkpoint, text, most=most))


@remembered("Running the batch …")
def batch_of(key: CheckpointKey, texts: tuple[str, ...]) -> PaddedBatch:
    """Translate the texts, and put them together as one padded batch."""
    return padded_batch(translator(key), texts)


@remembered()
def stages_of(key: CheckpointKey, texts: tuple[str, ...], kind: str, layer: int, row: int) -> Mapping[str, FloatArray]:
    """Stage, one of `STAGES` → (H, T, S): what one layer does to its scores of one of the texts, in their batch."""
    stages = layer_stages(translator(key), batch_of(key, texts), kind, layer)
    return {stage: scores[row] for stage, scores in stages.items()}


@remembered()
def sinusoids(length: int, d_model: int, base: float) -> FloatArray:
    table: FloatArray = sinusoidal_table(length, d_model, base=base).numpy()
    return table
