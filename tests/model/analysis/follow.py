"""A text that a model reads or writes, with a recording for every analysis of the residual stream."""

from collections.abc import Mapping

from model.analysis.contributions import Contributions, choice_of_token, contribution_names, contributions
from model.analysis.influence import influence_names
from model.analysis.lens import Lens, logit_lens
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
    return contributions(checkpoint.model, recording, choice_of_token(translation, position, rival))


def lens_of(checkpoint: Checkpoint, text: str) -> tuple[Translation, Lens]:
    translation, recording = follow(checkpoint, text)
    return translation, logit_lens(checkpoint.model, checkpoint.tokenizers.target, translation, recording)


def zeroing_of(checkpoint: Checkpoint, text: str) -> Zeroing:
    return value_zeroing(checkpoint.model, *follow(checkpoint, text))
