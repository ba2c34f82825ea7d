"""What the snapshots of a training run do with one sentence.

Results are plain arrays that cannot be changed. They are kept in a memory that is bounded in bytes.
"""

from pathlib import Path

from model.analysis.learning import SnapshotResult, UnreadableSnapshot, list_snapshots, run_snapshot
from model.checkpoints.checkpoint import CheckpointError, load_checkpoint
from model.inference.result import Result
from model.inference.run import Run
from model.inference.searching import forced_ids
from model.inference.translate import translate
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import snapshot
from viz_app.services.results import result_of

__all__ = ["attempt_of", "snapshot_result_of"]


@remembered()
def snapshot_result_of(key: CheckpointKey, text: str, step: int) -> SnapshotResult | UnreadableSnapshot:
    """What one snapshot of a training run does with a text; or why its weights cannot be loaded."""
    try:
        loaded_snapshot = snapshot(key, step)
    except CheckpointError as error:
        return UnreadableSnapshot(message=error.message)
    return run_snapshot(loaded_snapshot, text, result_of(key, Run(text=text)))


@remembered()
def attempt_of(key: CheckpointKey, text: str, answer: str, step: int | None = None) -> tuple[str, Result]:
    """The translation by a model that is still training, and its forced run over the right translation.

    The model is not kept in memory, because its next state follows after two seconds.

    Args:
        key: The folder of the training run.
        text: The source.
        answer: The right translation.
        step: The step of a snapshot; None for the checkpoint.

    Raises:
        CheckpointError: its weights cannot be loaded.
    """
    folder = Path(key.path)
    checkpoint = load_checkpoint(folder, weights=None if step is None else list_snapshots(folder)[step])
    forced = forced_ids(checkpoint.tokenizers, answer)
    return translate(checkpoint, text).text, translate(checkpoint, text, forced=forced)
