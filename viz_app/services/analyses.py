"""Analyses of one sentence: layers, words and heads.

Results are plain arrays that cannot be changed. They are kept in a memory that is bounded in bytes.
"""

from collections.abc import Callable

from model.analysis.availability import nothing_predicted, require_masks
from model.analysis.by_distance import score_by_distance
from model.analysis.contributions import Contributions, choice_of_class, choice_of_token, contributions
from model.analysis.importance import all_heads
from model.analysis.influence import Influence, influence
from model.analysis.lens import ClassLens, EarlyReading, Lens, class_lens, decoder_lens, logit_lens, predicted_positions
from model.analysis.patching import Contrast, contrast, patch_head
from model.analysis.readout_stations import WordPrediction, predict_class, predict_word, predicting_stack
from model.analysis.silencing import SilencingEffects, require_outcome, silence_each_head
from model.analysis.station import Station, follow_classification, follow_translation
from model.analysis.stations import stations
from model.analysis.streams import stacks_of
from model.analysis.zeroing import Zeroing, value_zeroing
from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.corpora.aligned import AlignedPair, read_aligned
from model.corpora.corpora import CorpusError
from model.inference.searching import GREEDY
from model.inference.translation import Translation
from model.interventions import Head
from model.network.attention import MultiHeadAttention
from model.network.own_model import OwnModel
from model.text.pair import Text
from viz_app.server.resources import threads
from viz_app.server.server_state import remembered
from viz_app.services.classifications import classification_of
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import FloatArray, config_of, loaded, translator
from viz_app.services.recordings import (
    recorded_classification,
    recorded_classifier_layer,
    recorded_layer,
    recorded_translation,
)
from viz_app.services.translations import Forced, Run, seconds_of_search, translation_of, without_maps

__all__ = [
    "aligned_pairs",
    "class_contributions_of",
    "class_influence_of",
    "class_lens_of",
    "class_stations_of",
    "class_zeroing_of",
    "contrast_of",
    "contributions_of",
    "early_readings_of",
    "head_effects_of",
    "influence_of",
    "lens_of",
    "patched_translation_of",
    "scores_by_distance_of",
    "seconds_of_effects",
    "stations_of",
    "why_no_effects",
    "why_no_masks",
    "why_no_residual_stream",
    "zeroing_of",
]

MOST_SECONDS = 20.0  # of many translations inside the gate
WORK_PER_SECOND = 7e10  # heads × tokens × parameters that one core computes in a second


def why_no_residual_stream(key: CheckpointKey) -> str:
    """Why the residual stream cannot be shown; "" if it can."""
    return refusal(lambda checkpoint: stacks_of(checkpoint.model), key)


def why_no_masks(key: CheckpointKey) -> str:
    """Why no masks can be shown; "" if they can."""
    return refusal(require_masks, key)


def refusal(require: Callable[[Checkpoint | ClassifierCheckpoint], object], key: CheckpointKey) -> str:
    try:
        require(loaded(key))
    except ConfigError as error:
        return error.message
    return ""


@remembered()
def lens_of(
    key: CheckpointKey,
    text: Text,
    search: SearchConfig = GREEDY,
    forced: Forced = (),
    positions: tuple[int, ...] | None = None,
) -> tuple[Translation, Lens]:
    """The translation without its maps, and its logit lens at some positions, by default at all.

    Raises:
        ConfigError: the blocks of the model are not known, or it predicts nothing in this text.
    """
    translation, recording = recorded_translation(key, text, Run(search, forced))
    checkpoint = translator(key)
    if not predicted_positions(translation):
        raise nothing_predicted(checkpoint.config)
    tokenizer = checkpoint.tokenizers.target
    return translation, logit_lens(checkpoint.model, tokenizer, translation, recording, positions=positions)


@remembered()
def class_lens_of(key: CheckpointKey, text: Text) -> ClassLens:
    """The probabilities of the labels of a classifier after each layer.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    return class_lens(loaded(key).model, *recorded_classification(key, text))


@remembered("Translating after each layer …")
def early_readings_of(key: CheckpointKey, text: str) -> tuple[EarlyReading, ...]:
    """The translation after each layer of the encoder.

    Raises:
        ConfigError: the blocks of the model are not known, it does not translate, or this would take too long.
    """
    checkpoint = translator(key)
    seconds = (checkpoint.model.config.num_layers("encoder") + 1) * seconds_of_search(key, text)
    if seconds > MOST_SECONDS:
        raise ConfigError(
            "One translation after each layer would take about {seconds} seconds. The limit is {limit} seconds. "
            "Shorten the text.",
            seconds=round(seconds),
            limit=round(MOST_SECONDS),
        )
    return tuple(decoder_lens(checkpoint, text))


@remembered()
def contributions_of(
    key: CheckpointKey, text: Text, position: int, rival: int, search: SearchConfig = GREEDY, forced: Forced = ()
) -> Contributions:
    """The parts of the difference between a token and a rival; see `choice_of_token`.

    Raises:
        ConfigError: the blocks of the model are not known, or the model did not choose this token.
    """
    translation, recording = recorded_translation(key, text, Run(search, forced))
    return contributions(translator(key).model, recording, choice_of_token(translation, position, rival))


@remembered()
def class_contributions_of(key: CheckpointKey, text: Text, label: str, rival: str) -> Contributions:
    """The parts of the difference between two labels of a classifier.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    classification, recording = recorded_classification(key, text)
    return contributions(loaded(key).model, recording, choice_of_class(classification, label, rival))


