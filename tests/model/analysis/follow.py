"""A text that a model reads or writes, with a recording for every analysis of the residual stream."""

from collections.abc import Mapping

from model.analysis.contributions import Contributions, contribution_names, contributions
from model.analysis.influence import influence_names
from model.analysis.lens import Lens, logit_lens
from model.analysis.readout_stations import Prediction, predict
from model.analysis.station import Station
from model.analysis.station import follow as followed_in
from model.analysis.stations import station_names, stations
from model.analysis.streams import stacks_of
from model.analysis.zeroing import Zeroing, value_zeroing
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.translate import record_translation
from model.inference.translation import RecordedArrays, Translation


def follow(
    checkpoint: Checkpoint, text: str, forced: Mapping[int, int] = NOTHING_FORCED
) -> tuple[Translation, RecordedArrays]:
    stacks = stacks_of(checkpoint.model)
    names = [name for stack in stacks for name in (*contribution_names(stack), *influence_names(stack))]
    translation, recording = record_translation(checkpoint, text, record=names, forced=forced)
    return translation, recording.arrays()


def contributions_to(checkpoint: Checkpoint, text: str, position: int, rival: int) -> Contributions:
    translation, recording = follow(checkpoint, text)
    return contributions(checkpoint.model, recording, translation.outcome_at(position), rival)


def lens_of(checkpoint: Checkpoint, text: str) -> tuple[Translation, Lens]:
    translation, recording = follow(checkpoint, text)
    return translation, logit_lens(checkpoint.model, checkpoint.tokenizers.target, translation.outcomes, recording)


def stations_of(
    checkpoint: Checkpoint, text: str, stack: str, layer: int, position: int
) -> tuple[Translation, list[Station], Prediction | None]:
    """The translation, the stations, and the prediction where the last layer of the stack predicts one."""
    model = checkpoint.model
    names = station_names(model.stack(stack), layer)
    translation, recording = record_translation(checkpoint, text, record=names)
    followed = followed_in(model, translation, recording.arrays())
    here = [one for one in translation.outcomes if (one.stack, one.position) == (stack, position)]
    is_last = layer == len(model.stack(stack).streams) - 2
    end = predict(followed, checkpoint.tokenizers.target, here[0]) if here and is_last else None
    return translation, stations(followed, stack, layer, position), end


def zeroing_of(checkpoint: Checkpoint, text: str) -> Zeroing:
    return value_zeroing(followed_in(checkpoint.model, *follow(checkpoint, text)))


def first_difference(one: Translation, other: Translation) -> int | None:
    """The first position with different tokens; None where one text equals the other or begins it."""
    pairs = enumerate(zip(one.written, other.written, strict=False))  # one may be longer
    return next((at for at, (a, b) in pairs if a.id != b.id), None)
