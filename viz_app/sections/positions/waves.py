"""Sinusoidal positions as waves: their lengths, and why they count like binary digits."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.positions import wavelengths
from viz_app.content.numbers import decimal, joined
from viz_app.content.translation import t
from viz_app.figures import positions
from viz_app.sections.positions.encoding import Encoding
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section

__all__ = ["position_waves"]

FloatArray = NDArray[np.float32]
DIGITS = 5  # of the binary counter
MAX_NUMBERS = 32  # that five binary digits can count


def position_waves(encoding: Encoding) -> None:
    """Draw the waves of a sinusoidal or rotary encoding, or say that there are none."""
    if not encoding.has_formula:
        st.info(t("A learned table has no waves. Choose a checkpoint with sinusoidal or rotary positions on the left."))
        return
    lengths = wavelengths(encoding.table.shape[1], encoding.base)  # (D / 2,)
    left, right = st.columns(2)
    with left:
        draw_wavelengths(lengths, longest_text=len(encoding.own))
    with right:
        draw_sinusoids(encoding.table, lengths)
    draw_counter(encoding.table, lengths)


def draw_wavelengths(lengths: FloatArray, *, longest_text: int) -> None:
    """Draw the wavelength of each pair of dimensions.

    Args:
        lengths: The wavelengths, (D / 2,).
        longest_text: The longest text that the model reads, in tokens.
    """
    section(
        t("Wavelengths"),
        t(
            "Every pair of dimensions forms one wave. Its length is the number of positions until it repeats. Waves "
            "longer than any text distinguish near from far."
        ),
    )
    draw(
        positions.wavelengths(lengths, longest_text=longest_text, height=360),
        key="wavelengths",
        alt=t("Wavelength of each pair of dimensions on a logarithmic scale"),
    )


def draw_sinusoids(table: FloatArray, lengths: FloatArray) -> None:
    """Draw the sines of five dimensions over the position."""
    section(t("Sinusoids"), t("The sines of some dimensions, from the shortest wave to the longest."))
    dimensions = list(dict.fromkeys(2 * round(i) for i in np.linspace(0, table.shape[1] / 2 - 1, 5)))
    draw(
        positions.curves(
            table,
            dimensions,
            height=360,
            names=[
                t("{dimension}: repeats every {positions}", dimension=d, positions=decimal(float(lengths[d // 2])))
                for d in dimensions
            ],
        ),
        key="sinusoids",
        alt=t("Sine waves of {n} dimensions over the position", n=len(dimensions)),
    )


def draw_counter(table: FloatArray, lengths: FloatArray) -> None:
    """Draw a binary counter, and the signs of waves that double in length like its digits."""
    pairs = doubling_waves(lengths)
    ratios = [f"{longer:.2g}" for longer in lengths[pairs][1:] / lengths[pairs][:-1]]
    section(
        t("A counter with soft digits"),
        t(
            "In binary, the last digit changes at every number, the digit before it at every second number, and so on. "
            "Sines do the same, but gradually. Left: a binary counter. Right: where the sines of some dimensions are "
            "negative. Each of these waves is about twice as long as the wave before it. The exact factors are "
            "{factors}.",
            factors=joined(ratios),
        ),
    )
    numbers = np.arange(min(len(table), MAX_NUMBERS))
    left, right = st.columns(2)
    with left:
        draw(
            positions.bits(
                ((numbers[:, None] >> np.arange(DIGITS)) & 1).astype(np.uint8), columns=t("digit"), height=420
            ),
            key="bits",
            alt=t("The binary digits of the positions"),
        )
    with right:
        draw(
            positions.bits(
                (table[numbers][:, [2 * i for i in pairs]] < 0).astype(np.uint8),
                columns=t("wave"),
                height=420,
            ),
            key="signs",
            alt=t("Where the sines of some dimensions are negative"),
        )
    waves = [
        t("{dimension} (repeats every {positions})", dimension=2 * i, positions=f"{lengths[i]:.3g}") for i in pairs
    ]
    st.caption(
        t(
            "Dimensions of the waves on the right: {waves}. Blue: the sine is negative, like a digit 1.",
            waves=joined(waves),
        )
    )


def doubling_waves(lengths: FloatArray) -> Sequence[int]:
    """Choose up to five pairs of dimensions, each with about twice the wavelength of the one before.

    A table with few dimensions or a small base has fewer such waves.
    """
    nearest = [int(np.abs(lengths - lengths[0] * 2.0**i).argmin()) for i in range(DIGITS)]
    return list(dict.fromkeys(nearest))
