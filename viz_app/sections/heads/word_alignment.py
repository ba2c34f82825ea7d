"""Which heads point at the word that is being translated: their links against those that a person drew."""

import pandas as pd
import streamlit as st

from model.analysis.alignment import Pointer
from model.corpora.aligned import cooccurrence, error_rate
from viz_app.content.plain import percent
from viz_app.services import analyses, long_analyses
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import start_and_wait_for

__all__ = ["word_alignment"]


def word_alignment(key: CheckpointKey) -> None:
    """Sort all heads, and the ways to sum them up, by how often they are wrong."""
    pairs = analyses.aligned_pairs(key)
    if not pairs:
        st.info(
            "Words were aligned by hand for English and German alone; choose a translator of these two on the left."
        )
        return
    found = long_analyses.links_of_pairs(key)
    if found is None:
        subject, work = long_analyses.alignment_work(key)
        found = start_and_wait_for(subject, work, lane="alignment", step="Sentence")
        if found is None:
            return
    rows = [
        (named(pointer), pointer.when, error_rate([links[pointer] for links in found], pairs)) for pointer in found[0]
    ]
    what, when, least = min(rows, key=lambda row: row[-1])
    rows.append(("which words go together", "–", error_rate(cooccurrence(pairs), pairs)))
    rows.sort(key=lambda row: row[-1])
    section(
        "Which head points at the word that it translates?",
        f"{len(pairs)} captions and their translations were aligned by hand, word by word. The best: {what}, when the "
        f"word is {when}, with an alignment error rate of {percent(least)}.",
    )
    st.caption(
        "A head of the cross-attention is tested at two times: when the word is *written*, and one step later, when "
        "the decoder *reads* it. Many heads know only then which word it was."
    )
    st.dataframe(
        pd.DataFrame(
            [(what, when, 100 * rate) for what, when, rate in rows],
            columns=["what points", "when the word is", "alignment error rate, %"],
        ),
        hide_index=True,
        height=420,
        alt="Table of alignment error rates, best first",
        column_config={
            "alignment error rate, %": st.column_config.ProgressColumn(format="%.1f", min_value=0.0, max_value=100.0),
            "when the word is": st.column_config.TextColumn(width="small"),
        },
    )
    explanation(
        "How it is computed",
        "The person's translation is forced upon the model, and each target word is linked to the source word with the "
        "most weight; pieces of a word are added up as keys and averaged as queries, `</s>` is left out. A is what is "
        "linked, S the links that a person was sure of, P those that are possible too, such as of an article (Och and "
        "Ney 2003). Asking one step later is Chen et al. 2020; **ALTI+** follows what the tokens really gave, see "
        "*Inside*; “which words go together” has seen nothing but these sentences (IBM Model 1).",
        r"\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}",
    )


def named(pointer: Pointer) -> str:
    if pointer.name != "head":
        return pointer.name
    return f"layer {pointer.layer + 1}, head {pointer.head + 1}"
