"""Train one here: a small model learns a toy language, and the visitor watches."""

from contextlib import suppress

import streamlit as st

from model.corpora.toys import SIZES, TOYS
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import t, worded
from viz_app.sections.training import ask_for_plan, draw_buttons, draw_progress, training_of_visitor
from viz_app.server.training_jobs import EPOCHS, SPARE
from viz_app.session.page_facts import add_fact
from viz_app.widgets.headings import explanation

training = training_of_visitor()
state = (training.active, training.saving) if training else (False, False)
busy = any(state)
st.markdown(
    t(
        "Train a small Transformer from random weights in about a minute. Choose a task and a size, and press Train. "
        "The model reads {pairs} generated pairs {times} times. Training continues while you look at other pages. It "
        "ends when you close this tab.",
        pairs=decimal(SIZES["train"]),
        times=EPOCHS,
    )
)
toy = ask_for_plan(disabled=busy)
draw_buttons(training)
if not busy:
    with suppress(OSError):  # it only saves time
        SPARE.prepare()  # the visitor may press Train
if training is None:
    st.info(sentences([t("Press Train."), t(TOYS[toy].expect)]))
else:
    plan = training.plan
    trained = t(
        "trained here: {task}; d_model {width}, layers: {layers} + {layers}, heads per layer: {heads}",
        task=t(TOYS[plan.toy].task),
        width=plan.d_model,
        layers=plan.layers,
        heads=plan.heads,
    )
    add_fact(t("Model"), trained)
    if training.problem:
        st.error(t("The training stopped early: {reason}", reason=plain(worded(training.problem))))
    st.fragment(draw_progress, run_every=1.0 if busy else None)(training, state)
explanation(
    t("How it is computed"),
    t(
        "This is the same program as `python -m model train toy` on the command line: Adam, teacher forcing, batches "
        "of 1,024 tokens, pre-norm layers, sinusoidal positions, no dropout. After each pass over the pairs, the model "
        "translates 200 other pairs with greedy search. A pair is correct if every token is correct. The server trains "
        "as many models at once as it has processor cores. Other training runs wait in a queue. Training continues "
        "when you reload the page. It ends 45 seconds after you close the tab, and 3 minutes after the connection "
        "breaks. Keep the model as a checkpoint to see it on other pages."
    ),
    r"\mathrm{loss} = -\frac{1}{T}\sum_t \ln p(y_t \mid y_{<t}, x)",
)
