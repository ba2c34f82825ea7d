"""One sentence at every snapshot of a training run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from model.analysis.learning import SnapshotResult, UnreadableSnapshot, list_snapshots, trained_result
from model.inference.run import Run
from model.inference.translation import Translation
from viz_app.content.numbers import decimal
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tp, worded
from viz_app.services import long_analyses
from viz_app.services.listing import CheckpointKey
from viz_app.services.results import result_of
from viz_app.session.page_end import end_page
from viz_app.widgets.long_work import start_and_wait_for

__all__ = ["History", "require_history"]


@dataclass(frozen=True, kw_only=True)
class History:
    """A sentence at every snapshot, and at the end of the training run."""

    trained: Translation  # by the trained model
    steps: Sequence[int]  # one for each snapshot
    results: Sequence[SnapshotResult]  # of the snapshots, then of the trained model

    @property
    def ids(self) -> list[str]:
        """The names that links use."""
        return [*map(str, self.steps), "trained"]

    @property
    def names(self) -> list[str]:
        return [*(tp("training", "step {step}", step=decimal(step)) for step in self.steps), t("trained")]

    @property
    def texts(self) -> list[str]:
        return [result.text if result.finished else f"{result.text} …" for result in self.results]


def require_history(key: CheckpointKey, text: str) -> History:
    """Run a text through every snapshot, with a progress bar; end the page while the results are missing.

    A snapshot that cannot be loaded shows its message and is left out.

    Args:
        key: The key of a checkpoint with snapshots.
        text: The text to translate.

    Raises:
        PageEnded: no snapshot can be loaded, or the visitor stopped the work.
    """
    steps = list(list_snapshots(Path(key.path)))
    results = long_analyses.snapshot_results_of(key, text, steps)
    if results is None:
        subject, work = long_analyses.snapshots_work(key, text, steps)
        results = start_and_wait_for(subject, work, lane="snapshots", step=N_("Snapshot {done} of {total}."))
    if results is None:
        end_page()
    for result in results:
        if isinstance(result, UnreadableSnapshot):
            st.error(plain(worded(result.message)))
    read = {step: one for step, one in zip(steps, results, strict=True) if isinstance(one, SnapshotResult)}
    if not read:
        end_page()
    trained = result_of(key, Run(text=text))
    return History(trained=trained, steps=list(read), results=[*read.values(), trained_result(trained)])
