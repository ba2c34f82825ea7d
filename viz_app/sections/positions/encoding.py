"""The positional encoding, the checkpoint's own or one with other settings: its matrix, and its waves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.analysis.positions import wavelengths
from model.analysis.statistics import cosine_similarity
from model.checkpoints.checkpoint import CheckpointError
from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.numbers import decimal, joined
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.figures import lines, vectors
from viz_app.figures.style import FloatArray
from viz_app.services import analyses, models
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import explain, introduce, section

__all__ = ["Encoding", "position_matrix", "position_waves", "require_encoding"]

FORMULAS = ("sinusoidal", "rotary")  # kinds
BASES = (10, 100, 1_000, 10_000, 100_000)
USUAL_BASE = 10_000
WIDTHS = range(16, 513, 16)
MIN_POSITIONS = 8  # fewer positions show no pattern
ROWS = {  # kind → caption
    "rotary": N_(
        "Each row holds the sine and the cosine of every pair's angle at one position. Red is positive, blue is "
        "negative."
    ),
    "": N_("Each row is the vector of one position. Red is positive, blue is negative."),
}
DIGITS = 5  # of the binary counter
MAX_NUMBERS = 32  # that five binary digits can count


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A positional encoding as the page shows it."""

    kind: str  # as the configuration names it
    own: FloatArray  # (max_length, D), the table of the checkpoint
    table: FloatArray  # (positions, dimensions), as chosen by the visitor
    base: float  # of the wavelengths

    @property
    def has_formula(self) -> bool:
        return self.kind in FORMULAS


def require_encoding(key: CheckpointKey) -> Encoding:
    """Explain how the model encodes positions, and ask which part of its table is shown.

    Raises:
        PageEnded: the checkpoint has no table.
    """
    kind = models.config_of(key).model.positional
    try:
        own = analyses.position_table(key)
    except CheckpointError:
        st.header(t("This page is about tables of positions. This model has none"))
        end_page(
            t(
                "{name} encodes positions in another way. It rotates queries and keys (Llama, Qwen), adds a number for "
                "each distance to the scores (T5), or arranges its sinusoids in another order (Marian). Choose another "
                "checkpoint on the left.",
                name=plain(key.name),
            )
        )
    introduce(f"positions-{kind}", max_length=len(own))
    return ask_for_encoding(own, kind)


def ask_for_encoding(own: FloatArray, kind: str) -> Encoding:
    """Ask how many positions of a table (max_length, D) are shown and, if it has a formula, for its width and base."""
    settings = st.container(key="set_positions")  # while presenting, it stands below the pictures
    positions, dimensions, wavelengths = settings.columns(3)
    lengths = range(min(MIN_POSITIONS, len(own)), len(own) + 1)
    settle("length", min(64, len(own)), lengths)
    length = len(own)
    if len(lengths) > 1:  # a slider needs two ends
        length = positions.slider(t("Positions"), lengths[0], lengths[-1], key="length")
    d_model = own.shape[1]
    name = t("Dimensions of a query and a key") if kind == "rotary" else t("Dimensions, d_model")
    if kind not in FORMULAS:
        dimensions.metric(name, d_model)
        wavelengths.caption(t(EXPLANATIONS[f"no-formula-{kind}"].text))
        return Encoding(kind=kind, own=own, table=own[:length], base=USUAL_BASE)
    widths = sorted({*WIDTHS, d_model})
    settle("width", d_model, widths)
    settle("base", USUAL_BASE, BASES)
    width = dimensions.select_slider(name, widths, key="width")
    base = wavelengths.select_slider(t("Base of the wavelengths"), BASES, key="base")
    settings.caption(
        t("These are the numbers that the checkpoint uses.")
        if (width, base) == (d_model, USUAL_BASE)
        else t(
            "This is a what-if. The checkpoint uses {n} dimensions and base {base}.",
            n=d_model,
            base=decimal(USUAL_BASE),
        )
    )
    table = analyses.sinusoids(length, width, float(base))
    return Encoding(kind=kind, own=own, table=table, base=float(base))


def position_matrix(encoding: Encoding) -> None:
    """Draw an encoding as a matrix, some of its dimensions as curves, and how similar its positions are."""
    table, kind = encoding.table, encoding.kind
    draw(
        vectors.matrix(table, height=380),
        heading=t("The matrix"),
        about=t(ROWS.get(kind, ROWS[""])),
        key="matrix",
        fills=True,
        alt=t(
            "Heatmap of the positional encoding, {positions} positions by {dimensions} dimensions",
            positions=table.shape[0],
            dimensions=table.shape[1],
        ),
    )
    if encoding.has_formula:
        explain(f"formula-{kind}")
    left, right = st.columns(2)
    with left:
        draw_dimensions(table)
    with right:
        draw_similarity(table)


def draw_dimensions(table: FloatArray) -> None:
    """Ask for some columns of the matrix, and draw them as curves."""
    section(t("Single dimensions"), t("The values of some columns of the matrix at each position."))
    options = list(range(table.shape[1]))
    default = [d for d in (0, 1, 16, 17, 32) if d < table.shape[1]]
    chosen = st.multiselect(t("Dimensions"), options, default, key=f"dimensions_{table.shape[1]}", max_selections=8)
    draw(
        lines.dimensions(table, {one: t("dimension {dimension}", dimension=one) for one in chosen}, height=380),
        key="curves",
        alt=t(
            "Curves over the position. Dimensions: {dimensions}.",
            dimensions=joined([str(one) for one in chosen]) or "–",
        ),
    )


def draw_similarity(table: FloatArray) -> None:
    """Draw the cosine similarity of every two rows of the matrix."""
    draw(
        vectors.similarity(cosine_similarity(table), height=400),
        heading=t("Similarity of positions"),
        about=t("The cosine similarity of the vectors of every two positions."),
        key="similarity",
        alt=t("Heatmap of the cosine similarity between positions"),
    )
    explain("similarity")


def position_waves(encoding: Encoding) -> None:
    """Draw the waves of a sinusoidal or rotary encoding, or say that there are none."""
    if not encoding.has_formula:
        end_page(
            t("A learned table has no waves. Choose a checkpoint with sinusoidal or rotary positions on the left.")
        )
    lengths = wavelengths(encoding.table.shape[1], encoding.base)  # (D / 2,)
    shown = dict.fromkeys(2 * round(i) for i in np.linspace(0, encoding.table.shape[1] / 2 - 1, 5))
    sines = {
        d: t("{dimension}: repeats every {positions}", dimension=d, positions=decimal(float(lengths[d // 2])))
        for d in shown
    }
    left, right = st.columns(2)
    with left:
        draw(
            lines.wavelengths(lengths, longest_text=len(encoding.own), height=360),
            heading=t("Wavelengths"),
            about=t(
                "Every pair of dimensions forms one wave. Its length is the number of positions until it repeats. "
                "Waves longer than any text distinguish near from far."
            ),
            key="wavelengths",
            alt=t("Wavelength of each pair of dimensions on a logarithmic scale"),
        )
    with right:
        draw(
            lines.dimensions(encoding.table, sines, height=360),
            heading=t("Sinusoids"),
            about=t("The sines of some dimensions, from the shortest wave to the longest."),
            key="sinusoids",
            alt=t("Sine waves of {n} dimensions over the position", n=len(sines)),
        )
    draw_counter(encoding.table, lengths)


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
            vectors.bits(
                ((numbers[:, None] >> np.arange(DIGITS)) & 1).astype(np.uint8), columns=t("digit"), height=420
            ),
            key="bits",
            alt=t("The binary digits of the positions"),
        )
    with right:
        draw(
            vectors.bits(
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
