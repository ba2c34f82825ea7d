"""The positional encoding at work: added to the words of a sentence, switched off, and with the words shuffled."""

import random

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.interventions import Intervention
from model.opening import AnyConfig
from viz_app import controls, services
from viz_app.charts import draw
from viz_app.chips import compared
from viz_app.choices import settle
from viz_app.figures import positions
from viz_app.listing import CheckpointKey

__all__ = ["position_sentence"]


def position_sentence(key: CheckpointKey, config: AnyConfig, own: NDArray[np.float32]) -> None:
    """Draw embedding + encoding = input, and translations without the encoding.

    Args:
        key: Of a translator.
        config: Its configuration.
        own: Its encoding, (max_length, D).
    """
    text = controls.ask_for_text(config)
    if not text.strip():
        st.info("Type a sentence above.")
        return
    translation, vectors, total = services.encoder_input_of(key, text)
    tokens = [token.text for token in translation.source]
    bound = float(np.abs(total).max())
    st.markdown(
        "**Embedding × √d_model + encoding = input.** Each row is a token; the sum is what the first layer reads. "
        f"It differs from the sum of the two by at most {np.abs(vectors + own[: len(tokens)] - total).max():.2g}."
    )
    for place, values, name in zip(
        st.columns(3),
        (vectors, own[: len(tokens)], total),
        ("embedding × √d_model", "positional encoding", "input of the first layer"),
        strict=True,
    ):
        with place:
            st.caption(name)
            draw(
                positions.token_rows(values, tokens, bound=bound, height=max(300, 17 * len(tokens) + 80)),
                key=f"rows_{name}",
                alt=f"Heatmap of the {name} of each token",
            )
    st.markdown(
        "**Without it.** The same words, in your order and shuffled, with the encoding and with it switched off in "
        "encoder and decoder. Differences from the first line are marked. Without the encoding the encoder cannot "
        "tell one order from another."
    )
    settle("shuffle", 1, range(1, 1000))
    number = st.columns([1, 4])[0].number_input(
        "Shuffle number", 1, 999, key="shuffle", help="Another number, another order."
    )
    order = text.split()
    random.Random(int(number)).shuffle(order)
    shuffled = " ".join(order)
    blind = Intervention(positions=False)
    lines = [
        ("your order, with the encoding", services.translation_of(key, text).text),
        ("your order, without", services.translation_of(key, text, intervention=blind).text),
        (f"shuffled: {shuffled}", services.translation_of(key, shuffled).text),
        ("shuffled, without", services.translation_of(key, shuffled, intervention=blind).text),
    ]
    st.html(compared(lines, languages=services.translation_of(key, text).languages[1:]))
