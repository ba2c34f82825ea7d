"""Analyses of models and runs. Each is a function of `model/analysis`; the app keeps its results and runs long ones.

    analysis_of(influence, key, run)            # the function gets the run, followed
    analysis_of(padded_batch, key, texts)       # without a run, it gets the checkpoint first

So a new analysis needs no function here. Results are plain arrays that cannot be changed. They are kept in a memory
that is bounded in bytes.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar, cast

from model.analysis import positions
from model.analysis.anatomy import require_mixing
from model.analysis.availability import require_masks
from model.analysis.deletion import delete_each_word
from model.analysis.followed import Followed
from model.analysis.importance import all_heads
from model.analysis.influence import influence
from model.analysis.learning import SnapshotResult, UnreadableSnapshot
from model.analysis.lens import EarlyReading, decoder_lens
from model.analysis.mask_bugs import BugReport, mask_bug
from model.analysis.padded_batch import PaddedBatch, padded_batch
from model.analysis.patching import patch_head
from model.analysis.silencing import measured_outcomes, silence_each_head
from model.analysis.streams import stacks_of
from model.analysis.zeroing import value_zeroing
from model.checkpoints.checkpoint import CheckpointError, Loaded
from model.circuits.graph import graph_of
from model.config.section import ConfigError
from model.inference.passes import Side
from model.inference.run import FloatArray, Result, Run
from model.inference.translate import compute
from model.interventions import Head
from model.messages import N_
from model.text.pair import Text
from viz_app.content.translation import t
from viz_app.server.jobs import Report
from viz_app.server.resources import threads
from viz_app.server.server_state import (
    GATE,
    RESULTS,
    cut,
    keep,
    key_of,
    known,
    read_only,
    remembered,
    signature_of,
    waiting,
)
from viz_app.services.listing import CheckpointKey, listed_checkpoints
from viz_app.services.models import (
    config_of,
    loaded,
    parameters_of,
    recorded_layer,
    recorded_run,
    result_of,
    seconds_of_search,
    snapshot_result_of,
    translator,
)

__all__ = [
    "Analysis",
    "Work",
    "analysis_of",
    "batch_of",
    "bug_report_of",
    "early_readings_of",
    "has_sinks",
    "kept_job",
    "learned_table",
    "patched_translation_of",
    "position_table",
    "run_work",
    "seconds_of_effects",
    "sinusoids",
    "snapshot_results_of",
    "snapshots_work",
    "why_no",
    "why_no_effects",
    "why_read_only",
]

# What a visitor reads while an analysis is computed, if it takes longer than a moment.
WAITING: Mapping[Callable[..., object], str] = {
    influence: N_("Following every token back to what was read …"),
    value_zeroing: N_("Zeroing one value after the other …"),
    delete_each_word: N_("Deleting every word …"),
    silence_each_head: N_("Silencing every head …"),
    padded_batch: N_("Running the batch …"),
    mask_bug: N_("Running the batch with the mistake …"),
}
# What a page shows of a model → what raises a `ConfigError` without it.
PARTS: Mapping[str, Callable[[Loaded], object]] = {
    "residual stream": lambda checkpoint: stacks_of(checkpoint.model),
    "circuits": lambda checkpoint: graph_of(checkpoint.model),  # single edges can be followed
    "masks": require_masks,
    "value norms": require_mixing,
}
MOST_SECONDS = 20.0  # of many translations inside the gate
WORK_PER_SECOND = 7e10  # heads × tokens × parameters that one core computes in a second
sinusoids = remembered()(positions.sinusoids)
Answer = TypeVar("Answer")
Work = tuple[Hashable, Callable[[Report], Answer]]  # the subject of a job, and the job


@dataclass(frozen=True)
class Analysis(Generic[Answer]):
    """A function of `model/analysis` and what it is asked about. It names its result in the memory, and its job."""

    function: Callable[..., Answer]
    key: CheckpointKey
    arguments: tuple[Hashable, ...]

    @classmethod
    def of(cls, function: Callable[..., Answer], key: CheckpointKey, *arguments: Hashable) -> "Analysis[Answer]":
        """An analysis.

        Args:
            function: Its first argument is a followed run where a `Run` is given, else the checkpoint.
            key: Of the checkpoint.
            arguments: Positional ones. Long texts are cut. Another analysis stands for its result.
        """
        given = len(arguments) + (not has_run(arguments))
        parameters = [*signature_of(function).parameters.values()][given:]
        defaults = (one.default for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD)
        return cls(function, key, (*map(cut, arguments), *defaults))

    def compute(self, **report: Report) -> Answer:
        """Call the function."""
        given = [opened(self.key, argument) for argument in self.arguments]
        return self.function(*([] if has_run(self.arguments) else [loaded(self.key)]), *given, **report)

    def answer(self) -> Answer:
        """The result, computed now if it is not kept."""
        return cast(Answer, answered(self))

    def known(self) -> Answer | None:
        """The kept result; None without one."""
        return cast(Answer | None, known(answered, self))

    def work(self) -> Work[Answer]:
        """The job that computes and keeps the result. Its function has an argument `report`."""
        place = key_of(answered, (self,), {})
        return self, in_turns(lambda report: RESULTS.get(place, lambda: read_only(self.compute(report=report))))


def analysis_of(function: Callable[..., Answer], key: CheckpointKey, *arguments: Hashable) -> Answer:
    """The result of an analysis, see `Analysis.of`.

    Raises:
        ConfigError: the model or the text has no such analysis.
    """
    return Analysis.of(function, key, *arguments).answer()


@remembered()
def answered(asked: Analysis[Any]) -> object:
    message = WAITING.get(asked.function, "")
    with waiting(t(message)) if message else nullcontext():
        return asked.compute()


def has_run(arguments: Sequence[object]) -> bool:
    return any(isinstance(argument, Run) for argument in arguments)


def opened(key: CheckpointKey, argument: object) -> object:
    """An argument as a function of `model/analysis` gets it."""
    if isinstance(argument, Run):
        return followed(key, argument)
    return argument.answer() if isinstance(argument, Analysis) else argument


def followed(key: CheckpointKey, run: Run) -> Followed:
    """A run with its kept result and its kept recordings."""
    return Followed(
        checkpoint=loaded(key),
        run=run,
        result=result_of(key, run),
        record=partial(recorded_run, key, run),
        record_layer=partial(recorded_layer, key, run),
    )


def batch_of(key: CheckpointKey, texts: tuple[Text, ...], side: Side | None = None) -> Analysis[PaddedBatch]:
    """A few texts as one padded batch, see `padded_batch`.

    Visitors change one text of a batch at a time. So the translations of the others are kept results.
    """
    if config_of(key).task != "translation":
        return Analysis.of(padded_batch, key, texts, side)
    written = tuple(tuple(token.id for token in result_of(key, Run(text=text)).written) for text in texts)
    return Analysis.of(padded_batch, key, texts, side, written)


def bug_report_of(key: CheckpointKey, texts: tuple[Text, ...], name: str = "", side: Side | None = None) -> BugReport:
    """What a mistake does to a padded batch, see `mask_bug`."""
    return analysis_of(mask_bug, key, texts, name, side, batch_of(key, texts, side))


def refusal(require: Callable[[Loaded], object], key: CheckpointKey) -> str:
    """Why a model does not have what is required; "" if it does."""
    try:
        require(loaded(key))
    except ConfigError as error:
        return error.message
    return ""


@remembered()
def why_no(part: str, key: CheckpointKey) -> str:
    """Why a model does not have something that a page shows, one of `PARTS`; "" if it has."""
    return refusal(PARTS[part], key)


def why_read_only(key: CheckpointKey) -> str:
    """Why nothing can be changed in the model; "" if its heads can be silenced, painted and patched."""
    return loaded(key).model.read_only_reason


def has_sinks(key: CheckpointKey) -> bool:
    """Whether the model has attention sinks, so that the weights of a row sum to less than 1."""
    model = loaded(key).model
    return not model.read_only_reason and any(model.scoring(kind, 0).sinks is not None for kind in model.config.kinds)


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


def why_no_effects(key: CheckpointKey, text: Text) -> str:
    """Why heads have no effects that `silence_each_head` can measure in this text; "" if they have."""
    return refusal(lambda _: measured_outcomes(followed(key, Run(text=cut(text)))), key)


def seconds_of_effects(key: CheckpointKey, text: Text) -> float:
    """About how long `silence_each_head` takes."""
    result = result_of(key, Run(text=text))
    tokens = len(result.source) + len(result.written)
    return len(all_heads(loaded(key).model)) * tokens * parameters_of(key) / (WORK_PER_SECOND * threads())


@remembered()
def patched_translation_of(key: CheckpointKey, donor: Text, text: Text, head: Head) -> Result:
    """The translation of a text while one head has its outputs for the donor, without its maps."""
    return replace(patch_head(loaded(key), donor, text, head), maps={})


def position_table(key: CheckpointKey) -> FloatArray:
    """The positional encoding of a checkpoint, (max_length, d_model); for rotary positions the angles, (max_length, K).

    Raises:
        CheckpointError: the model has no such table.
    """
    found = loaded(key).model.position_table()
    if found is None:
        raise CheckpointError("{name} has no table of positions.", name=key.name)
    table: FloatArray = found.cpu().numpy()
    table.setflags(write=False)  # this memory belongs to the model
    return table


def learned_table() -> FloatArray | None:
    """The learned positions of the first checkpoint that has some, to compare with sinusoids; None without one."""
    for listed in listed_checkpoints():
        if listed.config is not None and listed.config.model.positional == "learned":
            with suppress(CheckpointError, ConfigError):  # the page of this checkpoint shows the problem
                return position_table(listed.key)
    return None


def run_work(key: CheckpointKey, run: Run) -> Work[Result]:
    """The job that runs the model and records the maps."""
    run = cut(run)

    def work(report: Report) -> Result:
        return keep(compute(loaded(key), run, report=report), result_of, key, run)

    return ("run", key, run), in_turns(work, first=True)


def snapshot_results_of(
    key: CheckpointKey, text: str, steps: Sequence[int]
) -> list[SnapshotResult | UnreadableSnapshot] | None:
    """What the snapshots after these steps do with a text; None if one is missing."""
    found = [known(snapshot_result_of, key, text, step) for step in steps]
    return None if None in found else cast(list[SnapshotResult | UnreadableSnapshot], found)


def snapshots_work(
    key: CheckpointKey, text: str, steps: Sequence[int]
) -> Work[list[SnapshotResult | UnreadableSnapshot]]:
    """The job that lets each snapshot translate a text."""
    text = cut(text)

    def run(report: Report) -> list[SnapshotResult | UnreadableSnapshot]:
        results: list[SnapshotResult | UnreadableSnapshot] = []
        for step in steps:
            report(len(results), len(steps))
            results.append(snapshot_result_of(key, text, step))
        return results

    return ("snapshots", key, text, tuple(steps)), in_turns(run, first=True)


def kept_job(subject: Hashable, compute: Callable[[Report], Answer]) -> Work[Answer]:
    """A job that keeps its result under its subject."""
    return subject, in_turns(lambda report: RESULTS.get(subject, lambda: read_only(compute(report))))


def in_turns(compute: Callable[[Report], Answer], *, first: bool = False) -> Callable[[Report], Answer]:
    """Compute inside the gate, and let others run between two steps; `first` as in `Gate.inside`."""

    def work(report: Report) -> Answer:
        def step(done: int, steps: int) -> None:
            report(done, steps)
            GATE.give_way()

        with GATE.inside(first=first):
            return compute(step)

    return work
