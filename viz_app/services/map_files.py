"""All maps of a translation as a file to download."""

from model.config.search import SearchConfig
from model.inference.export import FORMATS, count_weights
from model.inference.translation import Translation
from viz_app.server.server_state import GATE, MAX_CHARACTERS
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Forced, translation_of

__all__ = ["map_file", "too_long_for_a_table"]

MAX_TABLE = 300_000  # rows of a table, 20 MB


def too_long_for_a_table(translation: Translation) -> str:
    """Why `map_file` is refused as CSV and JSON, or nothing where it is not."""
    count = count_weights(translation)
    if count <= MAX_TABLE:
        return ""
    return (
        f"The maps of this text have {count:,} weights, and a table takes up to {MAX_TABLE:,}: shorten the text, or "
        "take the NPZ file."
    )


def map_file(form: str, key: CheckpointKey, text: str, search: SearchConfig, forced: Forced = ()) -> bytes:
    """All maps of a translation as a file, made when it is asked for and not kept.

    Args:
        form: One of `FORMATS`; other than "npz" for what is not `too_long_for_a_table`.
        key: Of the checkpoint.
        text: What is translated.
        search: How.
        forced: Tokens that were not the model's choice.
    """
    with GATE.inside():
        translation = translation_of(key, text, search, forced)
        facts = {"checkpoint": key.name, "sentence": text[:MAX_CHARACTERS], "translation": translation.text}
        return b"".join(FORMATS[form](translation, facts))
