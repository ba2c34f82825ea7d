"""Inside a classifier: one head, a token layer by layer, the class after each layer, and the parts of the decision."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.analysis.lens import ClassLens
from model.config.section import ConfigError
from model.inference.classify import Classification
from model.inference.opening import AnyConfig
from model.text.pair import Text
from viz_app.content.numbers import percent
from viz_app.content.plain import plain, visible
from viz_app.content.translation import N_, t, worded
from viz_app.figures.attention import head_map
from viz_app.figures.scales import bound_of
from viz_app.figures.style import Axes
from viz_app.figures.words import word_grid
from viz_app.sections.inside.layer_by_layer import draw_path
from viz_app.sections.inside.one_head import one_head
from viz_app.sections.inside.token_choice import ask_for_token
from viz_app.sections.inside.why_this_word import draw_contributions
from viz_app.services import analyses, classifications, loading
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Run
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section
from viz_app.widgets.tabs import tabs

__all__ = ["classified_text"]

ROUNDING = 1e-3  # of a probability
MOST_BARS = 40  # tokens in one row of the map of shares


def classified_text(key: CheckpointKey, config: AnyConfig, text: Text) -> None:
    """Draw the tabs of a classifier."""
    reading = classifications.classification_of(key, text)
    sections = {
        "stations": (N_("Layer by layer"), follow_token),
        "layers": (N_("Class after each layer"), class_after_each_layer),
        "why": (N_("Why this class?"), why_this_class),
        "read": (N_("From which tokens?"), shares_of_tokens),
    }
    labels = {"head": t("One head")} | {name: t(label) for name, (label, _) in sections.items()}
    head, *drawn = tabs(labels, "inside_tab")
    if head.open:
        with head:
            one_head(key, config, text, Run())
    for tab, (_, draw_section) in zip(drawn, sections.values(), strict=True):
        if tab.open:
            with tab:
                try:
                    draw_section(key, text, reading)
                except ConfigError as error:
                    st.info(plain(worded(error)))


def follow_token(key: CheckpointKey, text: Text, reading: Classification) -> None:
    """Ask for a token and a layer, and follow the token through it."""
    sizes = loading.config_of(key).model
    chosen = ask_for_token({"encoder": reading.token_labels}, sizes)
    stations, prediction = analyses.class_stations_of(key, text, chosen.layer, chosen.position)
    draw_path(stations, prediction, chosen, sizes)


def class_after_each_layer(key: CheckpointKey, text: Text, reading: Classification) -> None:
    """Draw the probability of each label after each layer."""
    lens = analyses.class_lens_of(key, text)
    section(
        t("After each layer"),
        t(
            "The probability of each label if the model stopped at this layer. The bottom row is what the model "
            "decided."
        ),
    )
    if lens.difference > ROUNDING:
        st.error(
            t(
                "The last row differs from the model's own probabilities by up to {difference}. The model computes "
                "something that this picture would not show.",
                difference=f"{lens.difference:.2g}",
            ),
            icon=":material/error:",
        )
        return
    draw_label_grid(lens, [*reading.probabilities])


def draw_label_grid(lens: ClassLens, labels: Sequence[str]) -> None:
    layers = len(lens.probabilities) - 1
    words = [[percent(float(share)) for share in row] for row in lens.probabilities]
    notes = [
        [
            t("“{token}” has probability {number}", token=label, number=f"{share:.4f}")
            for label, share in zip(labels, row, strict=True)
        ]
        for row in lens.probabilities.tolist()
    ]
    draw(
        word_grid(
            words,
            lens.probabilities,
            rows=[t("no layer yet"), *(t("layer {layer}", layer=i + 1) for i in range(layers))],
            columns=labels,
            row_title=t("stopped after"),
            column_title=t("label"),
            notes=notes,
            height=90 + 44 * (layers + 1),
        ),
        key="class_lens",
        wide=True,
        alt=t("Grid of the probability of each label after each of {n} layers", n=layers),
    )


def why_this_class(key: CheckpointKey, text: Text, reading: Classification) -> None:
    """Ask for a rival label, and draw what each part of the model added for one or the other."""
    rivals = [label for label in reading.probabilities if label != reading.label]
    settle("rival_label", rivals[0], rivals)
    rival = st.columns([2.4, 5.4])[0].selectbox(t("Why not"), rivals, key="rival_label")
    contributions = analyses.class_contributions_of(key, text, reading.label, rival)
    draw_contributions(contributions, visible(reading.label), visible(rival), exclusive=not reading.several_labels)


def shares_of_tokens(key: CheckpointKey, text: Text, reading: Classification) -> None:
    """Draw the share of each token in the vector that the classifier reads."""
    influence = analyses.class_influence_of(key, text)
    section(
        t("From which tokens?"),
        t(
            "How much the vector that the classifier reads depends on each token, through all layers. The shares "
            "sum to 1."
        ),
    )
    if influence.pooled is None or not influence.agrees:
        st.error(
            t(
                "The vectors of a layer differ from its output by up to {difference}. The model computes something "
                "that this view would not show.",
                difference=f"{influence.residual:.2g}",
            ),
            icon=":material/error:",
        )
        return
    shares = influence.pooled.astype(np.float32)
    strongest = np.sort(np.argsort(-shares)[:MOST_BARS])
    if len(shares) > MOST_BARS:
        st.caption(
            t("The picture shows the {n} tokens with the largest shares, of {all}.", n=MOST_BARS, all=len(shares))
        )
    draw(
        head_map(
            shares[strongest][None],
            Axes(
                queries=[t("decision")],
                keys=[reading.token_labels[i] for i in strongest],
                query_title=t("classifier"),
                key_title=t("token read"),
            ),
            np.ones((1, len(strongest)), dtype=bool),
            height=220,
            unit=t("share"),
            largest=bound_of(shares),
        ),
        key="class_influence",
        wide=True,
        alt=t("Heatmap of the share of each token in the vector that the classifier reads"),
    )
