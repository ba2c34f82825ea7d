"""Train one here: a small model learns a toy language while one watches."""

from contextlib import suppress

import streamlit as st

from model.corpora.toys import LONGEST, SIZES, TOYS
from viz_app.content.plain import plain
from viz_app.sections.training.training_here import WIDTHS, buttons, follow, training_of_visitor
from viz_app.server.training_jobs import EPOCHS
from viz_app.server.warm_process import SPARE
from viz_app.session.choices import settle
from viz_app.session.page_facts import add_fact
from viz_app.widgets.explanation import explanation

HEADS, LAYERS = (1, 2, 4, 8), (1, 2, 3)

training = training_of_visitor()
going = (training.active, training.saving) if training else (False, False)
busy = any(going)
st.markdown(
    "Train a small Transformer from random weights, in about a minute. Choose its task and its size, and press Train. "
    f"It reads {SIZES['train']:,} generated pairs {EPOCHS} times. The training goes on while you look at other pages. "
    "It ends when you close this tab."
)
settle("toy", "reverse", TOYS)
settle("toy_longest", 8, range(4, LONGEST + 1))
settle("toy_width", 64, WIDTHS)
settle("toy_layers", 1, LAYERS)
settle("toy_heads", 4, HEADS)
task, longest, width, layers, heads = st.columns([2.6, 1.4, 1, 1, 1], vertical_alignment="bottom")
toy = task.selectbox("Task", list(TOYS), format_func=lambda name: TOYS[name].task, key="toy", disabled=busy)
longest.slider(
    "Longest word, letters", 4, LONGEST, key="toy_longest", disabled=busy or toy == "dates", help="Not of the dates."
)
width.selectbox("Width d_model", WIDTHS, key="toy_width", disabled=busy, help="Numbers in the vector of each token.")
layers.selectbox("Layers", LAYERS, key="toy_layers", disabled=busy, help="Of the encoder, and as many of the decoder.")
heads.selectbox("Heads", HEADS, key="toy_heads", disabled=busy, help="A layer; each sees its share of the width.")
buttons(training)
if not busy:
    with suppress(OSError):  # it only saves time
        SPARE.prepare()  # somebody may press Train
if training is None:
    st.info(f"Once it has learned this, expect {TOYS[toy or 'reverse'].expect}. Press Train, and see.")
else:
    plan = training.plan
    sizes = f"d_model {plan.d_model}, {plan.layers} + {plan.layers} layers of {plan.heads} heads"
    add_fact("Model", f"trained here: {TOYS[plan.toy].task}; {sizes}")
    if training.problem:
        st.error(f"The training stopped early: {plain(training.problem)}")
    st.fragment(follow, run_every=1.0 if busy else None)(training, going)
explanation(
    "How it is computed",
    "The same program as `python -m model train toy` on the command line: Adam, teacher forcing, batches of 1,024 "
    "tokens, pre-norm layers, sinusoidal positions, no dropout. After each pass over the pairs it writes 200 others by "
    "itself (greedily); a pair is right when every token is. The server trains as many models at once as it has "
    "processor cores; the others wait in a queue. A reload of the page keeps the training. It ends 45 seconds after "
    "you close the tab, and 3 minutes after the connection breaks. Keep it as a checkpoint to see it on other pages.",
    r"\mathrm{loss} = -\frac{1}{T}\sum_t \ln p(y_t \mid y_{<t}, x)",
)
