"""The files of a translation: the report in one HTML file, and its maps as numbers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial

import streamlit as st

from model.analysis.importance import all_heads
from model.inference.run import UNTOUCHED, Run
from model.interventions import Intervention
from model.text.pair import texts_of
from viz_app.content.numbers import sentences
from viz_app.content.translation import N_, in_language, language, t
from viz_app.export.report import MAX_TOKENS, Changed, report
from viz_app.server.server_state import GATE
from viz_app.services import analyses, map_files, models
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices
from viz_app.widgets.text_notes import length_remedy

__all__ = ["downloads"]

FORMATS = {  # ending of a file of maps → its type, and what it holds
    "csv": ("text/csv", N_("A table with one row for each attention weight.")),
    "npz": ("application/octet-stream", N_("All maps and their tokens as NumPy arrays.")),
    "json": ("application/json", N_("All maps and their tokens as lists, for any programming language.")),
}


def downloads(key: CheckpointKey, run: Run) -> None:
    """A popover of files. A file is made when the visitor clicks on it."""
    translation, changes = models.result_of(key, run), choices().chosen.get("intervention")
    with st.popover(t("Download"), icon=":material/download:"):
        file_button(
            t("One HTML file"),
            partial(  # the report is made later, in a thread that has no visitor
                html_page,
                key,
                run,
                chosen_language=language(),
                in_link=choices().in_link(),
                intervention=changes if isinstance(changes, Intervention) else UNTOUCHED,
            ),
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
        for ending, (mime, description) in FORMATS.items():
            file_button(
                ending.upper(),
                partial(map_files.map_file, ending, key, run),
                f"headlight-maps.{ending}",
                mime,
                description=t(description),
                refusal="" if ending == "npz" else map_files.too_long_for_a_table(translation),
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


def html_page(
    key: CheckpointKey, run: Run, *, chosen_language: str, in_link: Mapping[str, str], intervention: Intervention
) -> str:
    """The report in the language of the visitor, with the visitor's choices in the form of a link."""
    text, second = texts_of(run.text)
    with GATE.inside(), in_language(chosen_language):
        note = ""
        if run.forced:
            free = models.result_of(key, run.usual)
            note = t("Some words were forced. Without forced words, the model writes “{text}”.", text=free.text)
        return report(
            models.result_of(key, run),
            text=text,
            second=second,
            name=key.name,
            made=date.today(),
            note=note,
            sizes=models.config_of(key).model,
            forced=dict(run.forced),
            changed=changed_run(key, run, intervention),
            choices=in_link,
        )


def changed_run(key: CheckpointKey, run: Run, intervention: Intervention) -> Changed | None:
    """The run with the changes that this model can have; None without any, and for a model that writes nothing."""
    before = models.result_of(key, run)
    if not intervention or not before.written or analyses.why_read_only(key):
        return None
    own = intervention.within(all_heads(models.loaded(key).model))
    if not own:
        return None
    same = tuple(before.as_forced.items())
    return Changed(
        intervention=own,
        translation=models.result_of(key, replace(run, changes=own)),
        rescored=models.result_of(key, Run(text=run.text, forced=same, changes=own)),
    )
