"""Translate: a sentence, its translation, and every attention map that made it."""

import pandas as pd
import streamlit as st

from model.analysis import strongest
from model.export import maps_csv, maps_npz
from viz_app import components, controls, services
from viz_app.attention_view import select_head, view, with_rollout, with_value_norms
from viz_app.chips import chips, sentence
from viz_app.choices import settle
from viz_app.figures.attention import MAX_TILE, head_map, overview

HEIGHT = 400
MAX_LINES = 100  # tokens a side; more lines than that are a grey cloud
EXPLAIN = {
    "cross": "For every token it writes (row), how much the decoder looks at each source token (column).",
    "encoder": "For every source token (row), how much the encoder mixes in each source token (column).",
    "decoder": "For every token it writes (row), how much the decoder looks back at the tokens it has read (column).",
}
VIEWS = {"heatmaps": "Heatmaps", "lines": "Lines", "head": "BertViz heads", "model": "BertViz model"}

key, config = controls.require_translator(services.listed_checkpoints())
text, search = controls.ask_for_text_and_search(config)
if not text.strip():
    st.info("Type a sentence above, or choose one of the examples; its translation appears here.")
    st.stop()
translation = services.translation_of(key, text, search)

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

kinds, views, heads_column = st.columns([3.2, 3.9, 2.4], vertical_alignment="bottom")
for option in ("merge", "hide_special", "norms", "logarithmic"):
    settle(option, False)
norms, logarithmic = st.session_state["norms"], st.session_state["logarithmic"]
with kinds:
    kind = controls.kind_picker("kind", "cross")
settle("view", "heatmaps", VIEWS)
how_shown = views.segmented_control("View", list(VIEWS), format_func=VIEWS.__getitem__, required=True, key="view")
measured = with_value_norms(translation, services.value_norms_of(key, text, search)) if norms else translation
condense = {"merge": st.session_state["merge"], "hide_special": st.session_state["hide_special"]}
shown = view(measured, kind, **condense)
layers, heads = shown.maps.shape[:2]
with heads_column:
    layer, head = controls.head_picker(layers, heads, aggregates=True)
largest = float(shown.maps.max()) if norms else 1.0
unit = "weight × ‖value‖" if norms and head != "rollout" else "attention weight"
if head == "rollout":
    rolled = view(with_rollout(translation), kind, **condense)
    chosen, right_largest, unit = rolled.maps[layer, 0], 1.0, "share"
else:
    chosen, right_largest = select_head(shown.maps, layer, head), largest
which = {
    "mean": f"mean over {heads} heads",
    "max": f"max over {heads} heads",
    "rollout": f"rollout through {layer + 1} of {layers} layers",
}.get(str(head), f"head {int(head) + 1}" if isinstance(head, int) else "")


def open_tile() -> None:
    """A click on a tile opens that head."""
    points = st.session_state["overview"].selection.points
    if points:
        st.session_state["layer"], st.session_state["head"] = (str(i + 1) for i in points[0]["customdata"])


def draw_overview() -> None:
    st.caption(f"Every layer and head. {EXPLAIN[kind]} Click one to open it.")
    st.plotly_chart(
        overview(
            shown.maps,
            shown.axes,
            shown.allowed,
            chosen=(layer, head if isinstance(head, int) else None),
            height=HEIGHT,
            largest=largest,
            logarithmic=logarithmic,
        ),
        key="overview",
        on_select=open_tile,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"{layers} × {heads} small heatmaps, one for each layer and head of the {controls.KINDS[kind]} attention",
    )


def draw_lines() -> None:
    if max(shown.maps.shape[2:]) > MAX_LINES:
        st.info(f"Lines are drawn for up to {MAX_LINES} tokens a side; shorten the text, or take the heatmaps.")
        return
    st.caption("Each line joins a query to a key; thicker = more weight. Hover a token to see only its lines.")
    one_map = not isinstance(head, int)
    components.line_view(
        chosen[None, None] if one_map else shown.maps,
        shown.axes,
        rows=[which] if one_map else [f"layer {i + 1}" for i in range(layers)],
        chosen=[0] if one_map else [layer * heads + int(head)],
        largest=right_largest,
        alt=f"Lines between keys and queries of the {controls.KINDS[kind]} attention",
        key="line_view",
    )


