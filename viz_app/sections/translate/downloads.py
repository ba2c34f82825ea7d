"""The files of a translation: the report in one HTML file, and its maps as numbers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial

import streamlit as st

from model.analysis.importance import all_heads
from model.inference.export import FORMATS, count_weights, facts_of
from model.inference.run import UNTOUCHED, Result, Run
from model.interventions import Intervention
from model.text.pair import texts_of
from viz_app.content.numbers import decimal, sentences
from viz_app.content.translation import N_, in_language, language, t
from viz_app.export.report import MAX_TOKENS, Changed, report
from viz_app.server.server_state import GATE, cut
from viz_app.services import analyses, models
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices
from viz_app.widgets.text_notes import length_remedy

__all__ = ["downloads", "map_file", "too_long_for_a_table"]

MAX_TABLE = 300_000  # rows of a table, 20 MB
FILES = {  # ending of a file of maps → its type, and what it holds
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
        for ending, (mime, description) in FILES.items():
            file_button(
                ending.upper(),
                partial(map_file, ending, key, run),
                f"headlight-maps.{ending}",
                mime,
                description=t(description),
                refusal="" if ending == "npz" else too_long_for_a_table(translation),
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
        translation = models.result_of(key, run)
        facts = {"checkpoint": key.name, **facts_of(cut(run.text)), "translation": translation.text}
        return b"".join(FORMATS[form](translation, facts))


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
