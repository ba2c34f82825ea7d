"""Patch a head: replace the output of one head by its output for another sentence, the donor."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.analysis.availability import nothing_predicted
from model.analysis.patching import Contrast, PatchingEffects, contrast, patch_every_head
from model.config.kinds import KINDS
from model.config.model import RecurrentConfig
from model.inference.opening import AnyConfig
from model.inference.run import Result, Run
from model.interventions import Head
from model.text.pair import Text, paired, texts_of
from viz_app.components.page_parts import add_fact
from viz_app.content.examples import DONORS, demonstration_for, examples_for
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import plain, visible
from viz_app.content.tasks import about_task
from viz_app.content.translation import N_, t, worded
from viz_app.figures.grids import head_grids
from viz_app.figures.style import Axes
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.sections.sentiment import require_review
from viz_app.services import analyses, models
from viz_app.services.analyses import Analysis
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw, draw_map
from viz_app.widgets.head_picker import pick_head, pick_kind, picker_columns
from viz_app.widgets.headings import explain, grade_line, section
from viz_app.widgets.long_work import measured
from viz_app.widgets.marked_text import compared
from viz_app.widgets.run_form import note_shared_second_text, require_text
from viz_app.widgets.text_notes import length_remedy, note_cleaning

__all__ = ["ask_for_pair", "head_patching", "require_runs", "why_no_patching"]

MAX_TOKENS = 25  # of either text
MAX_PARAMETERS = 20_000_000  # the model runs a few hundred times while the visitor waits


@dataclass(frozen=True, kw_only=True)
class Runs:
    """The two runs. Heads of the donor's run are patched into the receiver's run."""

    receiver: Result
    donor: Result
    contrast: Contrast
    task: str

    @property
    def outcomes(self) -> tuple[str, str]:
        """The two outcomes that are compared: the receiver's, the donor's."""
        own, donor = self.contrast.names
        return visible(own), visible(donor)

    @property
    def question(self) -> str:
        """What differs, as a sentence."""
        own, wanted = self.outcomes
        number = self.contrast.position + 1
        if self.task == "classification":
            return t("The class of the donor is “{wanted}”, that of the receiver “{own}”.", wanted=wanted, own=own)
        if self.task == "reading":
            return t(
                "At token {n}, the model guesses “{wanted}” for the donor and “{own}” for the receiver.",
                n=number,
                wanted=wanted,
                own=own,
            )
        return t(
            "Token {n} is “{wanted}” for the donor and “{own}” for the receiver.", n=number, wanted=wanted, own=own
        )


def head_patching(key: CheckpointKey) -> None:
    """Ask for the receiver and its donor, and draw how much closer each head brings it to the donor's token."""
    if problem := why_no_patching(key):
        end_page(problem)
    text, donor = ask_for_pair(key)
    runs = require_runs(key, text, donor)
    patching = Analysis.of(patch_every_head, key, donor, text)
    closeness = measured(patching, lane="patching", step=N_("Run {done} of {total}."))
    assert closeness is not None  # because the two runs differ
    every_head(runs, closeness)
    grade_line("patching")
    head = head_choice(closeness)
    every_position(runs, closeness, head.kind)
    patched_translation(runs, analyses.patched_translation_of(key, donor, text, head), head)
    explain("patching")


def ask_for_pair(key: CheckpointKey) -> tuple[Text, Text]:
    """Ask for the receiver and its donor.

    Raises:
        PageEnded: one of them is missing.
    """
    config = models.config_of(key)
    opening = demonstration_for(config).receiver
    classifies = config.task == "classification"
    text = require_review(config, opening=opening) if classifies else require_text(config, opening=opening)
    typed = donor_field(config, texts_of(text)[0])
    if not typed.strip():
        end_page(t("Type a donor sentence."))
    add_fact(t("Donor"), typed)
    note_shared_second_text(text)
    return text, paired(typed, texts_of(text)[1])


def why_no_patching(key: CheckpointKey) -> str:
    """Why heads of a model cannot be patched, as a sentence; empty where they can."""
    config = models.config_of(key)
    if read_only := analyses.why_read_only(key):
        return plain(worded(read_only))
    if isinstance(config.model, RecurrentConfig):
        return t("Heads are patched between two translations by a Transformer. Choose a Transformer on the left.")
    if not getattr(config, "predicts", True):
        return plain(worded(nothing_predicted(config)))
    if (parameters := models.parameters_of(key)) > MAX_PARAMETERS:
        return t(
            "This model has {n} million parameters. Patching runs a model hundreds of times, so the limit is "
            "{limit} million. Choose a smaller model on the left.",
            n=decimal(parameters / 1e6),
            limit=decimal(MAX_PARAMETERS / 1e6),
        )
    return ""


