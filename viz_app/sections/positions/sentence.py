"""The positional encoding at work: added to the words of a sentence, switched off, and with the words shuffled."""

import random

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.inference.opening import AnyConfig
from model.interventions import Intervention
from viz_app.content.demonstrations import demonstration_for
from viz_app.figures import positions
from viz_app.services import position_tables, translations
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.chips import compared
from viz_app.widgets.headings import section
from viz_app.widgets.text_field import require_text

__all__ = ["position_sentence"]


def position_sentence(key: CheckpointKey, config: AnyConfig, own: NDArray[np.float32]) -> None:
    """Draw embedding + encoding = input, and translations without the encoding.

    Args:
        key: Of a translator.
        config: Its configuration.
        own: Its encoding, (max_length, D).
    """
    text = require_text(config, opening=demonstration_for(config).order)
    translation, vectors, total = position_tables.encoder_input_of(key, text)
    tokens = [token.text for token in translation.source]
    bound = float(np.abs(total).max())
    section(
        "Embedding × √d_model + encoding = input",
        "Each row is a token. The first layer reads the sum; its numbers differ from this sum by at most "
        f"{np.abs(vectors + own[: len(tokens)] - total).max():.2g}.",
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
    section(
        "Without the encoding",
        "The same words in two orders, each translated with the encoding and without it (in encoder and decoder). "
        "Differences from the first line are marked.",
    )
    written = demonstration_for(config).reordered if text == demonstration_for(config).order else ""
    numbers = range(0 if written else 1, 1000)
    settle("shuffle", numbers[0], numbers)
    number = st.columns([1, 4])[0].number_input(
        "Other order",
        numbers[0],
        numbers[-1],
        key="shuffle",
        help="Each number is another random order." + (" 0: two words have changed places." if written else ""),
    )
    other = shuffled(text, int(number)) if number else written
    blind = Intervention(positions=False)
    orders = {"first order": text, "other order": other}
    lines = [
        (f"{name}, {how}: {words}", translations.translation_of(key, words, intervention=intervention).text)
        for name, words in orders.items()
        for how, intervention in (("with the encoding", translations.UNTOUCHED), ("without", blind))
    ]
    st.html(compared(lines, languages=translation.languages[1:]))
    if lines[1][1] == lines[3][1]:
        st.caption(
            "Without the encoding both orders have the same translation: the encoder cannot tell one order from "
            "another, so it cannot tell who does what to whom."
        )


def shuffled(text: str, number: int) -> str:
    """The words of a text in a random order, always the same for a number; characters where no blanks part words."""
    parted = " " in text.strip()
    words = text.split() if parted else list(text.strip())
    random.Random(number).shuffle(words)
    return (" " if parted else "").join(words)
