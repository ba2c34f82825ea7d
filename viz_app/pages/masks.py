"""Masks: a few sentences become one padded batch, and masks keep padding and the future out of sight."""

import numpy as np
import pandas as pd
import streamlit as st

from model.data.vocab import PAD_ID
from viz_app import controls, services
from viz_app.examples import BATCHES
from viz_app.figures import masks

HEIGHT = 360
AXES = {
    "encoder": ("query: source token", "key: source token"),
    "decoder": ("query: target token read", "key: target token read"),
    "cross": ("query: target token read", "key: source token"),
}

key, config = controls.require_checkpoint(services.listed_checkpoints())
language = config.tokenizer.source_language
st.subheader("Masks")
st.markdown(
    "Sentences of a batch are filled up to one length with `<pad>`, and a decoder must not see the token that it is to "
    "write. A **mask** says which key (column) a query (row) may attend to: **blue = may attend, grey = masked**."
)

examples = BATCHES.get(language, BATCHES["en"])
fields = st.columns(4)
texts = [
    field.text_input(
        f"Sentence {i + 1}" + (" (optional)" if i > 1 else ""),
        examples[i] if i < len(examples) else "",
        key=f"batch_{language}_{i + 1}",
        bind="query-params",
        max_chars=400,
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
    cells = [[f"{token} {i}" for token, i in zip(row, line, strict=True)] for row, line in zip(tokens, ids, strict=True)]
    table = pd.DataFrame(cells, index=[f"{name} {i + 1}" for i in range(len(cells))])
    table.columns = pd.Index([str(i) for i in range(table.shape[1])])
    padding = pd.DataFrame(np.where(ids == PAD_ID, "color: #8c8c8c; font-style: italic", ""), table.index, table.columns)
    column.dataframe(
        table.style.apply(lambda _, padding=padding: padding, axis=None),
        alt=f"Tokens and ids of the {name} batch",
    )

number = st.segmented_control(
    "Look at sentence",
    list(range(1, len(sentences) + 1)),
    default=1,
    required=True,
    key="sentence",
)
row = int(number) - 1
if row >= len(sentences):
    row = 0
source, read = batch.source[row], batch.read[row]
padded = batch.padding_mask[row]

first, second = st.columns(2)
with first:
    st.markdown("**Padding mask.** One row a sentence: no query may attend to `<pad>`.")
    st.plotly_chart(
        masks.mask_map(
            batch.padding_mask,
            rows=[f"sentence {i + 1}" for i in range(len(sentences))],
            columns=[str(i) for i in range(batch.padding_mask.shape[1])],
            row_axis="sentence",
            column_axis="key: source position",
            height=HEIGHT,
        ),
        key="padding_mask",
        config={"displayModeBar": False},
        alt="Padding mask: a row a sentence, grey where its source is padding",
    )
    st.markdown("**Combined decoder mask.** Both at once: no future, no padding.")
    st.plotly_chart(
        masks.mask_map(
            batch.decoder_mask[row], rows=read, columns=read, row_axis=AXES["decoder"][0], column_axis=AXES["decoder"][1], height=HEIGHT
        ),
        key="decoder_mask",
        config={"displayModeBar": False},
        alt=f"Combined decoder mask of sentence {row + 1}",
    )
with second:
    st.markdown("**Causal mask.** Position t may attend to positions up to t: the future is grey.")
    st.plotly_chart(
        masks.mask_map(
            batch.causal_mask, rows=read, columns=read, row_axis=AXES["decoder"][0], column_axis=AXES["decoder"][1], height=HEIGHT
        ),
        key="causal_mask",
        config={"displayModeBar": False},
        alt="Causal mask: the lower triangle may attend, the upper is masked",
    )
    st.markdown("**Cross mask.** The decoder may look at the whole source, but not at its padding.")
    cross_mask = np.broadcast_to(padded, (len(read), len(source)))
    st.plotly_chart(
        masks.mask_map(
            cross_mask, rows=read, columns=source, row_axis=AXES["cross"][0], column_axis=AXES["cross"][1], height=HEIGHT
        ),
        key="cross_mask",
        config={"displayModeBar": False},
        alt=f"Cross-attention mask of sentence {row + 1}",
    )

st.markdown(
    "**One head's real numbers.** The scores before the mask, after it (grey = −∞), and the weights after the softmax: "
    "exactly 0 where masked."
)
kinds, picker = st.columns(2, vertical_alignment="bottom")
kind = kinds.segmented_control(
    "Attention",
    list(controls.KINDS),
    format_func=controls.KINDS.__getitem__,
    default="decoder",
    required=True,
    key="mask_kind",
    bind="query-params",
)
scores = batch.stages[f"{kind}.scores"]
with picker:
    layer, head = controls.head_picker(scores.shape[0], scores.shape[2], aggregates=False)
labels = {"encoder": (source, source), "decoder": (read, read), "cross": (read, source)}[kind]
mask = {"encoder": np.broadcast_to(padded, (len(source),) * 2), "decoder": batch.decoder_mask[row], "cross": cross_mask}[kind]
stage = {name: batch.stages[f"{kind}.{name}"][layer, row, head] for name in services.STAGES}
axes = {"queries": labels[0], "keys": labels[1], "query_axis": AXES[kind][0], "key_axis": AXES[kind][1]}
bound = float(np.abs(stage["scores"]).max()) or 1.0
before, after, softmax = st.columns(3)
for column, name, title in ((before, "scores", "Scores before the mask"), (after, "masked_scores", "Scores after the mask")):
    with column:
        st.caption(title)
        st.plotly_chart(
            masks.score_map(stage[name], bound=bound, height=HEIGHT, **axes),
            key=f"stage_{name}",
            config={"displayModeBar": False},
            alt=f"{title} of layer {layer + 1}, head {head + 1}",
        )
with softmax:
    st.caption("Weights after the softmax")
    st.plotly_chart(
        masks.weight_map(stage["weights"], mask, height=HEIGHT, **axes),
        key="stage_weights",
        config={"displayModeBar": False},
        alt=f"Attention weights of layer {layer + 1}, head {head + 1} after the softmax",
    )
st.caption(
    f"Largest weight on a masked key: {np.where(mask, 0.0, stage['weights']).max():.0f}. "
    f"Row sums differ from 1 by at most {np.abs(stage['weights'].sum(axis=-1) - 1).max():.1e}."
)
controls.how(
    "How it is computed",
    "The mask puts minus infinity where attention is forbidden; e to the minus infinity is 0, so the softmax leaves "
    "exactly nothing there, and the rest still sums to 1.",
    r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right),\qquad M_{ij}\in\{0,-\infty\}",
)
