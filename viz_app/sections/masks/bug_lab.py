"""Bug lab: mistakes with masks that real code has shipped, compared with the correct masks."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from model.analysis.mask_bugs import BUGS, BugReport, bug_weights, bugs_of
from model.checkpoints.languages import tag
from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.numbers import decimal, percent, percent_column, sentences
from viz_app.content.tasks import about_task
from viz_app.content.translation import N_, t
from viz_app.figures.heat_maps import head_map
from viz_app.sections.masks.correct_masks import PaddedSentence, pick_head_of_sentence
from viz_app.services import models
from viz_app.services.analyses import analysis_of, batch_of, bug_report_of
from viz_app.widgets.charts import draw
from viz_app.widgets.choosing import choose
from viz_app.widgets.headings import section
from viz_app.widgets.marked_text import compared

__all__ = ["MISTAKES", "bug_lab"]

HEIGHT = 380
CORRECT = ""  # the name of the masks without a mistake
LEAKED = {"encoder": N_("leaked: encoder"), "decoder": N_("leaked: decoder"), "cross": N_("leaked: cross")}


MISTAKES = {name: EXPLANATIONS[f"mistake-{name}"] for name in BUGS}  # with the wrong line


def bug_lab(sentence: PaddedSentence) -> None:
    """Ask for a mistake, and show what it does to one head, to the results and, on request, to the numbers."""
    names = analysis_of(bugs_of, sentence.key, sentence.side)
    name = choose(t("Mistake"), {bug: t(MISTAKES[bug].label) for bug in names}, key="bug", default="fill")
    code, meaning = st.columns([1, 1.2], vertical_alignment="center")
    code.code(MISTAKES[name].code, language="python")
    meaning.markdown(t(MISTAKES[name].text))
    draw_maps(sentence, name)
    show_results(sentence, name)
    table = st.expander(
        t("All mistakes, measured"), icon=":material/table_rows:", on_change="rerun", key="all_mistakes"
    )
    if table.open:
        with table:
            compare_all(sentence, names)


def draw_maps(sentence: PaddedSentence, name: str) -> None:
    """Draw the map of one head with the correct mask and with the mistake."""
    kind, layer, head = pick_head_of_sentence(sentence, key="set_bug_head")
    titles = {CORRECT: t("Correct mask"), name: t(MISTAKES[name].label)}
    for column, (bug, title) in zip(st.columns(2), titles.items(), strict=True):
        report = report_of(sentence, bug)
        batch = batch_of(sentence.key, sentence.sentences, sentence.side)
        weights = analysis_of(bug_weights, sentence.key, batch, bug, kind, layer, sentence.row)
        with column:
            draw(
                head_map(
                    weights[head],
                    sentence.axes[kind],
                    sentence.allowed[kind][layer] | (bug != CORRECT),  # a mistake shows the weights of masked keys too
                    height=HEIGHT,
                ),
                heading=title,
                about=describe_leak(report, kind, sentence.row),
                key=f"bug_{bug or 'correct'}",
                alt=t(
                    "Attention weights of layer {layer}, head {head}: {title}",
                    layer=layer + 1,
                    head=head + 1,
                    title=title,
                ),
            )


def describe_leak(report: BugReport, kind: str, row: int) -> str:
    """Say how much weight is on masked keys, and whether the rows still sum to 1."""
    smallest, largest = report.row_sums[kind][row]
    sums = (
        t("The rows sum to 1.")
        if abs(smallest - 1) < 1e-3 > abs(largest - 1)
        else t(
            "The rows sum to {smallest} to {largest}.",
            smallest=decimal(float(smallest), digits=2),
            largest=decimal(float(largest), digits=2),
        )
    )
    leaked = t("Masked keys have {share} of the weight.", share=percent(report.leaked[kind][row]))
    return sentences([leaked, sums])


def report_of(sentence: PaddedSentence, name: str) -> BugReport:
    return bug_report_of(sentence.key, sentence.sentences, name, sentence.side)


def show_results(sentence: PaddedSentence, name: str) -> None:
    """Show what the model makes of the batch with the correct masks and with the mistake."""
    correct, wrong = (report_of(sentence, bug) for bug in (CORRECT, name))
    if not correct.texts:
        return
    config = models.config_of(sentence.key)
    about = [t("Differences from the correct result are marked.")]
    if "decoder" in config.model.kinds:
        about.append(
            t(
                "While the model writes, there are no later tokens. So a mistake in the causal mask has less effect "
                "here than in training."
            )
        )
    section(about_task(config.task, "mistaken"), sentences(about))
    st.html(
        compared(
            *(
                [(text, before), (t(MISTAKES[name].label), after)]
                for text, before, after in zip(sentence.sentences, correct.texts, wrong.texts, strict=True)
            ),
            languages=[tag(config.tokenizer.target_language)],
        )
    )


def compare_all(sentence: PaddedSentence, names: Sequence[str]) -> None:
    """Show what every mistake leaks and changes, as a table."""
    config = models.config_of(sentence.key)
    titles = {CORRECT: t("correct masks")} | {name: t(MISTAKES[name].label) for name in names}
    reports = {name: report_of(sentence, name) for name in titles}
    correct, predicted = reports[CORRECT], getattr(config, "predicts", True)
    st.markdown(sentences(meanings_of_columns(correct, predicted=predicted)))
    unit = t("nats") if predicted else None
    result = about_task(config.task, "result")
    st.dataframe(
        pd.DataFrame([table_row(titles[name], report, sentence.row, result) for name, report in reports.items()]),
        hide_index=True,
        alt=t("Table of what each mistake leaks and changes"),
        column_config={
            t(LEAKED[kind]): st.column_config.NumberColumn(format=percent_column()) for kind in correct.leaked
        }
        | {
            column: st.column_config.NumberColumn(format="%.3f", help=unit)
            for column in (t("effect of the future"), t("effect of the batch"))
        },
    )


def meanings_of_columns(correct: BugReport, *, predicted: bool) -> list[str]:
    """A sentence for each column of the table."""
    meanings = [t("**Leaked**: the mean share of a query's weight on masked keys, over all layers and heads.")]
    if correct.effect_of_future is not None:
        meanings.append(
            t(
                "**Effect of the future**: how much an earlier log-probability changes when the last token in the "
                "decoder is replaced."
            )
            if predicted
            else t(
                "**Effect of the future**: how much an earlier head output of the last layer changes when the last "
                "token in the decoder is replaced."
            )
        )
    meanings.append(
        t(
            "**Effect of the batch**: how much a log-probability changes when the model reads the sentence without the "
            "batch."
        )
        if predicted
        else t(
            "**Effect of the batch**: how much a head output of the last layer changes when the model reads the "
            "sentence without the batch."
        )
    )
    return meanings


def table_row(title: str, report: BugReport, row: int, result: str) -> dict[str, object]:
    # A hundred thousand additions leave a rounding error in the fourth decimal, which is no effect.
    effects = {t("effect of the future"): report.effect_of_future, t("effect of the batch"): report.effect_of_batch}
    return {
        t("masks"): title,
        **{t(LEAKED[kind]): 100 * float(report.leaked[kind][row]) for kind in report.leaked},
        **{name: round(float(effect[row]), 3) for name, effect in effects.items() if effect is not None},
        **({result: report.texts[row]} if report.texts else {}),
    }
