"""The loss and the quality of a checkpoint over its training run."""

import pandas as pd
import streamlit as st

from model.inference.opening import AnyConfig
from viz_app.content.translation import N_, t
from viz_app.figures import training
from viz_app.services import listing
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section

__all__ = ["draw_training_curves"]

HEIGHT = 340
QUALITY = {  # task → heading, axis title, column of the history, explanation, alt text
    "translation": (
        N_("BLEU"),
        N_("BLEU"),
        "valid_bleu",
        N_("Greedy translations of the validation set, after each epoch."),
        N_("BLEU on the validation set over the training steps"),
    ),
    "classification": (
        N_("Accuracy"),
        N_("accuracy, %"),
        "valid_accuracy",
        N_("Share of the validation set with the correct class, after each epoch."),
        N_("Accuracy on the validation set over the training steps"),
    ),
}


def draw_training_curves(key: CheckpointKey, config: AnyConfig) -> None:
    """Draw the curves, or say that there are none."""
    heading, title, column, meaning, alt = QUALITY.get(config.task, QUALITY["translation"])
    history = listing.training_history(key, column)
    if history is None:
        st.info(t("This checkpoint has no history.csv that can be read, so there are no curves."))
        return
    loss, quality = st.columns(2)
    with loss:
        draw_loss(
            history, title=t("loss, nats per token") if config.task == "translation" else t("loss, nats per text")
        )
    with quality:
        section(t(heading), t(meaning))
        draw(
            training.curves(
                history["step"].tolist(), {t("validation"): history[column].tolist()}, title=t(title), height=HEIGHT
            ),
            key="quality_curve",
            alt=t(alt),
        )


def draw_loss(history: pd.DataFrame, *, title: str) -> None:
    section(t("Loss"), t("The training loss includes label smoothing and dropout."))
    draw(
        training.curves(
            history["step"].tolist(),
            {t("training"): history["train_loss"].tolist(), t("validation"): history["valid_loss"].tolist()},
            title=title,
            height=HEIGHT,
        ),
        key="loss_curve",
        alt=t("Training and validation loss over the training steps"),
    )
