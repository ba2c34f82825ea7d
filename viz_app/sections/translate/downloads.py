"""What a visitor takes home of a translation: one HTML file, a table, arrays."""

from collections.abc import Callable
from datetime import date
from functools import partial

import streamlit as st

from model.config.search import SearchConfig
from model.inference.translation import Translation
from viz_app.export.report import MAX_TOKENS, report
from viz_app.server.server_state import GATE
from viz_app.services import map_files, translations
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Forced

__all__ = ["take_home"]

FORMS = (
    ("csv", "text/csv", "Every weight of every map as a row of a table."),
    ("npz", "application/octet-stream", "All maps and their tokens as NumPy arrays."),
    ("json", "application/json", "All maps and their tokens as lists, for any programming language."),
)


def take_home(key: CheckpointKey, text: str, search: SearchConfig, forced: Forced, translation: Translation) -> None:
    """A popover of files, each made when it is asked for."""
    asked = (key, text, search, forced)
    too_long = max(len(translation.source), len(translation.read)) > MAX_TOKENS
    with st.popover("Download", icon=":material/download:"):
        file(
            "One HTML file",
            partial(page_of, *asked),
            "headlight.html",
            "text/html",
            says="Its maps, lines and steps, for any browser, without a network.",
            refusal=f"One file holds texts of up to {MAX_TOKENS} tokens." if too_long else "",
        )
        for form, kind, says in FORMS:
            file(
                form.upper(),
                partial(map_files.map_file, form, *asked),
                f"headlight-maps.{form}",
                kind,
                says=says,
                refusal="" if form == "npz" else map_files.too_long_for_a_table(translation),
            )
        st.caption("A picture is saved by the arrow at its lower right corner.")


def file(label: str, make: Callable[[], bytes | str], name: str, kind: str, *, says: str, refusal: str = "") -> None:
    st.download_button(
        label,
        make,
        name,
        kind,
        icon=":material/download:",
        help=refusal or says,
        disabled=bool(refusal),
        on_click="ignore",
        width="stretch",
    )


def page_of(key: CheckpointKey, text: str, search: SearchConfig, forced: Forced) -> str:
    with GATE.inside():
        translation = translations.translation_of(key, text, search, forced)
        note = ""
        if forced:
            note = (
                f"Words of it were forced; by itself the model writes “{translations.translation_of(key, text).text}”."
            )
        return report(translation, text=text, name=key.name, made=date.today(), note=note)
