"""What passed the hook points in a run: recorded once, for all analyses of the stream, for a model of any task.

A recording is kept in the memory that is bounded in bytes, if it fits there. A larger one is made again when it is
needed.
"""

from model.analysis.followed import layer_names, run_names
from model.inference.passes import record_again
from model.inference.result import RecordedArrays
from model.inference.run import Run
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import loaded
from viz_app.services.results import result_of

__all__ = ["recorded_layer", "recorded_run"]


@remembered("Following the text through the layers …")
def recorded_run(key: CheckpointKey, run: Run) -> RecordedArrays:
    """What passed the hook points that the analyses of the stream read.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    model = loaded(key).model
    return record_again(model, result_of(key, run), run_names(model), edits=run.changes.edits()).arrays()


@remembered()
def recorded_layer(key: CheckpointKey, run: Run, stack: str, layer: int) -> RecordedArrays:
    """What passed all hook points of one layer.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    model = loaded(key).model
    record = layer_names(model.stack(stack), layer)
    return record_again(model, result_of(key, run), record, edits=run.changes.edits()).arrays()
