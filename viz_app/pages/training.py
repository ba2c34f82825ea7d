"""Train one here: a small model learns a toy language, and the visitor watches."""

from contextlib import suppress

import streamlit as st

from model.corpora.toys import SIZES, TOYS
from viz_app.components.page_parts import add_fact
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import t, worded
from viz_app.sections.training import ask_for_plan, draw_buttons, draw_progress, training_of_visitor
from viz_app.server.training_jobs import EPOCHS, SPARE
from viz_app.widgets.headings import explain, introduce

training = training_of_visitor()
state = (training.active, training.saving) if training else (False, False)
busy = any(state)
introduce("train-one", pairs=decimal(SIZES["train"]), times=EPOCHS)
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
explain("training")
