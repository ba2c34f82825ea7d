"""Masks: a few sentences become one padded batch, and masks keep padding and the future out of sight."""

import numpy as np
import streamlit as st

from model.config.kinds import KINDS
from viz_app.content.examples import BATCHES
from viz_app.content.plain import plain
from viz_app.figures.style import Axes
from viz_app.sections.masks.bug_lab import bug_lab
from viz_app.sections.masks.right_masks import clearest_row, right_masks
from viz_app.services import analyses, listing, padded_batches
from viz_app.session.choices import choices, settle
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.search_picker import note_greedy_search
from viz_app.widgets.tabs import tabs

key, config = checkpoint_choice.require_attention(
    listing.listed_checkpoints(), of_transformer="the masks of a Transformer"
)
if problem := analyses.why_no_masks(key):
    st.info(plain(f"{problem} Choose another checkpoint on the left."))
    end_page()
# Of other languages too the fields are those of a list that we have: only its names are kept and stand in links.
language = config.tokenizer.source_language if config.tokenizer.source_language in BATCHES else "en"
st.markdown(
    "The sentences of a batch get one length with `<pad>`, and a decoder must not see the token that it will write. "
    "A **mask** says which key (column) a query (row) may attend to: **blue = may attend, grey = masked**."
)

examples = BATCHES[language]
with st.container(key="set_masks"):
    *fields, number_place = st.columns(5, vertical_alignment="bottom")
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
    end_page("Type at least two sentences: one sentence needs no padding.")
add_fact("Sentences", " / ".join(sentences))
note_greedy_search()
batch = padded_batches.batch_of(key, sentences)

# The bug lab opens with the first sentence, which its mistakes change; the masks with one that shows their triangle.
in_lab = choices().chosen.get("mask_tab") == "bugs"
settle("sentence", 1 if in_lab else 1 + clearest_row(batch), range(1, len(sentences) + 1))
number = number_place.segmented_control(
    "Look at sentence", list(range(1, len(sentences) + 1)), required=True, key="sentence"
)
row = (number or 1) - 1
tokens = {"source": batch.source[row], "read": batch.read[row], "written": batch.written[row]}
source, read, padded = batch.source[row], batch.read[row], batch.padding_mask[row]
axes = {
    name: Axes(
        queries=tokens[kind.queries],
        keys=tokens[kind.keys],
        query_title=f"query: {kind.query}",
        key_title=f"key: {kind.key}",
    )
    for name, kind in KINDS.items()
} | {
    "batch": Axes(
        queries=[f"sentence {i + 1}" for i in range(len(sentences))],
        keys=[str(i) for i in range(len(source))],
        query_title="sentence",
        key_title="key: source position",
    ),
}
allowed = {
    "encoder": np.broadcast_to(padded, (len(source), len(source))),
    "decoder": batch.decoder_mask[row],
    "cross": np.broadcast_to(padded, (len(read), len(source))),
}

right_tab, bug_tab = tabs({"right": "As it should be", "bugs": "Bug lab"}, "mask_tab")
if right_tab.open:
    with right_tab:
        right_masks(key, sentences, row, axes, allowed)
if bug_tab.open:
    with bug_tab:
        bug_lab(key, sentences, row, axes, allowed)
