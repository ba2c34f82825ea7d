"""Translate: a sentence, its translation, and every attention map that made it."""

import streamlit as st

from model.export import maps_csv, maps_npz
from model.translate import GREEDY
from viz_app import controls, services
from viz_app.attention_view import select_head, view
from viz_app.chips import chips, sentence
from viz_app.choices import settle
from viz_app.figures.attention import MAX_TILE, head_map, overview

HEIGHT = 400
EXPLAIN = {
    "cross": "For every token it writes (row), how much the decoder looks at each source token (column).",
    "encoder": "For every source token (row), how much the encoder mixes in each source token (column).",
    "decoder": "For every token it writes (row), how much the decoder looks back at the tokens it has read (column).",
}

key, config = controls.require_translator(services.listed_checkpoints())
text = controls.ask_for_text(config.tokenizer.source_language)
if not text.strip():
    st.info("Type a sentence above, or choose one of the examples; its translation appears here.")
    st.stop()
translation = services.translation_of(key, text, GREEDY)

st.html(
    chips("reads", translation.source)
    + chips("writes", translation.written)
    + sentence(translation.text or "(the model wrote nothing)")
)
if len(text) > services.MAX_CHARACTERS:
    st.warning(f"The text has {len(text):,} characters; only the first {services.MAX_CHARACTERS:,} were read.")
if translation.dropped:
    st.warning(
        f"This model has {config.model.max_length} positions: the last {translation.dropped} tokens of the text "
        "were left out."
    )
if not translation.finished:
    st.warning("The model did not end its translation; it was stopped at the length limit for this source.")

kinds, options = st.columns([3, 2], vertical_alignment="bottom")
settle("merge", False)
settle("hide_special", False)
with kinds:
    kind = controls.kind_picker("kind", "cross")
shown = view(
    translation,
    kind,
    merge=st.session_state["merge"],
    hide_special=st.session_state["hide_special"],
)
layers, heads = shown.maps.shape[:2]
with options:
    layer, head = controls.head_picker(layers, heads, aggregates=True)


def open_tile() -> None:
    """A click on a tile opens that head."""
    points = st.session_state["overview"].selection.points
    if points:
        st.session_state["layer"], st.session_state["head"] = (str(i + 1) for i in points[0]["customdata"])


left, right = st.columns([1, 1.15])
with left:
    st.caption(f"Every layer and head. {EXPLAIN[kind]} Click one to open it.")
    st.plotly_chart(
        overview(
            shown.maps,
            shown.axes,
            shown.allowed,
            chosen=(layer, head if isinstance(head, int) else None),
            height=HEIGHT,
        ),
        key="overview",
        on_select=open_tile,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"{layers} × {heads} small heatmaps, one for each layer and head of the {controls.KINDS[kind]} attention",
    )
with right:
    which = f"head {head + 1}" if isinstance(head, int) else f"{head} over {heads} heads"
    sums = "" if shown.hidden_share else "Each row sums to 1."
    meaning = f"Each cell is the largest of {heads} weights." if head == "max" else sums
    st.caption(f"**Layer {layer + 1} · {which}.** {meaning} Hover for the exact number.")
    st.plotly_chart(
        head_map(select_head(shown.maps, layer, head), shown.axes, shown.allowed, height=HEIGHT),
        key="head_map",
        config={"displayModeBar": False},
        alt=f"Heatmap of the attention weights of layer {layer + 1}, {which}: rows are queries, columns are keys",
    )

merging, hiding, explanation, csv, npz = st.columns([1.6, 1.6, 1.6, 1, 1], vertical_alignment="center")
merging.toggle(
    "Merge subwords",
    key="merge",
    disabled=config.tokenizer.kind == "words",
    help="Add up the weights of the pieces of a word as a key, average them as a query.",
)
hiding.toggle("Hide special tokens", key="hide_special", help="Leave out <s> and </s>.")
with explanation:
    controls.how(
        "How it is computed",
        "These are the weights that the model used while it wrote this translation, recorded at each step of the "
        "decode. The query comes from the state at the row's position, the key from that at the column's; the softmax "
        "makes each row sum to 1. In the decoder, the position that writes a token has read all tokens before it.",
        r"\mathrm{weights} = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + \mathrm{mask}\right)",
    )
csv.download_button(
    "CSV",
    lambda: maps_csv(translation),
    "headlight-maps.csv",
    "text/csv",
    icon=":material/download:",
    help="Every weight of every map as a row of a table.",
    on_click="ignore",
)
npz.download_button(
    "NPZ",
    lambda: maps_npz(translation),
    "headlight-maps.npz",
    "application/octet-stream",
    icon=":material/download:",
    help="All maps and their tokens as NumPy arrays.",
    on_click="ignore",
)
if shown.hidden_share:
    st.caption(
        f"The hidden columns hold {shown.hidden_share:.0%} of the weight on average, so rows sum to less than 1."
    )
if max(shown.maps.shape[2:]) > MAX_TILE:
    st.caption(f"The overview shows at most {MAX_TILE} cells a side: each is the largest of the weights it covers.")
