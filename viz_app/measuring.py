"""What takes long: done once for all who ask the same, one at a time, and interruptible by those who wait."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from model.analysis.importance import all_heads, loss_changes, make_examples
from model.checkpoint import Checkpoint
from viz_app.cache import read_only
from viz_app.jobs import Job, Report
from viz_app.listing import CheckpointKey
from viz_app.loading import translator
from viz_app.pairs import Pairs, in_batches
from viz_app.shared import GATE, JOBS, RESULTS

__all__ = ["importance_of", "measure_importance"]

FloatArray = NDArray[np.float32]


def importance_of(key: CheckpointKey, pairs: Pairs) -> Mapping[str, FloatArray] | None:
    """Kind → rise in each sentence's loss when a head is silenced, (N, L, H); None where it is not measured yet."""
    return cast(Mapping[str, FloatArray] | None, RESULTS.peek(("importance", key, pairs)))


def measure_importance(key: CheckpointKey, pairs: Pairs, tell: Callable[[Job[object]], None]) -> None:
    """Silence each head in turn: long work, which is done once for all who ask for it.

    Args:
        key: Of a translator.
        pairs: Sentences and their translations, or nothing for the model's own.
        tell: Called now and then with how far it is.
    """
    subject = ("importance", key, pairs)

    def work(report: Report) -> None:
        with GATE.inside():
            RESULTS.get(subject, lambda: read_only(measured(translator(key), pairs, report)))

    with GATE.outside():
        JOBS.watch(subject, work, tell)


def measured(checkpoint: Checkpoint, pairs: Pairs, report: Report) -> dict[str, FloatArray]:
    model = checkpoint.model
    heads = all_heads(model)
    found = {
        kind: np.zeros((len(pairs), model.config.layers_of(kind), model.config.num_heads), dtype=np.float32)
        for kind in model.config.kinds
    }
    few = in_batches(pairs)
    examples = Unhurried([make_examples(checkpoint, some) for some in Unhurried(few)])
    for done, (head, changes) in enumerate(loss_changes(model, examples), start=1):
        found[head.kind][:, head.layer, head.head] = changes
        with GATE.outside():
            report(done, len(heads))
    return found


Item = TypeVar("Item")


class Unhurried(tuple[Item, ...]):
    """Batches of long work: between two of them, visitors who wait go first."""

    def __iter__(self) -> Iterator[Item]:
        for item in super().__iter__():
            GATE.give_way()
            yield item
