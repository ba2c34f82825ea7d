"""Checkpoints: every model that was found, and one of them opened."""

import json
from pathlib import Path

import streamlit as st

from viz_app.content.plain import PERCENT_COLUMN, plain
from viz_app.figures import training
from viz_app.sections.checkpoints.bring_your_own import bring_your_own, problem_with_upload, was_opened
from viz_app.services import listing, loading
from viz_app.session.own_checkpoints import own_checkpoints
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section
from viz_app.widgets.tabs import tabs

QUALITY = {
    "translation": ("BLEU", "valid_bleu", "Greedy translations of the validation set, after each epoch."),
    "classification": ("accuracy, %", "valid_accuracy", "Share of the validation set, after each epoch."),
}

found = listing.listed_checkpoints()
st.markdown(
    "Every bundled checkpoint, those in the folders of `HEADLIGHT_CHECKPOINTS`, and what you trained or fetched; a new "
    "one appears when the page is loaded again. Figures are those of its test set, which the model card names; beam 5."
)
if not found:
    checkpoint_choice.require_checkpoint(found)
table = listing.checkpoint_figures(found)
broken = [listed for listed in found if listed.config is None]
st.dataframe(
    table.drop(columns="problem"),
    hide_index=True,
    placeholder="–",
    alt="Table of all checkpoints with task, languages, sizes and figures",
    column_order=[
        "checkpoint",
        "languages",
        "task",
        "family",
        "tokens",
        "positions",
        "layers",
        "heads",
        "parameters",
        "BLEU",
        "chrF",
        "accuracy",
        "size, MB",
        "memory, MB",
    ],
    column_config={
        "parameters": st.column_config.NumberColumn(format="localized"),
        "BLEU": st.column_config.NumberColumn(format="%.1f", help="sacreBLEU; lower-cased where the model lower-cases"),
        "chrF": st.column_config.NumberColumn(format="%.1f"),
        "accuracy": st.column_config.NumberColumn(format=PERCENT_COLUMN, help="texts that are classified rightly"),
        "size, MB": st.column_config.NumberColumn(format="%.1f", help="on the disk"),
        "memory, MB": st.column_config.NumberColumn(format="%.1f", help="of the weights, in single precision"),
        "layers": st.column_config.TextColumn(help="encoder + decoder"),
    },
)
for listed in broken:
    st.warning(plain(listed.problem))
messages = st.container()
with messages:
    problem_with_upload()
own = st.expander("Open your own", icon=":material/upload:", on_change="rerun", key="open_your_own")
if own.open:
    with own:
        brought = own_checkpoints().values()
        bring_your_own({listed.key.name for listed in found if Path(listed.key.path) not in brought})

key, config = checkpoint_choice.require_checkpoint(found)
with messages:
    was_opened(key.name)
st.header(plain(key.name))
st.caption("The checkpoint that is chosen on the left.")
card, curves, parameters, configuration = tabs(
    {"card": "Model card", "curves": "Training curves", "parameters": "Parameters", "configuration": "Configuration"},
    "checkpoint_tab",
)
if card.open:
    with card:
        st.markdown(listing.model_card(key) or "This checkpoint has no model card (README.md).")
if curves.open:
    with curves:
        name, column, explanation = QUALITY.get(config.task, QUALITY["translation"])
        history = listing.training_history(key, column)
        if history is None:
            st.info("This checkpoint has no history.csv that can be read, so there are no curves.")
        else:
            loss, quality = st.columns(2)
            with loss:
                section("Loss", "The training loss includes label smoothing and dropout.")
                draw(
                    training.curves(
                        history["step"].tolist(),
                        {"training": history["train_loss"].tolist(), "validation": history["valid_loss"].tolist()},
                        title="loss, nats a token" if config.task == "translation" else "loss, nats a text",
                        height=340,
                    ),
                    key="loss_curve",
                    alt="Training and validation loss over the training steps",
                )
            with quality:
                section(name.split(",")[0].removesuffix(" %"), explanation)
                draw(
                    training.curves(
                        history["step"].tolist(), {"validation": history[column].tolist()}, title=name, height=340
                    ),
                    key="quality_curve",
                    alt=f"Validation {name} over the training steps",
                )
if parameters.open:
    with parameters:
        modules = loading.parameter_table(key)
        st.markdown(
            f"**{modules['parameters'].sum():,} parameters** in {len(modules)} modules; a matrix that several modules "
            "share stands at the first of them."
        )
        st.dataframe(
            modules.assign(share=100 * modules["share"]),
            hide_index=True,
            alt="Table of the parameters of each module",
            column_config={
                "parameters": st.column_config.NumberColumn(format="localized"),
                "share": st.column_config.ProgressColumn(format=PERCENT_COLUMN, max_value=100 * modules["share"].max()),
            },
        )
if configuration.open:
    with configuration:
        st.code(json.dumps(config.to_dict(), indent=1, ensure_ascii=False), language="json")
