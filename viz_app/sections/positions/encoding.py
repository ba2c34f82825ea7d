"""The positional encoding that the tabs show: the checkpoint's own, or the same formula with other settings."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.checkpoints.checkpoint import CheckpointError
from viz_app.content.numbers import decimal
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.services import position_tables
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page

__all__ = ["Encoding", "ask_for_encoding", "introduce", "require_table"]

FloatArray = NDArray[np.float32]
BASES = (10, 100, 1_000, 10_000, 100_000)
USUAL_BASE = 10_000
WIDTHS = range(16, 513, 16)
MIN_POSITIONS = 8  # fewer positions show no pattern
INTRODUCTIONS = {
    "sinusoidal": N_(
        "Attention itself ignores the order of the words. So a vector for each position is added to each token's "
        "embedding before the first layer. This model uses **sinusoids**: nothing is learned. Each pair of dimensions "
        "is the sine and the cosine of one wave."
    ),
    "rotary": N_(
        "Attention itself ignores the order of the words. This model uses **rotary positions**: nothing is added to "
        "its tokens. Each layer rotates every pair of numbers of a query and of a key, like the hand of a clock. The "
        "angle grows with the position. So the score depends on the words and on the distance between them."
    ),
    "learned": N_(
        "Attention itself ignores the order of the words. So a vector for each position is added to each token's "
        "embedding before the first layer. This model **learned** a vector for each of its {max_length} positions. It "
        "has no vectors for later positions."
    ),
    "table": N_(
        "Attention itself ignores the order of the words. So a vector for each position is added to each token's "
        "embedding before the first layer. This model has a **table** with a vector for each of its {max_length} "
        "positions. Its vectors are not the usual sinusoids."
    ),
}
NO_FORMULA = {
    "learned": N_("A learned table has no formula and no wavelengths. The page shows what training produced."),
    "table": N_("The page knows no formula of this table. It shows the numbers that the checkpoint uses."),
}


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A positional encoding as the page shows it."""

    kind: str  # as the configuration names it
    own: FloatArray  # (max_length, D), the table of the checkpoint
    table: FloatArray  # (positions, dimensions), as chosen by the visitor
    base: float  # of the wavelengths

    @property
    def has_formula(self) -> bool:
        return has_formula(self.kind)


def has_formula(kind: str) -> bool:
    return kind in ("sinusoidal", "rotary")


def require_table(key: CheckpointKey) -> FloatArray:
    """Return the position table (max_length, D) of a checkpoint; end the page with a sentence if it has none."""
    try:
        return position_tables.position_table(key)
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


def introduce(kind: str, *, max_length: int) -> None:
    """Explain in one paragraph how the model encodes positions."""
    st.markdown(t(INTRODUCTIONS.get(kind, INTRODUCTIONS["learned"]), max_length=max_length))


def ask_for_encoding(own: FloatArray, kind: str) -> Encoding:
    """Ask how many positions are shown and, if the encoding has a formula, for its width and its base.

    Args:
        own: The table of the checkpoint, (max_length, D).
        kind: The kind of encoding, as the configuration names it.
    """
    settings = st.container(key="set_positions")  # while presenting, it stands below the pictures
    positions, dimensions, wavelengths = settings.columns(3)
    with positions:
        length = pick_length(len(own))
    d_model = own.shape[1]
    name = t("Dimensions of a query and a key") if kind == "rotary" else t("Dimensions, d_model")
    if not has_formula(kind):
        dimensions.metric(name, d_model)
        wavelengths.caption(t(NO_FORMULA.get(kind, NO_FORMULA["learned"])))
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
    table = position_tables.sinusoids(length, width, float(base))
    return Encoding(kind=kind, own=own, table=table, base=float(base))


def pick_length(max_length: int) -> int:
    """Choose how many positions are shown."""
    lengths = range(min(MIN_POSITIONS, max_length), max_length + 1)
    settle("length", min(64, max_length), lengths)
    if len(lengths) == 1:  # a slider needs two ends
        return max_length
    return st.slider(t("Positions"), lengths[0], max_length, key="length")
