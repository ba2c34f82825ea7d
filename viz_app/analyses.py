"""What the pages ask of the analyses of one sentence: layers, words, heads and snapshots.

As in `services`, results are plain arrays that cannot be written to, in a memory that is bounded in bytes.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from model.analysis.alignment import Pointer, links_of
from model.analysis.by_distance import score_by_distance
from model.analysis.contributions import Contributions, contributions
from model.analysis.importance import all_heads
from model.analysis.influence import Influence, influence
from model.analysis.learning import Stage, stage
from model.analysis.lens import EarlyReading, Lens, decoder_lens, logit_lens
from model.analysis.offered import require_masks
from model.analysis.patching import Pasting, paste, paste_every_head
from model.analysis.station import Station
from model.analysis.stations import Ending, stations
from model.analysis.streams import streams_of
from model.analysis.zeroing import Zeroing, value_zeroing
from model.checkpoint import Checkpoint
from model.config import ConfigError, SearchConfig
from model.corpora.aligned import AlignedPair, Links, read_aligned
from model.corpora.corpora import CorpusError
from model.inference.searching import GREEDY, forced_text
from model.inference.translate import translate
from model.inference.translation import Translation
from model.interventions import Head, Intervention
from model.network.attention import MultiHeadAttention
from model.opening import open_translator
from viz_app.listing import CheckpointKey
from viz_app.loading import FloatArray, config_of, loaded, snapshot, translator
from viz_app.services import Forced, gradient_importance_of, translation_of, without_maps, written_of
from viz_app.shared import remembered

__all__ = [
    "aligned_pairs",
    "attempt_of",
    "contributions_of",
    "decisive_heads_of",
    "early_readings_of",
    "influence_of",
    "lens_of",
    "links_of_pair",
    "pasted_of",
    "pasting_of",
    "scores_by_distance_of",
    "stage_of",
    "stations_of",
    "why_no_masks",
    "why_no_stream",
    "zeroing_of",
]

MAX_ALONE = 24  # heads; of those that matter less, hardly one changes a word


def why_no_stream(key: CheckpointKey) -> str:
    """Why those that follow the stream are refused, or nothing where they are not."""
    return refusal(streams_of, key)


def why_no_masks(key: CheckpointKey) -> str:
    """Why there are no masks to show, or nothing where there are."""
    return refusal(require_masks, key)


def refusal(require: Callable[[Checkpoint], object], key: CheckpointKey) -> str:
    try:
        require(translator(key))
    except ConfigError as error:
        return str(error)
    return ""


@remembered()
def lens_of(
    key: CheckpointKey, text: str, search: SearchConfig = GREEDY, forced: Forced = ()
) -> tuple[Translation, Lens]:
    """The translation without its maps, and its lens."""
    written = written_of(key, text, search, forced)
    translation, lens = logit_lens(translator(key), text, forced=written)
    return without_maps(translation), lens


@remembered("Translating after each layer …")
def early_readings_of(key: CheckpointKey, text: str) -> tuple[EarlyReading, ...]:
    return tuple(decoder_lens(translator(key), text))


@remembered()
def contributions_of(
    key: CheckpointKey, text: str, position: int, rival: int, search: SearchConfig = GREEDY, forced: Forced = ()
) -> Contributions:
    written = written_of(key, text, search, forced)
    return contributions(translator(key), text, position, rival, forced=written)


@remembered()
def stations_of(
    key: CheckpointKey,
    text: str,
    stack: str,
    layer: int,
    place: int,
    search: SearchConfig = GREEDY,
    forced: Forced = (),
) -> tuple[tuple[Station, ...], Ending | None]:
    """The way of one token through one layer, and of the decoder's last layer its end."""
    written = written_of(key, text, search, forced)
    _, found, end = stations(translator(key), text, stack, layer, place, forced=written)
    return tuple(found), end


def scores_by_distance_of(key: CheckpointKey, layer: int, reach: int) -> FloatArray:
    """What rotary positions alone give to the scores of a layer's heads, (H, 2 · reach + 1)."""
    attention = loaded(key).model.get_submodule(f"encoder.layers.{layer}.self_attention")
    assert isinstance(attention, MultiHeadAttention)
    return score_by_distance(attention, reach)


@remembered()
def influence_of(
    key: CheckpointKey, text: str, search: SearchConfig = GREEDY, forced: Forced = ()
) -> tuple[Translation, Influence]:
    """The translation without its maps, and what influenced each of its words."""
    translation, found = influence(translator(key), text, written_of(key, text, search, forced))
    return without_maps(translation), found


@remembered("Zeroing one value after the other …")
def zeroing_of(key: CheckpointKey, text: str, search: SearchConfig = GREEDY, forced: Forced = ()) -> Zeroing:
    return value_zeroing(translator(key), text, forced=written_of(key, text, search, forced))


@remembered("Silencing one head after the other …")
def decisive_heads_of(key: CheckpointKey, text: str) -> frozenset[Head]:
    """A head without which another translation is written, or, where the others stand in for each one, a few of which
    none can be left out.

    Those come first whose gradients say that they matter.
    """
    importance = gradient_importance_of(key, ((text, ""),))
    heads = all_heads(translator(key).model)
    heads.sort(key=lambda head: -importance[head.kind][0, head.layer, head.head])
    alone = (frozenset({head}) for head in heads[:MAX_ALONE])
    together = (frozenset(heads[: 2**power]) for power in range(1, len(heads).bit_length()))
    trained = translation_of(key, text).text

    def changes(silenced: frozenset[Head]) -> bool:
        return translate(translator(key), text, edits=Intervention(ablated=silenced).edits()).text != trained

    silenced = next(filter(changes, (*alone, *together)), frozenset(heads))
    for head in [head for head in reversed(heads) if head in silenced]:  # what is not needed speaks again
        if len(silenced) > 1 and changes(silenced - {head}):
            silenced -= {head}
    return silenced


@remembered("Pasting every head …")
def pasting_of(key: CheckpointKey, giver: str, text: str) -> Pasting | None:
    return paste_every_head(translator(key), giver, text)


@remembered()
def pasted_of(key: CheckpointKey, giver: str, text: str, head: Head) -> Translation:
    """The translation with one head of another run, without its maps."""
    return without_maps(paste(translator(key), giver, text, head))


@remembered()
def links_of_pair(key: CheckpointKey, number: int) -> Mapping[Pointer, Links]:
    """What each pointer links in one of the pairs of `aligned_pairs`."""
    return links_of(translator(key), aligned_pairs(key)[number])


@remembered()
def aligned_pairs(key: CheckpointKey) -> tuple[AlignedPair, ...]:
    """Pairs in the checkpoint's languages that were aligned by hand; none where there are none."""
    texts = config_of(key).tokenizer
    try:
        return read_aligned(texts.source_language, texts.target_language)
    except CorpusError:
        return ()


@remembered()
def stage_of(key: CheckpointKey, text: str, step: int) -> Stage:
    """A snapshot of a checkpoint's training before a text.

    Raises:
        CheckpointError: its weights cannot be loaded.
    """
    return stage(snapshot(key, step), text, translation_of(key, text))


@remembered()
def attempt_of(key: CheckpointKey, text: str, answer: str) -> tuple[str, Translation]:
    """What a model that is still being trained writes, and its reading of the right answer.

    The model is not kept in memory: the next state of it comes in two seconds.

    Raises:
        CheckpointError: its weights cannot be loaded.
    """
    checkpoint = open_translator(Path(key.path))
    forced = forced_text(checkpoint.tokenizers, answer)
    return translate(checkpoint, text).text, translate(checkpoint, text, forced=forced)
