"""Analyses that take long. One job serves all visitors who request it, and lets others run between steps."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from model.analysis.alignment import Pointer, link_words
from model.analysis.importance import all_heads, loss_changes, make_examples
from model.analysis.learning import SnapshotResult, UnreadableSnapshot
from model.analysis.patching import PatchingEffects, patch_every_head
from model.analysis.silencing import SilencingEffects, silence_each_head
from model.checkpoints.checkpoint import Loaded
from model.corpora.aligned import Links
from model.inference.run import Run, compute
from model.inference.translation import Translation
from model.interventions import Head, Intervention
from model.text.pair import Text, texts_of
from viz_app.server.jobs import Report
from viz_app.server.server_state import GATE, RESULTS, cut, keep, known, read_only
from viz_app.services.analyses import aligned_pairs, head_effects_of
from viz_app.services.head_analyses import gradient_importance_of
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import loaded, translator
from viz_app.services.results import result_of
from viz_app.services.sentence_batches import Pairs, in_batches
from viz_app.services.snapshots import snapshot_result_of

__all__ = [
    "Work",
    "alignment_work",
    "decisive_heads_work",
    "effects_work",
    "importance_of",
    "importance_work",
    "kept_job",
    "known_effects_of",
    "patching_effects_of",
    "patching_work",
    "run_work",
    "snapshot_results_of",
    "snapshots_work",
    "word_links_of",
]

FloatArray = NDArray[np.float32]
MAX_ALONE = 24  # heads tried one by one; less important ones hardly ever change a word
Result = TypeVar("Result")
Work = tuple[Hashable, Callable[[Report], Result]]  # the subject of a job, and the job


def importance_of(key: CheckpointKey, pairs: Pairs) -> Mapping[str, FloatArray] | None:
    """Kind → rise in the loss of each sentence when a head is silenced, (N, L, H); None before the job has finished."""
    return cast(Mapping[str, FloatArray] | None, RESULTS.peek(importance_work(key, pairs)[0]))


def importance_work(key: CheckpointKey, pairs: Pairs) -> Work[dict[str, FloatArray]]:
    """The job that silences each head in turn.

    Args:
        key: Of a translator, a language model or a classifier.
        pairs: Sentences and their translations; "" for the model's own translation.
    """
    return kept_job(("importance", key, pairs), lambda report: importance_of_each_head(loaded(key), pairs, report))


def decisive_heads_work(key: CheckpointKey, text: Text) -> Work[frozenset[Head]]:
    """The job that finds one head, or a group without a superfluous head, whose removal changes the translation."""
    text = cut(text)
    return kept_job(("decisive heads", key, text), lambda report: decisive_heads(key, text, report))


def known_effects_of(key: CheckpointKey, text: Text) -> SilencingEffects | None:
    """The effect of silencing each head on the greedy translation; None before it is measured."""
    return cast(SilencingEffects | None, known(head_effects_of, key, text))


def run_work(key: CheckpointKey, run: Run) -> Work[Translation]:
    """The job that runs the model and records the maps."""
    run = cut(run)

    def work(report: Report) -> Translation:
        return keep(compute(loaded(key), run, report=report), result_of, key, run)

    return ("run", key, run), in_turns(work, first=True)


def effects_work(key: CheckpointKey, text: Text) -> Work[SilencingEffects]:
    """The job that silences each head in the greedy translation."""
    text = cut(text)

    def measure(report: Report) -> SilencingEffects:
        found = silence_each_head(loaded(key), result_of(key, Run(text=text)), report=report)
        return keep(found, head_effects_of, key, text)

    return ("effects", key, text), in_turns(measure)


def word_links_of(key: CheckpointKey) -> tuple[Mapping[Pointer, Links], ...] | None:
    """For each of the `aligned_pairs`: pointer → its links; None before the job has finished."""
    return cast(tuple[Mapping[Pointer, Links], ...] | None, RESULTS.peek(alignment_work(key)[0]))


def alignment_work(key: CheckpointKey) -> Work[tuple[Mapping[Pointer, Links], ...]]:
    """The job that links the words of each of the `aligned_pairs`."""
    return kept_job(("alignment", key), lambda report: link_all_pairs(key, report))


def patching_effects_of(key: CheckpointKey, donor: Text, text: Text) -> PatchingEffects | None:
    """How much closer each head brings the translation of a text to that of the donor; None before it is measured."""
    return cast(PatchingEffects | None, RESULTS.peek(patching_work(key, donor, text)[0]))


def patching_work(key: CheckpointKey, donor: Text, text: Text) -> Work[PatchingEffects | None]:
    """The job that patches each head of the donor's run into the run over `text`. The translations must differ."""
    donor, text = cut(donor), cut(text)
    return kept_job(
        ("patching", key, donor, text), lambda report: patch_every_head(loaded(key), donor, text, report=report)
    )


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


