"""Positional encoding: the matrix that tells the model where a token stands."""

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError
from model.config.foreign import ForeignConfig
from model.config.model import RecurrentConfig
from viz_app.content.plain import plain
from viz_app.sections.positions.distance import distance_scores, distance_weights
from viz_app.sections.positions.matrix import position_matrix
from viz_app.sections.positions.relations import position_pairs, position_properties, position_rotation
from viz_app.sections.positions.sentence import position_sentence
from viz_app.sections.positions.waves import position_waves
from viz_app.services import listing, position_tables
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.tabs import tabs

BASES = (10, 100, 1_000, 10_000, 100_000)
WIDTHS = range(16, 513, 16)
FEWEST = 8  # positions; fewer show no pattern

key, config = checkpoint_choice.require_checkpoint(listing.listed_checkpoints())
if isinstance(config.model, RecurrentConfig):
    key, config = checkpoint_choice.require_attention(
        listing.listed_checkpoints(), of_transformer="the positions of a Transformer"
    )
try:
    own = position_tables.position_table(key)
except CheckpointError:
    st.header("This page is about tables of positions, and this model has none")
    st.info(
        f"{plain(key.name)} tells positions apart in another way: by rotating queries and keys (Llama, Qwen), by "
        "adding a number for each distance to the scores (T5), or by sinusoids in another order (Marian). Choose "
        "another checkpoint on the left."
    )
    end_page()
max_length, d_model = own.shape
kind = config.model.positional
formula = kind in ("sinusoidal", "rotary")
added = "So this vector, one for each position, is added to each token's embedding before the first layer. "

st.markdown(
    "Attention alone cannot tell the first word from the last. "
    + {
        "sinusoidal": f"{added}This model uses **sinusoids**: nothing is learned. Each pair of dimensions is a sine "
        "and a cosine of one wave.",
        "rotary": "This model uses **rotary positions**: nothing is added to its tokens. Each layer turns every two "
        "numbers of a query and of a key, as a hand of a clock, by an angle that grows with the position. Their score "
        "then depends on the words and on how far apart they stand.",
    }.get(kind, f"{added}This model **learned** a vector for each of its {max_length} positions; it has none beyond.")
)

settings = st.container(key="set_positions")  # while one presents, it stands below the pictures
left, middle, right = settings.columns(3)
lengths = range(min(FEWEST, max_length), max_length + 1)
settle("length", min(64, max_length), lengths)
# A slider needs two ends.
length = left.slider("Positions", lengths[0], max_length, key="length") if len(lengths) > 1 else max_length
table, base = own[:length], 10_000
name = "Dimensions of a head's query and key" if kind == "rotary" else "d_model, dimensions"
if formula:
    widths = sorted({*WIDTHS, d_model})
    settle("width", d_model, widths)
    settle("base", 10_000, BASES)
    width = middle.select_slider(name, widths, key="width")
    base = right.select_slider("Base of the wavelengths", BASES, key="base")
    table = position_tables.sinusoids(length, width, float(base))
    same = (width, base) == (d_model, 10_000)
    settings.caption(
        "These are the numbers that the checkpoint uses."
        if same
        else f"A what-if: the checkpoint itself uses {d_model} dimensions and base 10000."
    )
else:
    middle.metric(name, d_model)
    with right:
        st.caption("A learned table has no formula and so no wavelengths to set: what you see is what training made.")

matrix_tab, waves, relations, sentence_tab = tabs(
    {
        "matrix": "The matrix",
        "waves": "Waves and counters",
        "distances": "Distances and rotation",
        "sentence": "In a sentence",
    },
    "position_tab",
)
if matrix_tab.open:
    with matrix_tab:
        position_matrix(table, kind=kind)
if waves.open:
    with waves:
        if formula:
            position_waves(table, base=float(base), max_length=max_length)
        else:
            st.info("A learned table has no waves. Choose one with sinusoidal or rotary positions on the left.")
if relations.open:
    with relations:
        if kind == "rotary":
            distance_scores(key, config)
        position_pairs(table)
        if formula:
            position_rotation(table, base=float(base))
        else:
            st.info("A learned table follows no formula, so no rotation leads from one position to another.")
        if kind != "rotary":  # nothing is added whose values could be too large
            tables = {"sinusoidal": position_tables.sinusoids(max_length, d_model, 10_000.0)}
            learned = position_tables.a_learned_table() if formula else own
            position_properties(tables if learned is None else tables | {"learned": learned})
if sentence_tab.open:
    with sentence_tab:
        if isinstance(config, ForeignConfig):
            st.info("The vectors of a sentence can be followed in checkpoints of Headlight; choose one on the left.")
        elif config.task == "translation":
            position_sentence(key, config, own)
        else:
            distance_weights(key, config)
            checkpoint_choice.lead_to_sentiment()
