"""Masks: a few sentences become one padded batch, and masks keep padding and the future out of sight."""

import numpy as np
import pandas as pd
import streamlit as st

from model.data.vocab import PAD_ID
from viz_app import controls, services
from viz_app.choices import settle
from viz_app.examples import BATCHES
from viz_app.figures import masks
from viz_app.figures.attention import head_map
from viz_app.figures.style import Axes

HEIGHT = 360
SOURCE, READ = "source token", "target token read"

key, config = controls.require_translator(services.listed_checkpoints())
language = config.tokenizer.source_language
st.subheader("Masks")
st.markdown(
    "Sentences of a batch are filled up to one length with `<pad>`, and a decoder must not see the token that it is to "
    "write. A **mask** says which key (column) a query (row) may attend to: **blue = may attend, grey = masked**."
)

examples = BATCHES.get(language, BATCHES["en"])
fields = st.columns(4)
for i in range(len(fields)):
    settle(f"batch_{language}_{i + 1}", examples[i] if i < len(examples) else "")
texts = [
    field.text_input(
        f"Sentence {i + 1}" + (" (optional)" if i > 1 else ""), key=f"batch_{language}_{i + 1}", max_chars=400
    )
    for i, field in enumerate(fields)
]
sentences = tuple(text for text in texts if text and text.strip())
if len(sentences) < 2:
    st.info("Type at least two sentences: one alone needs no padding.")
    st.stop()
batch = services.batch_of(key, sentences)

st.markdown(
    "**The batch.** Token ids under their tokens: sources end with `</s>`, and the decoder reads `<s>` and "
    "the translation, one token behind what it writes."
)
source_table, target_table = st.columns(2)
for column, ids, tokens, name in (
    (source_table, batch.source_ids, batch.source, "source"),
    (target_table, batch.read_ids, batch.read, "read by the decoder"),
):
    cells = [
        [f"{token} {i}" for token, i in zip(row, line, strict=True)] for row, line in zip(tokens, ids, strict=True)
    ]
    table = pd.DataFrame(cells, index=[f"{name} {i + 1}" for i in range(len(cells))])
    table.columns = pd.Index([str(i) for i in range(table.shape[1])])
    padding = pd.DataFrame(
        np.where(ids == PAD_ID, "color: #8c8c8c; font-style: italic", ""), table.index, table.columns
    )
    column.dataframe(
        table.style.apply(lambda _, padding=padding: padding, axis=None),
        alt=f"Tokens and ids of the {name} batch",
    )

settle("sentence", 1, range(1, len(sentences) + 1))
number = st.segmented_control("Look at sentence", list(range(1, len(sentences) + 1)), required=True, key="sentence")
row = (number or 1) - 1
source, read, padded = batch.source[row], batch.read[row], batch.padding_mask[row]
axes = {
    "encoder": Axes(queries=source, keys=source, query_title=f"query: {SOURCE}", key_title=f"key: {SOURCE}"),
    "decoder": Axes(queries=read, keys=read, query_title=f"query: {READ}", key_title=f"key: {READ}"),
    "cross": Axes(queries=read, keys=source, query_title=f"query: {READ}", key_title=f"key: {SOURCE}"),
}
batch_axes = Axes(
    queries=[f"sentence {i + 1}" for i in range(len(sentences))],
    keys=[str(i) for i in range(len(source))],
    query_title="sentence",
    key_title="key: source position",
)
mask_of = {
    "encoder": np.broadcast_to(padded, (len(source), len(source))),
    "decoder": batch.decoder_mask[row],
    "cross": np.broadcast_to(padded, (len(read), len(source))),
}
pictures = (
    ("padding", batch.padding_mask, batch_axes, "**Padding mask.** No query may attend to `<pad>`."),
    ("causal", batch.causal_mask, axes["decoder"], "**Causal mask.** No position may attend to the future."),
    ("combined", mask_of["decoder"], axes["decoder"], "**Combined decoder mask.** No future and no padding."),
    ("cross", mask_of["cross"], axes["cross"], "**Cross mask.** The decoder sees the source without its padding."),
)
for place, (name, mask, mask_axes, sentence) in zip([*st.columns(2), *st.columns(2)], pictures, strict=True):
    with place:
        st.markdown(sentence)
        st.plotly_chart(
            masks.mask_map(mask, mask_axes, height=HEIGHT),
            key=f"{name}_mask",
            config={"displayModeBar": False},
            alt=f"The {name} mask: blue cells may attend, grey cells are masked",
        )

st.markdown(
    "**One head's real numbers.** The scores before the mask, after it (grey = −∞), and the weights after the softmax: "
    "exactly 0 where masked."
)
kinds, picker = st.columns(2, vertical_alignment="bottom")
with kinds:
    kind = controls.kind_picker("mask_kind", "decoder")
scores = batch.stages[f"{kind}.scores"]
with picker:
    layer, head = controls.head_picker(scores.shape[0], scores.shape[2], aggregates=False)
mask = mask_of[kind]
stage = {name: batch.stages[f"{kind}.{name}"][layer, row, int(head)] for name in services.STAGES}
bound = float(np.abs(stage["scores"]).max()) or 1.0
before, after, softmax = st.columns(3)
for column, name, title in (
    (before, "scores", "Scores before the mask"),
    (after, "masked_scores", "Scores after the mask"),
):
    with column:
        st.caption(title)
        st.plotly_chart(
            masks.score_map(stage[name], axes[kind], bound=bound, height=HEIGHT),
            key=f"stage_{name}",
            config={"displayModeBar": False},
            alt=f"{title} of layer {layer + 1}, head {int(head) + 1}",
        )
with softmax:
    st.caption("Weights after the softmax")
    st.plotly_chart(
        head_map(stage["weights"], axes[kind], mask, height=HEIGHT),
        key="stage_weights",
        config={"displayModeBar": False},
        alt=f"Attention weights of layer {layer + 1}, head {int(head) + 1} after the softmax",
    )
masked_weight = float(np.where(mask, 0.0, stage["weights"]).max())
worst_sum = float(np.abs(stage["weights"].sum(axis=-1) - 1).max())
st.caption(f"Largest weight on a masked key: {masked_weight:g}. Row sums differ from 1 by at most {worst_sum:.2g}.")
controls.how(
    "How it is computed",
    "The mask puts minus infinity where attention is forbidden; e to the minus infinity is 0, so the softmax leaves "
    "exactly nothing there, and the rest still sums to 1.",
    r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right),\qquad M_{ij}\in\{0,-\infty\}",
)