@remembered()
def stations_of(
    key: CheckpointKey,
    text: Text,
    stack: str,
    layer: int,
    place: int,
    search: SearchConfig = GREEDY,
    forced: Forced = (),
) -> tuple[tuple[Station, ...], WordPrediction | None]:
    """The stations of one token in one layer; for the last layer also the predicted word.

    Raises:
        ConfigError: the blocks of the model are not known, or the heads of the layer cannot be separated.
    """
    checkpoint, translation = translator(key), translation_of(key, text, search, forced)
    recording = recorded_layer(key, text, Run(search, forced), stack, layer)
    followed = follow_translation(checkpoint.model, translation, recording)
    path, end = stations(followed, stack, layer, place), None
    if layer == len(checkpoint.model.stack(stack).streams) - 2 and stack == predicting_stack(translation):
        end = predict_word(followed, checkpoint.tokenizers.target, translation, place)
    return tuple(path), end


@remembered()
def class_stations_of(
    key: CheckpointKey, text: Text, layer: int, place: int
) -> tuple[tuple[Station, ...], WordPrediction | None]:
    """The stations of one token in one layer of a classifier; for the last layer also the labels.

    Raises:
        ConfigError: the blocks of the model are not known, or the heads of the layer cannot be separated.
    """
    model, classification = loaded(key).model, classification_of(key, text)
    followed = follow_classification(model, classification, recorded_classifier_layer(key, text, layer))
    last = layer == len(model.stack("encoder").streams) - 2
    path = stations(followed, "encoder", layer, place)
    return tuple(path), predict_class(followed, classification) if last else None


def scores_by_distance_of(key: CheckpointKey, layer: int, reach: int, *, stack: str = "encoder") -> FloatArray:
    """The part of the scores that comes only from the distance, for each head of a layer, (H, 2 · reach + 1)."""
    model = loaded(key).model
    assert isinstance(model, OwnModel)
    attention = model.get_submodule(f"{stack}.layers.{layer}.self_attention")
    assert isinstance(attention, MultiHeadAttention)
    return score_by_distance(attention, reach)


@remembered("Following every token back to what was read …")
def influence_of(
    key: CheckpointKey, text: Text, search: SearchConfig = GREEDY, forced: Forced = ()
) -> tuple[Translation, Influence]:
    """The translation without its maps, and the influence on each of its positions.

    Raises:
        ConfigError: the blocks of the model are not known, or the text is too long.
    """
    translation, recording = recorded_translation(key, text, Run(search, forced))
    maps = translation_of(key, text, search, forced).maps
    return translation, influence(translator(key).model, maps, recording)


@remembered("Following every token back to what was read …")
def class_influence_of(key: CheckpointKey, text: Text) -> Influence:
    """The influence on each position of the encoder and on the pooled vector of a classifier.

    Raises:
        ConfigError: the blocks of the model are not known, or the text is too long.
    """
    classification, recording = recorded_classification(key, text)
    return influence(loaded(key).model, {"encoder": classification.encoder}, recording)


@remembered("Zeroing one value after the other …")
def zeroing_of(key: CheckpointKey, text: Text, search: SearchConfig = GREEDY, forced: Forced = ()) -> Zeroing:
    """How far each layer moves without the value of each token.

    Raises:
        ConfigError: the blocks of the model are not known, or the text is too long.
    """
    recording = recorded_translation(key, text, Run(search, forced))[1]
    translation = translation_of(key, text, search, forced)
    return value_zeroing(follow_translation(translator(key).model, translation, recording))


@remembered("Zeroing one value after the other …")
def class_zeroing_of(key: CheckpointKey, text: Text) -> Zeroing:
    """How far each layer of a classifier moves without the value of each token.

    Raises:
        ConfigError: the blocks of the model are not known, or the text is too long.
    """
    classification, recording = recorded_classification(key, text)
    return value_zeroing(follow_classification(loaded(key).model, classification, recording))


@remembered("Silencing every head …")
def head_effects_of(key: CheckpointKey, text: Text) -> SilencingEffects:
    """The effect of silencing each head on the greedy translation.

    Raises:
        ConfigError: the model predicts nothing in this text.
    """
    return silence_each_head(loaded(key), translation_of(key, text))


def why_no_effects(key: CheckpointKey, text: Text) -> str:
    """Why the model has no `head_effects_of` this text; "" if it has."""
    return refusal(lambda checkpoint: require_outcome(checkpoint, translation_of(key, text)), key)


def seconds_of_effects(key: CheckpointKey, text: Text) -> float:
    """About how long `head_effects_of` takes."""
    checkpoint, translation = loaded(key), translation_of(key, text)
    tokens = len(translation.source) + len(translation.written)
    parameters = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    return len(all_heads(checkpoint.model)) * tokens * parameters / (WORK_PER_SECOND * threads())


def contrast_of(key: CheckpointKey, donor: Text, text: Text) -> Contrast | None:
    """The outcomes in which the runs over two texts differ; None where both are equal.

    Raises:
        ConfigError: heads cannot be patched between these texts.
    """
    return contrast(loaded(key), translation_of(key, donor), translation_of(key, text))


@remembered()
def patched_translation_of(key: CheckpointKey, donor: Text, text: Text, head: Head) -> Translation:
    """The translation of a text while one head has its outputs for the donor, without its maps."""
    return without_maps(patch_head(loaded(key), donor, text, head))


@remembered()
def aligned_pairs(key: CheckpointKey) -> tuple[AlignedPair, ...]:
    """Pairs of sentences in the checkpoint's languages that people aligned by hand; may be empty."""
    texts = config_of(key).tokenizer
    try:
        return read_aligned(texts.source_language, texts.target_language)
    except CorpusError:
        return ()
