"""Patch a head: replace the output of one head by its output for another sentence, the donor."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.analysis.patching import PatchingEffects, first_difference
from model.config.kinds import KINDS
from model.inference.opening import AnyConfig
from model.inference.translation import Translation
from model.interventions import Head
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.examples import DONORS, examples_for
from viz_app.content.plain import visible
from viz_app.figures.attention import difference_map
from viz_app.figures.heads import head_grids
from viz_app.figures.style import Axes
from viz_app.services import analyses, loading, long_analyses, translations
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_facts import add_fact
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.head_picker import pick_head, pick_kind, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import start_and_wait_for
from viz_app.widgets.marked_text import compared

__all__ = ["head_patching"]

MAX_TOKENS = 25  # of either text
MAX_PARAMETERS = 20_000_000  # the model runs a few hundred times while the visitor waits


@dataclass(frozen=True, kw_only=True)
class Runs:
    """The two translations. Heads of the donor's run are patched into the receiver's run."""

    receiver: Translation
    donor: Translation
    position: int  # of the first token that differs, counted from 0

    @property
    def tokens(self) -> tuple[str, str]:
        """The two tokens at that position: the receiver's, the donor's."""
        return visible(self.receiver.written[self.position].text), visible(self.donor.written[self.position].text)


def head_patching(key: CheckpointKey, config: AnyConfig, text: str) -> None:
    """Ask for the donor sentence, and draw how much closer each head brings the receiver to the donor's token.

    Args:
        key: The key of the checkpoint.
        config: Its configuration.
        text: The receiver.
    """
    donor = donor_field(config, text)
    if not donor.strip():
        st.info("Type a donor sentence.")
        return
    add_fact("Donor", donor)
    runs = two_runs(key, text, donor)
    if runs is None:
        return
    closeness = long_analyses.patching_effects_of(key, donor, text)
    if closeness is None:
        subject, work = long_analyses.patching_work(key, donor, text)
        closeness = start_and_wait_for(subject, work, lane="patching", step="Run {done} of {total}.")
    if closeness is None:
        return
    every_head(runs, closeness)
    head = head_choice(closeness)
    every_position(runs, closeness, head.kind)
    patched_translation(runs, analyses.patched_translation_of(key, donor, text, head), head)
    how_it_is_computed()


def donor_field(config: AnyConfig, text: str) -> str:
    demonstration = demonstration_for(config)
    usual = demonstration.donor if text == demonstration.receiver else DONORS.get(text, examples_for(config)[-1])
    settle("giver", usual)
    return (
        st.text_input(
            "Donor sentence; change one word of the sentence above",
            key="giver",
            max_chars=translations.MAX_CHARACTERS,
            help="The sentence above is the receiver. One head at a time gets its output from the donor's run.",
        )
        or ""
    )


def two_runs(key: CheckpointKey, text: str, donor: str) -> Runs | None:
    """Draw both translations. Where heads cannot be patched between them, a sentence says why: None."""
    receiver_run, donor_run = translations.translation_of(key, text), translations.translation_of(key, donor)
    st.html(
        compared([("receiver", receiver_run.text), ("donor", donor_run.text)], languages=receiver_run.languages[1:])
    )
    longest = max(len(tokens) for run in (receiver_run, donor_run) for tokens in (run.source, run.written))
    parameters = sum(parameter.numel() for parameter in loading.translator(key).model.parameters())
    position = first_difference(donor_run, receiver_run)
    if longest > MAX_TOKENS:
        shorter = " Or choose fewer new tokens on the page Translate." if receiver_run.prompt_length else ""
        st.info(
            f"Heads are patched between texts of up to {MAX_TOKENS} tokens. The longest has {longest}. "
            f"Shorten it.{shorter}"
        )
    elif parameters > MAX_PARAMETERS:
        st.info(
            f"This model has {parameters / 1e6:.0f} million parameters. Patching runs a model hundreds of times, so "
            f"the limit is {MAX_PARAMETERS / 1e6:.0f} million. Choose a smaller model on the left."
        )
    elif position is None:
        st.info("Both translations are the same, so no token differs. Change a word of the donor sentence.")
    else:
        return Runs(receiver=receiver_run, donor=donor_run, position=position)
    return None


def every_head(runs: Runs, closeness: PatchingEffects) -> None:
    """Draw each head, patched at every position."""
    own, wanted = runs.tokens
    section(
        f"How much closer to “{wanted}”?",
        f"Token {runs.position + 1} is “{wanted}” for the donor and “{own}” for the receiver. One head at a time "
        "outputs what it did for the donor. 1: the two logits differ as in the donor's run. 0: nothing changes.",
    )
    draw(
        head_grids(
            {KINDS[kind].title: grid for kind, grid in closeness.heads.items()}, unit="share", signed=True, height=280
        ),
        key="patched",
        wide=True,
        alt=f"How much closer each patched head brings the translation to “{wanted}”",
    )
    if np.isnan(closeness.heads.get("encoder", np.zeros(1))).all():
        st.caption(
            f"Encoder heads are left out: the receiver has {len(runs.receiver.source)} tokens and the donor "
            f"{len(runs.donor.source)}, so their positions do not match."
        )


def head_choice(closeness: PatchingEffects) -> Head:
    """Ask for a head; the first choice is the one that brings the receiver closest to the donor."""
    grids = {kind: grid for kind, grid in closeness.heads.items() if np.isfinite(grid).any()}
    strongest = max(grids, key=lambda kind: float(np.nanmax(grids[kind])))
    kinds, picker = picker_columns("kind", "head")
    with kinds:
        kind = pick_kind(list(grids), key="pasted_kind", default=strongest)
    layers, heads = grids[kind].shape
    with picker:
        layer, head = pick_head(
            layers, heads, prefix=f"pasted_{kind}_", default=divmod(int(grids[kind].argmax()), heads)
        )
    return Head(kind, layer, head)


def every_position(runs: Runs, closeness: PatchingEffects, kind: str) -> None:
    """Draw each head of one kind of attention, patched at one position only."""
    section("At which position?", "Here the head is patched at one position only. Each row is one head.")
    layers, heads, positions = closeness.positions[kind].shape
    of_encoder = kind == "encoder"
    tokens = runs.receiver.source if of_encoder else runs.receiver.read[:positions]
    grid = closeness.positions[kind].reshape(layers * heads, positions)
    axes = Axes(
        queries=[f"{layer + 1} · {head + 1}" for layer in range(layers) for head in range(heads)],
        keys=[token.text for token in tokens],
        query_title="layer · head",
        key_title="position: source token" if of_encoder else "position: token just read",
    )
    draw(
        difference_map(grid, axes, np.ones(grid.shape, dtype=bool), height=300, unit="share"),
        key="patched_positions",
        alt="How much closer each head brings the translation when it is patched at one position",
    )


def patched_translation(runs: Runs, patched: Translation, head: Head) -> None:
    section(
        "The translation with this head",
        f"{KINDS[head.kind].title}, layer {head.layer + 1}, head {head.head + 1}, patched at every position.",
    )
    texts = [("receiver", runs.receiver.text), ("with the patched head", patched.text)]
    st.html(compared(texts, languages=runs.receiver.languages[1:]))


def how_it_is_computed() -> None:
    explanation(
        "How it is computed",
        "Activation patching (Vig et al. 2020). Both runs read the same tokens up to the position where the "
        "translations begin to differ. There, Δ is the logit of the donor's token minus the logit of the receiver's "
        "token. It is computed for three runs: the donor's, the receiver's, and the receiver's with the output of one "
        "head replaced by its output in the donor's run.",
        r"\frac{\Delta_\mathrm{patched} - \Delta_\mathrm{receiver}}{\Delta_\mathrm{donor} - \Delta_\mathrm{receiver}}"
        r",\quad \Delta = z_{\mathrm{donor's\ token}} - z_{\mathrm{receiver's\ token}}",
    )
