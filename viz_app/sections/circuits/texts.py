"""Ask for the pairs of texts of a circuit."""

import streamlit as st

from model.circuits.finding import MOST_PAIRS
from model.text.pair import Text
from viz_app.content.plain import plain
from viz_app.content.translation import t, worded
from viz_app.sections.heads.head_measures import MAX_LINE, text_of_file
from viz_app.sections.heads.head_patching import ask_for_pair, require_runs, why_no_patching
from viz_app.services import analyses
from viz_app.services.listing import CheckpointKey
from viz_app.session.page_end import end_page
from viz_app.widgets.choosing import choose

__all__ = ["TextPairs", "require_pairs"]

TextPairs = tuple[tuple[Text, Text], ...]


def require_pairs(key: CheckpointKey) -> TextPairs:
    """Ask for one pair of texts, or for a file of pairs.

    Raises:
        PageEnded: the model has no circuits, or the texts cannot be compared; a sentence says why.
    """
    if problem := why_no_patching(key) or plain(worded(analyses.why_no_circuits(key))):
        end_page(problem)
    sources = {"pair": t("One pair of texts"), "file": t("A file of pairs")}
    if choose(t("Texts"), sources, key="circuit_from") == "file":
        return pairs_in_file()
    text, donor = ask_for_pair(key)
    st.caption(require_runs(key, text, donor).question)
    return ((text, donor),)


def pairs_in_file() -> TextPairs:
    form = t("One pair per line: a text, a tab, and its donor; up to {most} pairs of one task", most=MOST_PAIRS)
    text = text_of_file(form, key="pairs_file")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        end_page(t("Upload a file of pairs."))
    if len(lines) > MOST_PAIRS:
        end_page(t("The file has {n} pairs. The limit is {most}. Remove some.", n=len(lines), most=MOST_PAIRS))
    pairs = [tuple(part.strip() for part in line.split("\t")) for _, line in lines]
    for (number, line), pair in zip(lines, pairs, strict=True):
        if len(pair) != 2 or not all(pair):
            end_page(t("Line {n} is not a text, a tab and a donor. Correct it.", n=number))
        if len(line) > 2 * MAX_LINE:
            end_page(t("Line {n} has more than {most} characters. Shorten it.", n=number, most=2 * MAX_LINE))
    return tuple((text, donor) for text, donor in pairs)