def donor_field(config: AnyConfig, text: str) -> str:
    demonstration = demonstration_for(config)
    typed_by_visitor = text if config.task == "classification" else DONORS.get(text, examples_for(config)[-1])
    settle("giver", demonstration.donor if text == demonstration.receiver else typed_by_visitor)
    donor = st.text_input(
        t("Donor sentence; change one word of the sentence above"),
        key="giver",
        max_chars=models.MAX_CHARACTERS,
        help=t("The sentence above is the receiver. One head at a time gets its output from the donor's run."),
    )
    note_cleaning(config, donor or "")
    return donor or ""


def require_runs(key: CheckpointKey, text: Text, donor: Text) -> Runs:
    """Draw both results.

    Raises:
        PageEnded: heads cannot be patched between them; a sentence says why.
        ConfigError: the model has no logits to compare.
    """
    task = models.config_of(key).task
    runs = receiver_run, donor_run = [models.result_of(key, Run(text=one)) for one in (text, donor)]
    if receiver_run.text or donor_run.text:
        both = [(t("receiver"), receiver_run.text), (t("donor"), donor_run.text)]
        st.html(compared(both, languages=receiver_run.languages[1:]))
    # The continuation after the first word that differs is not read again.
    read = [run.read[: run.prompt_length + 1] if task == "continuation" else run.written for run in runs]
    lengths = [max(len(run.source), len(tokens)) for run, tokens in zip(runs, read, strict=True)]
    if max(lengths) > MAX_TOKENS:
        limit = t("Heads are patched where both texts and their results have up to {limit} tokens.", limit=MAX_TOKENS)
        longer = runs[lengths.index(max(lengths))]
        which = t("The receiver is too long.") if longer is receiver_run else t("The donor is too long.")
        end_page(sentences([limit, which, length_remedy(longer, MAX_TOKENS)]))
    found = contrast(models.loaded(key), donor_run, receiver_run)
    if found is None:
        end_page(about_task(task, "same_results"))
    return Runs(receiver=receiver_run, donor=donor_run, contrast=found, task=task)


def every_head(runs: Runs, closeness: PatchingEffects) -> None:
    """Draw each head, patched at every position."""
    wanted = runs.outcomes[1]
    scale = t(
        "One head at a time outputs what it did for the donor. 1: the two logits differ as in the donor's run. 0: "
        "nothing changes."
    )
    draw(
        head_grids(
            {t(KINDS[kind].title): grid for kind, grid in closeness.heads.items()},
            unit=t("share"),
            signed=True,
            height=280,
        ),
        heading=t("How much closer to “{wanted}”?", wanted=wanted),
        about=sentences([runs.question, scale]),
        key="patched",
        wide=True,
        alt=t("How much closer each patched head brings the run to “{wanted}”", wanted=wanted),
    )
    if not runs.contrast.same_length and "encoder" in closeness.heads:
        st.caption(
            t(
                "Encoder heads are left out: the receiver has {receiver} tokens and the donor {donor}, so their "
                "positions do not match.",
                receiver=len(runs.receiver.source),
                donor=len(runs.donor.source),
            )
        )


def head_choice(closeness: PatchingEffects) -> Head:
    """Ask for a head; the first choice is the one that brings the receiver closest to the donor."""
    measured = {kind: grid for kind, grid in closeness.heads.items() if not np.isnan(grid).all()}
    grids = {kind: np.where(np.isfinite(grid), grid, -np.inf) for kind, grid in measured.items()}
    strongest = max(grids, key=lambda kind: float(grids[kind].max()))
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
    section(t("At which position?"), t("Here the head is patched at one position only. Each row is one head."))
    layers, heads, positions = closeness.positions[kind].shape
    of_encoder = kind == "encoder"
    tokens = runs.receiver.source if of_encoder else runs.receiver.read[:positions]
    grid = closeness.positions[kind].reshape(layers * heads, positions)
    axes = Axes(
        queries=[f"{layer + 1} · {head + 1}" for layer in range(layers) for head in range(heads)],
        keys=[token.label for token in tokens],
        query_title=t("layer · head"),
        key_title=t("position: source token") if of_encoder else t("position: token just read"),
    )
    draw_map(
        grid,
        axes,
        key="patched_positions",
        least=300,
        unit=t("share"),
        signed=True,
        alt=t("How much closer each head brings the run when it is patched at one position"),
    )


def patched_translation(runs: Runs, patched: Result, head: Head) -> None:
    section(
        about_task(runs.task, "patched"),
        t("{head}, patched at every position.", head=head_name(head)),
    )
    texts = [(t("receiver"), runs.receiver.text), (t("with the patched head"), patched.text)]
    st.html(compared(texts, languages=runs.receiver.languages[1:]))
