"""A text that a model reads or writes, with a recording for every analysis of the residual stream."""

from collections.abc import Mapping

from model.analysis.contributions import Contributions, contributions
from model.analysis.followed import Followed
from model.analysis.followed import follow as follow_run
from model.analysis.lens import Lens, logit_lens
from model.analysis.station import Station
from model.analysis.stations import Prediction, way_of_token
from model.analysis.zeroing import Zeroing, value_zeroing
from model.checkpoints.checkpoint import Loaded
from model.decoding.search import NOTHING_FORCED
from model.inference.run import Result, Run
from model.text.pair import Text


def follow(checkpoint: Loaded, text: Text, forced: Mapping[int, int] = NOTHING_FORCED) -> Followed:
    return follow_run(checkpoint, Run(text=text, forced=tuple(forced.items())))


def contributions_to(checkpoint: Loaded, text: Text, position: int, rival: int) -> Contributions:
    return contributions(follow(checkpoint, text), position, rival)


def lens_of(checkpoint: Loaded, text: Text) -> tuple[Result, Lens]:
    followed = follow(checkpoint, text)
    return followed.result, logit_lens(followed)


def stations_of(
    checkpoint: Loaded, text: Text, stack: str, layer: int, position: int
) -> tuple[Result, tuple[Station, ...], Prediction | None]:
    """The translation, the stations, and the prediction where the last layer of the stack predicts one."""
    followed = follow(checkpoint, text)
    return followed.result, *way_of_token(followed, stack, layer, position)


def zeroing_of(checkpoint: Loaded, text: Text) -> Zeroing:
    return value_zeroing(follow(checkpoint, text))


def first_difference(one: Result, other: Result) -> int | None:
    """The first position with different tokens; None where one text equals the other or begins it."""
    pairs = enumerate(zip(one.written, other.written, strict=False))  # one may be longer
    return next((at for at, (a, b) in pairs if a.id != b.id), None)
