"""The positional encoding in a sentence: added to its tokens, left out, and with the words in another order."""

import random

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from model.inference.run import UNTOUCHED, Run
from model.interventions import Intervention
from model.text.pair import texts_of
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.translation import t
from viz_app.figures import positions
from viz_app.sections.positions.distance import distance_weights
from viz_app.services import loading, position_tables, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section
from viz_app.widgets.marked_text import compared
from viz_app.widgets.text_field import require_text
from viz_app.widgets.text_notes import doubt_note

__all__ = ["positions_in_sentence"]


def positions_in_sentence(key: CheckpointKey, own: NDArray[np.float32]) -> None:
    """Draw what positions do in a sentence of a translator, or in a text that a classifier reads.

    Args:
        key: The key of the checkpoint.
        own: Its encoding, (max_length, D).
    """
    config = loading.config_of(key)
    if isinstance(config, ForeignConfig):
        st.info(t("This view needs a model trained with Headlight. Choose another checkpoint on the left."))
        return
    if config.task != "translation":
        distance_weights(key)
        checkpoint_choice.link_to_sentiment()
        return
    if config.model.positional == "rotary":
        st.info(t("This model adds nothing to its tokens, so there is no sum to show. It rotates queries and keys."))
        return
    text, _ = texts_of(require_text(config, opening=demonstration_for(config).order))
    doubt_note(key, Run(text=text))
    draw_encoder_input(key, text, own)
    compare_orders(key, text)


def draw_encoder_input(key: CheckpointKey, text: str, own: NDArray[np.float32]) -> None:
    """Draw the embeddings, the encoding, and their sum, which the first layer reads."""
    translation, embeddings, total = position_tables.encoder_input_of(key, text)
    tokens = [token.text for token in translation.source]
    encoding = own[: len(tokens)]
    section(
        t("Embedding × √d_model + encoding = input"),
        t(
            "Each row is a token. The first layer reads the sum. Its numbers differ from this sum by at most "
            "{difference}.",
            difference=f"{np.abs(embeddings + encoding - total).max():.2g}",
        ),
    )
    bound = float(np.abs(total).max())
    pictures = {
        "embedding": (t("embedding × √d_model"), embeddings),
        "encoding": (t("positional encoding"), encoding),
        "input": (t("input of the first layer"), total),
    }
    for column, (name, (title, values)) in zip(st.columns(3), pictures.items(), strict=True):
        with column:
            st.caption(title)
            draw(
                positions.token_rows(values, tokens, bound=bound, height=max(300, 17 * len(tokens) + 80)),
                key=f"rows_{name}",
                alt=t("A heatmap with a row for each token: {name}", name=title),
            )


def compare_orders(key: CheckpointKey, text: str) -> None:
    """Compare the translations of two word orders, with the encoding and without it."""
    section(
        t("Without the encoding"),
        t(
            "The same words in two orders. Each order is translated with the encoding and without it (in encoder and "
            "decoder). Differences from the first translation are marked."
        ),
    )
    other = pick_other_order(loading.config_of(key), text)
    blind = Intervention(positions=False)
    lines = [
        (label, results.result_of(key, Run(text=words, changes=changes)).text)
        for label, words, changes in (
            (t("first order, with the encoding: {text}", text=text), text, UNTOUCHED),
            (t("first order, without it: {text}", text=text), text, blind),
            (t("other order, with the encoding: {text}", text=other), other, UNTOUCHED),
            (t("other order, without it: {text}", text=other), other, blind),
        )
    ]
    st.html(compared(lines, languages=results.result_of(key, Run(text=text)).languages[1:]))
    if lines[1][1] == lines[3][1]:
        st.caption(
            t(
                "Without the encoding, both orders have the same translation. The encoder cannot distinguish one order "
                "from the other, so it cannot know who does what to whom."
            )
        )


def pick_other_order(config: AnyConfig, text: str) -> str:
    """Ask for another order of the words: a random one by its number, or 0 for one that was written for the text."""
    demonstration = demonstration_for(config)
    written = demonstration.reordered if text == demonstration.order else ""
    numbers = range(0 if written else 1, 1000)
    settle("shuffle", numbers[0], numbers)
    number = st.columns([1, 4])[0].number_input(
        t("Other order"),
        numbers[0],
        numbers[-1],
        key="shuffle",
        help=t("Each number is a different random order. 0: two words have changed places.")
        if written
        else t("Each number is a different random order."),
    )
    return shuffled(text, int(number)) if number else written


def shuffled(text: str, number: int) -> str:
    """Return the words of a text, or its characters if it has no spaces, in the random order with this number."""
    spaced = " " in text.strip()
    words = text.split() if spaced else list(text.strip())
    random.Random(number).shuffle(words)
    return (" " if spaced else "").join(words)
