"""All maps of a translation as a file to download."""

from model.inference.export import FORMATS, count_weights, facts_of
from model.inference.run import Result, Run
from viz_app.content.numbers import decimal
from viz_app.content.translation import t
from viz_app.server.server_state import GATE, cut
from viz_app.services.listing import CheckpointKey
from viz_app.services.models import result_of

__all__ = ["map_file", "too_long_for_a_table"]

MAX_TABLE = 300_000  # rows of a table, 20 MB


def too_long_for_a_table(translation: Result) -> str:
    """Why the maps are too large for CSV and JSON; "" if they are not."""
    count = count_weights(translation)
    if count <= MAX_TABLE:
        return ""
    return t(
        "The maps of this text have {n} weights. A table can hold {limit}. Shorten the text, or download the NPZ file.",
        n=decimal(count),
        limit=decimal(MAX_TABLE),
    )


def map_file(form: str, key: CheckpointKey, run: Run) -> bytes:
    """Make a file with all maps of a run.

    Args:
        form: One of `FORMATS`; only "npz" where the text is `too_long_for_a_table`.
        key: The checkpoint.
        run: The run.
    """
    with GATE.inside():
        translation = result_of(key, run)
        facts = {"checkpoint": key.name, **facts_of(cut(run.text)), "translation": translation.text}
        return b"".join(FORMATS[form](translation, facts))