def kept_job(subject: Hashable, compute: Callable[[Report], Result]) -> Work[Result]:
    """A job that keeps its result."""
    return subject, in_turns(lambda report: RESULTS.get(subject, lambda: read_only(compute(report))))


def in_turns(compute: Callable[[Report], Result], *, first: bool = False) -> Callable[[Report], Result]:
    """Compute inside the gate, and let others run between two steps; `first` as in `Gate.inside`."""

    def work(report: Report) -> Result:
        def step(done: int, steps: int) -> None:
            report(done, steps)
            GATE.give_way()

        with GATE.inside(first=first):
            return compute(step)

    return work


def decisive_heads(key: CheckpointKey, text: Text, report: Report) -> frozenset[Head]:
    """Try heads one by one, then 2, 4, 8 … together, in the order of their importance by gradients."""
    importance = gradient_importance_of(key, (texts_of(text),))
    heads = all_heads(loaded(key).model)
    heads.sort(key=lambda head: -importance[head.kind][0, head.layer, head.head])
    alone = [frozenset({head}) for head in heads[:MAX_ALONE]]
    together = [frozenset(heads[: 2**power]) for power in range(1, len(heads).bit_length())]
    trained = result_of(key, Run(text=text)).text
    done, steps = 0, len(alone) + len(together) + len(heads)

    def changes(silenced: frozenset[Head]) -> bool:
        nonlocal done
        report(done, steps)
        done += 1
        return compute(loaded(key), Run(text=text, changes=Intervention(ablated=silenced))).text != trained

    silenced = next(filter(changes, (*alone, *together)), frozenset(heads))
    for head in [head for head in reversed(heads) if head in silenced]:  # heads that are not needed are not silenced
        if len(silenced) > 1 and changes(silenced - {head}):
            silenced -= {head}
    return silenced


def link_all_pairs(key: CheckpointKey, report: Report) -> tuple[Mapping[Pointer, Links], ...]:
    pairs, found = aligned_pairs(key), []
    for done, pair in enumerate(pairs):
        report(done, len(pairs))
        found.append(link_words(translator(key), pair))
    return tuple(found)


def importance_of_each_head(checkpoint: Loaded, pairs: Pairs, report: Report) -> dict[str, FloatArray]:
    model = checkpoint.model
    heads = all_heads(model)
    found = {
        kind: np.zeros((len(pairs), model.config.num_layers(kind), model.config.num_heads), dtype=np.float32)
        for kind in model.config.kinds
    }
    few = in_batches(pairs)
    examples = GivingWay([make_examples(checkpoint, some) for some in GivingWay(few)])
    for done, (head, changes) in enumerate(loss_changes(model, examples), start=1):
        found[head.kind][:, head.layer, head.head] = changes
        report(done, len(heads))
    return found


Item = TypeVar("Item")


class GivingWay(tuple[Item, ...]):
    """Batches of long work. Between two batches, visitors who wait go first."""

    def __iter__(self) -> Iterator[Item]:
        for item in super().__iter__():
            GATE.give_way()
            yield item