def draw_bertviz() -> None:
    from viz_app import bertviz_frame

    which_view: bertviz_frame.View = "head" if how_shown == "head" else "model"
    limit = bertviz_frame.MAX_TOKENS[which_view]
    if max(shown.maps.shape[2:]) > limit:
        st.info(f"BertViz draws this view of up to {limit} tokens a side; shorten the text, or take the heatmaps.")
        return
    st.caption(
        "BertViz (Vig 2019): queries on the left, keys on the right; it counts layers and heads from 0. "
        + ("Click a colour to hide or show a head." if which_view == "head" else "Click a tile to enlarge it.")
    )
    st.iframe(
        bertviz_frame.document(
            which_view,
            kind,
            view(translation, kind, **condense).maps,
            shown.axes,
            layer=layer,
            head=head if isinstance(head, int) else None,
        ),
        height=bertviz_frame.height(which_view, shown.maps),
        alt=f"BertViz {which_view} view of the {controls.KINDS[kind]} attention",
    )


if how_shown in ("head", "model"):
    draw_bertviz()
else:
    left, right = st.columns([1, 1.15])
    with left:
        draw_lines() if how_shown == "lines" else draw_overview()
    with right:
        meaning = {
            "max": f"Each cell is the largest of {heads} weights.",
            "rollout": "How much of each input token is left in each position.",
        }.get(str(head), "" if shown.hidden_share or norms else "Each row sums to 1.")
        st.caption(f"**Layer {layer + 1} · {which}.** {meaning} Hover for the exact number.")
        st.plotly_chart(
            head_map(
                chosen,
                shown.axes,
                shown.allowed,
                height=HEIGHT,
                unit=unit,
                largest=right_largest,
                logarithmic=logarithmic,
            ),
            key="head_map",
            config={"displayModeBar": False},
            alt=f"Heatmap of the {unit} of layer {layer + 1}, {which}: rows are queries, columns are keys",
        )

with st.container(horizontal=True, gap="small", vertical_alignment="center"):
    st.toggle(
        "Merge subwords",
        key="merge",
        disabled=config.tokenizer.kind == "words",
        help="Add up the weights of the pieces of a word as a key, average them as a query.",
    )
    st.toggle("Hide special tokens", key="hide_special", help="Leave out <s> and </s>.")
    st.toggle(
        "× value norms",
        key="norms",
        help="Multiply each weight by the length of what its key adds, its value after the output projection "
        "(Kobayashi et al. 2020): a large weight on a tiny value does little.",
    )
    st.toggle("Log colours", key="logarithmic", help="A logarithmic colour scale shows small weights too.")
    controls.how(
        "How it is computed",
        "These are the weights that the model used while it wrote this translation, recorded at each step of the "
        "decode. The query comes from the state at the row's position, the key from that at the column's; the softmax "
        "makes each row sum to 1. In the decoder, the position that writes a token has read all tokens before it.\n\n"
        "**Rollout** (Abnar and Zuidema 2020) follows the mean of the heads through all layers, half of each layer's "
        "output coming through its residual connection; in the decoder through what was read and through the encoder.",
        r"\mathrm{weights} = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + \mathrm{mask}\right)",
    )
    st.download_button(
        "CSV",
        lambda: maps_csv(translation),
        "headlight-maps.csv",
        "text/csv",
        icon=":material/download:",
        help="Every weight of every map as a row of a table.",
        on_click="ignore",
    )
    st.download_button(
        "NPZ",
        lambda: maps_npz(translation),
        "headlight-maps.npz",
        "application/octet-stream",
        icon=":material/download:",
        help="All maps and their tokens as NumPy arrays.",
        on_click="ignore",
    )
if shown.hidden_share and not norms:
    st.caption(
        f"The hidden columns hold {shown.hidden_share:.0%} of the weight on average, so rows sum to less than 1."
    )
if how_shown == "heatmaps" and max(shown.maps.shape[2:]) > MAX_TILE:
    st.caption(f"The overview shows at most {MAX_TILE} cells a side: each is the largest of the weights it covers.")

table = st.expander("Strongest alignments", icon=":material/table_rows:", on_change="rerun", key="alignments")
if table.open:
    with table:
        st.caption(f"The largest cells of the map of layer {layer + 1} · {which}, largest first.")
        cells = strongest(chosen, 25)
        st.dataframe(
            pd.DataFrame(
                {
                    "query": [shown.axes.queries[t] for t, _, _ in cells],
                    "position of the query": [t + 1 for t, _, _ in cells],
                    "key": [shown.axes.keys[s] for _, s, _ in cells],
                    "position of the key": [s + 1 for _, s, _ in cells],
                    unit: [value for *_, value in cells],
                }
            ),
            hide_index=True,
            height=300,
            alt="Table of the strongest alignments",
            column_config={
                unit: st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=max(right_largest, 1e-9))
            },
        )
