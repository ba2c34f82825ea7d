"""The loss and the quality of a checkpoint over its training run."""

import pandas as pd
import streamlit as st

from model.inference.opening import AnyConfig
from viz_app.figures import training
from viz_app.services import listing
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section

__all__ = ["draw_training_curves"]

HEIGHT = 340
QUALITY = {  # task → heading, axis title, column of the history, explanation
    "translation": ("BLEU", "BLEU", "valid_bleu", "Greedy translations of the validation set, after each epoch."),
    "classification": (
        "Accuracy",
        "accuracy, %",
        "valid_accuracy",
        "Share of the validation set with the correct class, after each epoch.",
    ),
}


def draw_training_curves(key: CheckpointKey, config: AnyConfig) -> None:
    """Draw the curves, or say that there are none."""
    heading, title, column, meaning = QUALITY.get(config.task, QUALITY["translation"])
    history = listing.training_history(key, column)
    if history is None:
        st.info("This checkpoint has no history.csv that can be read, so there are no curves.")
        return
    loss, quality = st.columns(2)
    with loss:
        draw_loss(history, title="loss, nats per token" if config.task == "translation" else "loss, nats per text")
    with quality:
        section(heading, meaning)
        draw(
            training.curves(
                history["step"].tolist(), {"validation": history[column].tolist()}, title=title, height=HEIGHT
            ),
            key="quality_curve",
            alt=f"Validation {title} over the training steps",
        )


def draw_loss(history: pd.DataFrame, *, title: str) -> None:
    section("Loss", "The training loss includes label smoothing and dropout.")
    draw(
        training.curves(
            history["step"].tolist(),
            {"training": history["train_loss"].tolist(), "validation": history["valid_loss"].tolist()},
            title=title,
            height=HEIGHT,
        ),
        key="loss_curve",
        alt="Training and validation loss over the training steps",
    )
