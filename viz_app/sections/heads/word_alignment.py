"""Word alignment: how often a head's largest weight is on the source word that a person linked to the target word."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from model.analysis.alignment import Pointer
from model.corpora.aligned import AlignedPair, Links, cooccurrence, error_rate
from viz_app.content.numbers import percent
from viz_app.content.translation import N_, t
from viz_app.services import analyses, long_analyses
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.headings import explanation, section
from viz_app.widgets.long_work import start_and_wait_for

__all__ = ["word_alignment"]

Row = tuple[str, str, float]  # what points, one of `STEPS`, alignment error rate

POINTERS = {
    "mean of all heads": N_("mean of all heads"),
    "rollout": N_("rollout"),
    "ALTI+": N_("ALTI+"),
}
STEPS = {"written": N_("written"), "read": N_("read")}  # of the target word
BEST = {
    "written": N_(
        "A person aligned {n} captions and their translations word by word. The best result, with an alignment error "
        "rate of {rate}, is “{pointer}” at the step when the word is written."
    ),
    "read": N_(
        "A person aligned {n} captions and their translations word by word. The best result, with an alignment error "
        "rate of {rate}, is “{pointer}” at the step when the word is read."
    ),
}


def word_alignment(key: CheckpointKey) -> None:
    """List all heads, and the summaries of all heads, by their alignment error rate."""
    pairs = analyses.aligned_pairs(key)
    if not pairs:
        st.info(
            t(
                "Alignments made by hand exist for English and German only. Choose a translator between these two "
                "languages on the left."
            )
        )
        return
    links = long_analyses.word_links_of(key)
    if links is None:
        subject, work = long_analyses.alignment_work(key)
        links = start_and_wait_for(subject, work, lane="alignment", step=N_("Sentence {done} of {total}."))
    if links is None:
        return
    rows = error_rates(links, pairs)
    pointer, when, least = rows[0]
    rows.append((t("co-occurrence of words"), "", error_rate(cooccurrence(pairs), pairs)))
    section(
        t("Which head points at the word that it translates?"),
        t(BEST[when], n=len(pairs), rate=percent(least), pointer=pointer),
    )
    st.caption(
        t(
            "Each head of the cross-attention is tested twice: when the decoder *writes* the word, and one step later, "
            "when the decoder *reads* it. Many heads find the word only at the second step."
        )
    )
    draw_table(sorted(rows, key=lambda row: row[-1]))
    how_it_is_computed()


def error_rates(links: Sequence[Mapping[Pointer, Links]], pairs: Sequence[AlignedPair]) -> list[Row]:
    """One row per pointer, the best first."""
    rows = [
        (pointer_name(pointer), pointer.when, error_rate([each[pointer] for each in links], pairs))
        for pointer in links[0]
    ]
    return sorted(rows, key=lambda row: row[-1])


def pointer_name(pointer: Pointer) -> str:
    if pointer.name == "head":
        return t("layer {layer}, head {head}", layer=pointer.layer + 1, head=pointer.head + 1)
    return t(POINTERS[pointer.name])


def draw_table(rows: Sequence[Row]) -> None:
    rate = t("alignment error rate, %")
    st.dataframe(
        pd.DataFrame(
            [(pointer, t(STEPS[when]) if when else "–", 100 * errors) for pointer, when, errors in rows],
            columns=[t("what points"), t("when the word is"), rate],
        ),
        hide_index=True,
        height=420,
        alt=t("Table of alignment error rates, best first"),
        column_config={
            rate: st.column_config.ProgressColumn(format="%.1f", min_value=0.0, max_value=100.0),
            t("when the word is"): st.column_config.TextColumn(width="small"),
        },
    )


def how_it_is_computed() -> None:
    explanation(
        t("How it is computed"),
        t(
            "The model is forced to write the person's translation. Each target word is linked to the source word with "
            "the most weight. The weights of the tokens of one word are summed for keys and averaged for queries; "
            "`</s>` is left out. A is the set of links that were found. S is the set of links that the person was sure "
            "about. P is S together with the possible links, such as those of articles (Och and Ney 2003). Chen et al. "
            "2020 were the first to take the weights one step later. **ALTI+** follows the vectors that the tokens "
            "really contribute; see the page *Inside*. “Co-occurrence of words” uses only these sentences and no model "
            "(IBM Model 1)."
        ),
        r"\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}",
    )
