"""Download a translation and its maps: as one HTML page, as a table, or as arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from model.inference.run import Run
from viz_app.content.numbers import sentences
from viz_app.content.translation import N_, t
from viz_app.export.report import MAX_TOKENS
from viz_app.sections.translate.report_file import asked_for, html_page
from viz_app.services import map_files, results
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.text_notes import length_remedy

__all__ = ["downloads"]


@dataclass(frozen=True)
class FileFormat:
    """A format for maps."""

    name: str  # also the ending of the file
    mime: str
    description: str


FORMATS = (
    FileFormat("csv", "text/csv", N_("A table with one row for each attention weight.")),
    FileFormat("npz", "application/octet-stream", N_("All maps and their tokens as NumPy arrays.")),
    FileFormat("json", "application/json", N_("All maps and their tokens as lists, for any programming language.")),
)


def downloads(key: CheckpointKey, run: Run) -> None:
    """A popover of files. A file is made when the visitor clicks on it."""
    translation = results.result_of(key, run)
    with st.popover(t("Download"), icon=":material/download:"):
        file_button(
            t("One HTML file"),
            partial(html_page, key, run, asked_for()),
            "headlight.html",
            "text/html",
            description=t(
                "The maps, the lines, the steps and your changes in one page, for any browser, without a network."
            ),
            refusal=sentences(
                [t("One HTML file can hold {limit} tokens.", limit=MAX_TOKENS), length_remedy(translation, MAX_TOKENS)]
            )
            if max(len(translation.source), len(translation.read)) > MAX_TOKENS
            else "",
        )
        for form in FORMATS:
            file_button(
                form.name.upper(),
                partial(map_files.map_file, form.name, key, run),
                f"headlight-maps.{form.name}",
                form.mime,
                description=t(form.description),
                refusal="" if form.name == "npz" else map_files.too_long_for_a_table(translation),
            )
        st.caption(t("To save one picture, use the arrow at its lower right corner."))


def file_button(
    label: str, make: Callable[[], bytes | str], name: str, mime: str, *, description: str, refusal: str
) -> None:
    st.download_button(
        label,
        make,
        name,
        mime,
        icon=":material/download:",
        help=refusal or description,
        disabled=bool(refusal),
        on_click="ignore",
        width="stretch",
    )
