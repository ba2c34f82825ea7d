"""The row below the pictures: switches for the display, the explanation, and downloads."""

import streamlit as st

from model.inference.run import Run
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.sections.translate.downloads import downloads
from viz_app.sections.translate.map_choice import why_no_value_norms
from viz_app.services import analyses, loading
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.explanation import explanation

__all__ = ["display_options"]

WHEN_WRITING = N_("The model used these weights while it wrote this text. They are recorded at each step of decoding.")
WHEN_READING = N_("The model used these weights while it read this text.")
QUERIES_AND_KEYS = N_(
    "The query is computed from the state at the row's position, the key from the state at the column's position. The "
    "softmax makes each row sum to 1. In the decoder, the position that writes a token has read all tokens before it."
)
ROLLOUT = N_(
    "**Rollout** (Abnar and Zuidema 2020) follows the mean of the heads through all layers. Half of each layer's "
    "output comes through its residual connection. In the decoder, rollout follows the tokens read and the output of "
    "the encoder."
)


def display_options(key: CheckpointKey, run: Run) -> None:
    """Draw the row."""
    with st.container(key="set_shown", horizontal=True, gap="small", vertical_alignment="center"):
        switches(key)
        how_maps_are_computed(WHEN_READING if loading.config_of(key).task == "reading" else WHEN_WRITING)
        downloads(key, run)


def switches(key: CheckpointKey) -> None:
    st.toggle(
        t("Merge subwords"),
        key="merge",
        disabled=loading.config_of(key).tokenizer.kind == "words",
        help=t(
            "Show words instead of subwords. The weights of the subwords of a word are summed for keys and averaged "
            "for queries."
        ),
    )
    st.toggle(t("Hide special tokens"), key="hide_special", help=t("Leave out `<s>` and `</s>`."))
    no_norms = why_no_value_norms(key)
    st.toggle(
        t("× value norms"),
        key="norms",
        disabled=bool(no_norms),
        help=plain(no_norms)
        or t(
            "Multiply each weight by the length of the vector that its key contributes: the value after the output "
            "projection (Kobayashi et al. 2020). A large weight on a short vector has little effect."
        ),
    )
    st.toggle(
        t("Log colours"),
        key="logarithmic",
        help=t("Use a logarithmic colour scale, which shows small weights too."),
    )
    if not analyses.why_no_residual_stream(key):
        st.toggle(
            t("Read or guessed"),
            key="shares",
            help=t(
                "Draw a bar below each written token: blue is the share from the source, orange the share from the "
                "tokens before it. See the page Inside."
            ),
        )


def how_maps_are_computed(when: str) -> None:
    explanation(
        t("How it is computed"),
        f"{sentences([t(when), t(QUERIES_AND_KEYS)])}\n\n{t(ROLLOUT)}",
        r"\mathrm{weights} = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + \mathrm{mask}\right)",
    )
