"""Sinusoidal positions as waves: their lengths, and why they count like binary digits."""

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.positions import wavelengths
from viz_app.figures import positions
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section

__all__ = ["position_waves"]


def position_waves(table: NDArray[np.float32], *, base: float, max_length: int) -> None:
    """Draw the waves of a sinusoidal or rotary encoding (positions, dimensions).

    Args:
        table: The encoding.
        base: Of its wavelengths.
        max_length: The longest text that the model reads, in tokens.
    """
    lengths = wavelengths(table.shape[1], base)
    left, right = st.columns(2)
    with left:
        section(
            "Wavelengths",
            "Each two dimensions are one wave; how many positions pass until it repeats. "
            "Waves longer than any text never repeat: they tell far from near.",
        )
        draw(
            positions.wavelengths(lengths, longest_text=max_length, height=360),
            key="wavelengths",
            alt="Wavelength of each pair of dimensions on a logarithmic scale",
        )
    with right:
        section("Sinusoids", "The sines of some dimensions, from the shortest wave to the longest.")
        some = list(dict.fromkeys(2 * round(i) for i in np.linspace(0, table.shape[1] / 2 - 1, 5)))
        draw(
            positions.curves(
                table,
                some,
                height=360,
                names=[f"{d}: repeats every {lengths[d // 2]:,.0f}" for d in some],
            ),
            key="sinusoids",
            alt=f"Sine waves of {len(some)} dimensions over the position",
        )
    shown = np.arange(min(len(table), 32))
    nearest = [int(np.abs(lengths - lengths[0] * 2.0**i).argmin()) for i in range(5)]
    doubling = list(dict.fromkeys(nearest))  # few dimensions, or a small base, have no five such waves
    ratios = [f"{longer:.2g}" for longer in lengths[doubling][1:] / lengths[doubling][:-1]]
    section(
        "A counter with soft digits",
        "In binary, the last digit changes at every number, the one before at "
        "every second, and so on. Sines do the same softly: on the left a binary counter, on the right where the "
        f"sines of {len(doubling)} dimensions are negative, chosen to double as nearly as these waves can: each is "
        f"{', '.join(ratios)} times as long as the one before.",
    )
    left, right = st.columns(2)
    with left:
        draw(
            positions.bits(((shown[:, None] >> np.arange(5)) & 1).astype(np.uint8), columns="digit", height=420),
            key="bits",
            alt="The binary digits of the positions",
        )
    with right:
        draw(
            positions.bits(
                (table[shown][:, [2 * i for i in doubling]] < 0).astype(np.uint8),
                columns="wave",
                height=420,
            ),
            key="signs",
            alt="Where the sines of some dimensions are negative",
        )
    st.caption(
        "The waves on the right are those of dimensions "
        + ", ".join(f"{2 * i} (repeats every {lengths[i]:.3g})" for i in doubling)
        + "; blue = the sine is negative, as a digit 1."
    )
