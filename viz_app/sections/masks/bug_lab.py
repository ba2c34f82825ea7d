"""Bug lab: mistakes with masks that real code has shipped, compared with the correct masks."""

import pandas as pd
import streamlit as st

from model.analysis.mask_bugs import BugReport
from model.checkpoints.languages import tag
from viz_app.content.plain import PERCENT_COLUMN, percent
from viz_app.figures.attention import head_map
from viz_app.sections.masks.bug_descriptions import MISTAKES
from viz_app.sections.masks.padded_sentence import PaddedSentence, pick_head_of_sentence
from viz_app.services import loading, padded_batches
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section
from viz_app.widgets.marked_text import compared

__all__ = ["bug_lab"]

HEIGHT = 380
CORRECT = ""  # the name of the masks without a mistake


def bug_lab(sentence: PaddedSentence) -> None:
    """Ask for a mistake, and show what it does to one head, to the translations and, on request, to the numbers."""
    settle("bug", "fill", MISTAKES)
    name = st.segmented_control(
        "Mistake", list(MISTAKES), format_func=lambda bug: MISTAKES[bug].title, required=True, key="bug"
    )
    name = name or "fill"
    code, meaning = st.columns([1, 1.2], vertical_alignment="center")
    code.code(MISTAKES[name].code, language="python")
    meaning.markdown(MISTAKES[name].explanation)
    draw_maps(sentence, name)
    show_translations(sentence, name)
    table = st.expander("All mistakes, measured", icon=":material/table_rows:", on_change="rerun", key="all_mistakes")
    if table.open:
        with table:
            compare_all(sentence)


def draw_maps(sentence: PaddedSentence, name: str) -> None:
    """Draw the map of one head with the correct mask and with the mistake."""
    kind, layer, head = pick_head_of_sentence(sentence, key="set_bug_head")
    titles = {CORRECT: "Correct mask", name: MISTAKES[name].title}
    for column, (bug, title) in zip(st.columns(2), titles.items(), strict=True):
        report = padded_batches.bug_of(sentence.key, sentence.sentences, bug)
        weights = padded_batches.bug_weights_of(sentence.key, sentence.sentences, bug, kind, layer, sentence.row)
        with column:
            section(title, describe_leak(report, kind, sentence.row))
            draw(
                head_map(
                    weights[head],
                    sentence.axes[kind],
                    sentence.allowed[kind] | (bug != CORRECT),  # a mistake shows the weights of masked keys too
                    height=HEIGHT,
                ),
                key=f"bug_{title}",
                alt=f"Attention weights of layer {layer + 1}, head {head + 1}: {title}",
            )


def describe_leak(report: BugReport, kind: str, row: int) -> str:
    """Say how much weight is on masked keys, and whether the rows still sum to 1."""
    smallest, largest = report.row_sums[kind][row]
    sums = (
        "The rows sum to 1."
        if abs(smallest - 1) < 1e-3 > abs(largest - 1)
        else f"The rows sum to {smallest:.2f} to {largest:.2f}."
    )
    return f"Masked keys have {percent(report.leaked[kind][row])} of the weight. {sums}"


def show_translations(sentence: PaddedSentence, name: str) -> None:
    """Show the translations of the batch with the correct masks and with the mistake."""
    section(
        "The translations with this mistake",
        "Differences from the correct translation are marked. While the model writes, there are no later tokens. So a "
        "mistake in the causal mask has less effect here than in training.",
    )
    correct, wrong = (padded_batches.bug_of(sentence.key, sentence.sentences, bug) for bug in (CORRECT, name))
    st.html(
        compared(
            *(
                [(text, before), (MISTAKES[name].title.lower(), after)]
                for text, before, after in zip(sentence.sentences, correct.texts, wrong.texts, strict=True)
            ),
            languages=[tag(loading.config_of(sentence.key).tokenizer.target_language)],
        )
    )


def compare_all(sentence: PaddedSentence) -> None:
    """Show what every mistake leaks and changes, as a table."""
    st.markdown(
        "**Leaked**: the mean share of a query's weight on masked keys, over all layers and heads. **Effect of the "
        "future**: how much an earlier log-probability changes when the last token in the decoder is replaced. "
        "**Effect of the batch**: how much it changes when the model reads the sentence without the batch."
    )
    names = {"correct masks": CORRECT} | {bug.title: name for name, bug in MISTAKES.items()}
    reports = {title: padded_batches.bug_of(sentence.key, sentence.sentences, name) for title, name in names.items()}
    st.dataframe(
        pd.DataFrame([table_row(title, report, sentence.row) for title, report in reports.items()]),
        hide_index=True,
        alt="Table of what each mistake leaks and changes",
        column_config={
            column: st.column_config.NumberColumn(format=PERCENT_COLUMN)
            for column in (f"leaked: {kind}" for kind in reports["correct masks"].leaked)
        }
        | {
            column: st.column_config.NumberColumn(format="%.3f", help="nats")
            for column in ("effect of the future", "effect of the batch")
        },
    )


def table_row(title: str, report: BugReport, row: int) -> dict[str, object]:
    return {
        "masks": title,
        **{f"leaked: {kind}": 100 * float(report.leaked[kind][row]) for kind in report.leaked},
        # A hundred thousand additions leave a rounding error in the fourth decimal, which is no effect.
        "effect of the future": round(float(report.effect_of_future[row]), 3),
        "effect of the batch": round(float(report.effect_of_batch[row]), 3),
        "translation": report.texts[row],
    }
