"""Analyses of one run: layers, words and heads. Each serves models of every task.

Stations and value zeroing compute a layer again, as the model was trained. Where a run changes this layer, their
differences say so. Results are plain arrays that cannot be changed. They are kept in a memory that is bounded in bytes.
"""

from collections.abc import Callable

from model.analysis.availability import nothing_predicted, require_masks
from model.analysis.by_distance import score_by_distance
from model.analysis.contributions import Contributions, contributions
from model.analysis.deletion import Deletion, delete_each_word
from model.analysis.importance import all_heads
from model.analysis.influence import Influence, influence
from model.analysis.lens import EarlyReading, Lens, decoder_lens, logit_lens
from model.analysis.patching import Contrast, contrast, patch_head
from model.analysis.readout_stations import Prediction, predict
from model.analysis.silencing import SilencingEffects, require_outcome, silence_each_head
from model.analysis.station import Station, follow
from model.analysis.stations import stations
from model.analysis.streams import stacks_of
from model.analysis.zeroing import Zeroing, value_zeroing
from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.config.section import ConfigError
from model.corpora.aligned import AlignedPair, read_aligned
from model.corpora.corpora import CorpusError
from model.inference.run import Run
from model.inference.translation import Translation
from model.interventions import Head
from model.network.attention import MultiHeadAttention
from model.network.own_model import OwnModel
from model.text.pair import Text
from viz_app.server.resources import threads
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import FloatArray, classifier, config_of, loaded, translator
from viz_app.services.recordings import recorded_layer, recorded_run
from viz_app.services.results import result_of, seconds_of_search, without_maps

__all__ = [
    "aligned_pairs",
    "contrast_of",
    "contributions_of",
    "deletions_of",
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
MAX_DELETED, MOST_WORK = 200, 1e11  # words; words × tokens × parameters: two seconds on one core
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
def lens_of(key: CheckpointKey, run: Run, positions: tuple[int, ...] | None = None) -> Lens:
    """The logit lens at some positions, by default at all; of a classifier at its label.

    Raises:
        ConfigError: the blocks of the model are not known, or it predicts nothing in this text.
    """
    checkpoint, found, recording = loaded(key), result_of(key, run), recorded_run(key, run)
    if not found.outcomes:
        raise nothing_predicted(checkpoint.config)
    outcomes = [one for one in found.outcomes if positions is None or one.position in positions]
    return logit_lens(checkpoint.model, checkpoint.tokenizers.target, outcomes, recording)


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
def contributions_of(key: CheckpointKey, run: Run, position: int, rival: int) -> Contributions:
    """The parts of the difference between a token or a label and a rival.

    Args:
        key: The key of the checkpoint.
        run: The run.
        position: Of the token; any number for a classifier.
        rival: The id of the other token, or the number of the label.

    Raises:
        ConfigError: the blocks of the model are not known, or the model did not choose this token.
    """
    outcome = result_of(key, run).outcome_at(position)
    return contributions(loaded(key).model, recorded_run(key, run), outcome, rival)


@remembered()
def stations_of(
    key: CheckpointKey, run: Run, stack: str, layer: int, place: int
) -> tuple[tuple[Station, ...], Prediction | None]:
    """The stations of one token in one layer; for the last layer also the predicted word or label.

    Raises:
        ConfigError: the blocks of the model are not known, or the heads of the layer cannot be separated.
    """
    checkpoint, found = loaded(key), result_of(key, run)
    text = follow(checkpoint.model, found, recorded_layer(key, run, stack, layer))
    here = [one for one in found.outcomes if one.stack == stack and one.position in (place, None)]
    is_last = layer == len(checkpoint.model.stack(stack).streams) - 2
    end = predict(text, checkpoint.tokenizers.target, here[0]) if here and is_last else None
    return tuple(stations(text, stack, layer, place)), end


def scores_by_distance_of(key: CheckpointKey, layer: int, reach: int, *, stack: str = "encoder") -> FloatArray:
    """The part of the scores that comes only from the distance, for each head of a layer, (H, 2 · reach + 1)."""
    model = loaded(key).model
    assert isinstance(model, OwnModel)
    attention = model.get_submodule(f"{stack}.layers.{layer}.self_attention")
    assert isinstance(attention, MultiHeadAttention)
    return score_by_distance(attention, reach)


@remembered("Following every token back to what was read …")
def influence_of(key: CheckpointKey, run: Run) -> Influence:
    """The influence on each position, and on the pooled vector of a classifier.

    Raises:
        ConfigError: the blocks of the model are not known, or the text is too long.
    """
    recording = recorded_run(key, run)
    return influence(loaded(key).model, result_of(key, run).maps, recording)


@remembered("Zeroing one value after the other …")
def zeroing_of(key: CheckpointKey, run: Run) -> Zeroing:
    """How far each layer moves without the value of each token.

    Raises:
        ConfigError: the blocks of the model are not known, or the text is too long.
    """
    recording = recorded_run(key, run)
    return value_zeroing(follow(loaded(key).model, result_of(key, run), recording))


@remembered("Deleting every word …")
def deletions_of(key: CheckpointKey, run: Run) -> tuple[Deletion, ...]:
    """The class without each of the first words of a text; for as many words as take about two seconds.

    Raises:
        CheckpointError: the checkpoint translates and does not classify.
    """
    checkpoint = classifier(key)
    # The embeddings are looked up, so they cost no time.
    used = sum(weight.numel() for name, weight in checkpoint.model.named_parameters() if "embedding" not in name)
    tokens = len(checkpoint.tokenizers.encode(run.text, checkpoint.model.config.max_length).ids)
    most = int(min(MAX_DELETED, MOST_WORK / (used * max(tokens, 1))))
    return tuple(delete_each_word(checkpoint, run.text, max_words=most))


@remembered("Silencing every head …")
def head_effects_of(key: CheckpointKey, text: Text) -> SilencingEffects:
    """The effect of silencing each head on the greedy translation.

    Raises:
        ConfigError: the model predicts nothing in this text.
    """
    return silence_each_head(loaded(key), result_of(key, Run(text=text)))


def why_no_effects(key: CheckpointKey, text: Text) -> str:
    """Why the model has no `head_effects_of` this text; "" if it has."""
    return refusal(lambda checkpoint: require_outcome(checkpoint, result_of(key, Run(text=text))), key)


def seconds_of_effects(key: CheckpointKey, text: Text) -> float:
    """About how long `head_effects_of` takes."""
    checkpoint, translation = loaded(key), result_of(key, Run(text=text))
    tokens = len(translation.source) + len(translation.written)
    parameters = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    return len(all_heads(checkpoint.model)) * tokens * parameters / (WORK_PER_SECOND * threads())


def contrast_of(key: CheckpointKey, donor: Text, text: Text) -> Contrast | None:
    """The outcomes in which the runs over two texts differ; None where both are equal.

    Raises:
        ConfigError: heads cannot be patched between these texts.
    """
    return contrast(loaded(key), result_of(key, Run(text=donor)), result_of(key, Run(text=text)))


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
