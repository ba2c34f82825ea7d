"""BLEU of two checkpoints by the length of the sentence. Attention was invented for long sentences."""

from collections.abc import Mapping

import streamlit as st

from model.checkpoints.checkpoint import CheckpointConfig
from model.inference.opening import AnyConfig
from viz_app.figures.training import curves
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section

__all__ = ["by_length"]

HEIGHT = 360
MEASURED = "Measured on the 1,000 captions of the test set in lower case, as in figure 2 of Bahdanau et al. 2015."
ONE_VECTOR = "A network that reads a whole sentence into one vector gets worse for longer sentences."


def by_length(configs: Mapping[str, AnyConfig], *, expanded: bool) -> None:
    """Show BLEU by the length of the source, if it was measured for all checkpoints in the same way.

    Args:
        configs: Name of a checkpoint → its configuration.
        expanded: Open the section at once.
    """
    measured = {name: one.bleu_by_length for name, one in configs.items() if isinstance(one, CheckpointConfig)}
    lengths = next(iter(measured.values()), {})
    if len(measured) < len(configs) or not lengths or any(one.keys() != lengths.keys() for one in measured.values()):
        return
    place = st.expander(
        "Quality for longer sentences",
        icon=":material/trending_down:",
        expanded=expanded,
        on_change="rerun",
        key="by_length_opened",
    )
    if not place.open:
        return
    one_vector = any(not config.model.kinds for config in configs.values())
    with place:
        section(
            "BLEU by the length of the source",
            f"{MEASURED} {ONE_VECTOR}" if one_vector else MEASURED,
        )
        draw(
            curves(
                list(lengths),
                {name: [one[words] for words in lengths] for name, one in measured.items()},
                title="BLEU, lower-cased",
                height=HEIGHT,
                over="words of the source",
            ),
            key="by_length",
            alt=f"BLEU of {', '.join(measured)} by the number of words in the source",
        )
