"""Parts of the page Step by step: the controls, greedy search as it happens, and beam search as a tree."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Literal

import pandas as pd
import streamlit as st

from model.config.kinds import KINDS
from model.inference.run import Result, Run, Token
from model.interventions import Head
from viz_app.components.mounting import Data, component, masked_out, packed
from viz_app.components.page_parts import announce
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import isolated, visible
from viz_app.content.translation import N_, t
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import models
from viz_app.services.attention_view import step_weights
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import set_choice, settle
from viz_app.widgets import run_form
from viz_app.widgets.atlas_links import ChooseCell, cell_chooser, links_of_cell
from viz_app.widgets.charts import numbers
from viz_app.widgets.choosing import choose
from viz_app.widgets.forced_words import clear_forced_words_button
from viz_app.widgets.head_picker import pick_kind
from viz_app.widgets.marked_text import sentence
from viz_app.widgets.presenter_mode import presenting
from viz_app.widgets.run_form import beam_search

__all__ = ["beam_tree", "greedy_steps", "step_controls"]

Search = Literal["greedy", "beam"]
SEARCHES: dict[Search, str] = {"greedy": N_("Greedy, step by step"), "beam": N_("Beam search as a tree")}
KINDS_OF_STEPS = ("cross", "decoder")  # their queries are the steps
VISIBLE_STEPS = 5  # of a tree, without scrolling
START_TOKEN = N_("“{token}” is given, not chosen. It tells the model what to write, such as the language.")
PROMPT_TOKEN = N_("This token belongs to the text that you typed. The model chooses nothing here.")


def step_controls(*, forced: bool) -> tuple[Search, DeltaGenerator]:
    """Draw the search, undo, and a button that clears forced words; return the search, and a column for its setting."""
    with st.container(key="set_steps"):
        searches, setting, undo, clear = st.columns([3.2, 2.3, 1, 1.7], vertical_alignment="bottom")
    names = {search: t(label) for search, label in SEARCHES.items()}
    search = choose(t("Search"), names, key="steps_view", place=searches)
    undo.button(
        t("Undo"),
        icon=":material/undo:",
        disabled=not run_form.can_undo(),
        on_click=run_form.undo,
        width="stretch",
    )
    with clear:
        clear_forced_words_button(disabled=not forced)
    return search, setting


def greedy_steps(key: CheckpointKey, run: Run, setting: DeltaGenerator) -> None:
    """Draw the steps of a greedy run, with its choices in the column `setting`.

    The visitor can play the steps, and choose another token at each.
    """
    translation = models.result_of(key, run)
    with setting:
        kinds = [kind for kind in KINDS_OF_STEPS if kind in translation.maps]
        kind = pick_kind(kinds, key="steps_kind")
    settle("guess", False)
    place, switch = st.columns([4, 1], vertical_alignment="center")
    guess = switch.toggle(
        t("Guess first"), key="guess", help=t("Hide the words and the candidates until you ask for them.")
    )
    announce("" if guess else translation.text, languages=translation.languages)
    written = translation.text or t("(the model wrote nothing)")
    language = translation.languages[1] if translation.text else ""
    place.html(sentence("…") if guess else sentence(written, language))
    if not presenting():  # the picture needs the height
        st.caption(
            t(
                "At each step, the decoder reads the tokens written so far and predicts the next token. Press Play, "
                "move the slider, or choose another token. Grey tokens are masked: at this step they do not exist yet."
            )
        )
    settle("step", 0)
    chosen_step: int = st.session_state["step"]  # counted from 1; 0 before the visitor chooses
    step = min(chosen_step, len(translation.written)) - 1 if chosen_step else None
    on_cell = None if guess else cell_chooser(key, kind, translation, "stepper")  # the link below names words
    draw_stepper(translation, kind, on_cell, step=step, guess=guess)
    if not guess:
        links_of_cell(key, kind, translation, "stepper")
        weights_of_step(translation, kind, (chosen_step or translation.prompt_length + 1) - 1)


def draw_stepper(translation: Result, kind: str, on_cell: ChooseCell | None, *, step: int | None, guess: bool) -> None:
    """Walk through a decode: a slider and a play button, the prefix, ten candidates, and one row of every head's map.

    Args:
        translation: With its maps.
        kind: One of `KINDS_OF_STEPS`, whose rows are shown.
        on_cell: Called with a head, the step and the key of a cell that the visitor chose; None if cells lead nowhere.
        step: The step that is shown at first, counted from 0; else the first step that the model chose.
        guess: Words and candidates are hidden until the visitor asks for them.
    """
    heads = translation.maps[kind].shape[1]

    def choose_cell(cell: Sequence[int]) -> None:  # the session keeps it, so it must not close over the translation
        head, at, chosen_key = map(int, cell)
        if on_cell:
            on_cell(Head(kind, *divmod(head, heads)), at, chosen_key)

    component(
        "stepper",
        "ui/stepper",
        key="stepper",
        force=lambda chosen: run_form.force(int(chosen["position"]), int(chosen["id"])),
        step=lambda position: set_choice("step", int(position) + 1),
        cell=choose_cell,
        data={**stepper_data(translation, kind), "step": step, "guess": guess, "choosable": on_cell is not None},
    )


def stepper_data(translation: Result, kind: str) -> Data:
    """A decode with one kind of maps, as `live/ui/stepper.js` draws it."""
    maps = translation.maps[kind]
    source = translation.source or translation.read[: translation.prompt_length + 1]
    note = t(PROMPT_TOKEN) if translation.prompt_length else t(START_TOKEN, token=translation.written[0].text)
    return {
        "text": "|".join(token.text for token in source),
        "given": translation.prompt_length or int(translation.first_token_fixed),
        "given_note": note,
        "kind": kind,
        "keys": [token.text for token in translation.tokens_of(kind)[1]],
        "languages": {"key": translation.language_of(KINDS[kind].keys), "word": translation.languages[1]},
        "shape": list(maps.shape[:2]),
        "maps": packed(masked_out(maps, translation.mask_of(kind)[:, None])),
        "fixed": False,
        "steps": [
            {"read": read.text, "entropy": written.entropy, "candidates": candidates(written)}
            for read, written in zip(translation.read, translation.written, strict=True)
        ],
    }


def candidates(written: Token) -> list[list[object]]:
    """The candidates of a step: text, probability, id, and whether it was written."""
    best: list[list[object]] = [[c.token, c.probability, c.id, c.id == written.id] for c in written.candidates]
    if not any(candidate.id == written.id for candidate in written.candidates):  # a forced token may be unlikely
        best.append([written.text, written.probability, written.id, True])
    return best


def weights_of_step(translation: Result, kind: str, step: int) -> None:
    """A table of the weights of every head at one step, counted from 0."""
    step = min(step, len(translation.written) - 1)
    numbers(
        {"": partial(step_weights, translation, kind, step)},
        summary=t(
            "At step {n}, the model writes “{token}”. The table shows the attention weights of every head.",
            n=step + 1,
            token=translation.written[step].text,
        ),
        key="stepper",
        alt=t("Attention weights of every head at this step"),
    )


def beam_tree(key: CheckpointKey, run: Run, setting: DeltaGenerator) -> None:
    """Draw beam search as a tree, with its size in the column `setting`; a click on a hypothesis forces its tokens.

    Every hypothesis has the forced tokens of the greedy run.
    """
    with setting:
        search = beam_search(models.config_of(key))
    tree, languages = models.search_tree_of(key, replace(run, search=search)), models.result_of(key, run).languages
    announce(tree.text, languages=languages)
    st.html(sentence(tree.text, languages[1]) if tree.text else sentence(t("(the model wrote nothing)")))
    caption = t(
        "Each box is a hypothesis with its log-probability. At each step, the {n} best are kept (solid) and the others "
        "are pruned (dashed). Green hypotheses have ended. The orange path wins: it has the best mean log-probability "
        "per token. Choose a box to continue from it.",
        n=search.beam_size,
    )
    wide = max(node.depth for node in tree.nodes) > VISIBLE_STEPS
    st.caption(sentences([caption, *([t("Scroll the tree to the right to see its end.")] if wide else [])]))
    number, winner = decimal(len(tree.nodes)), isolated(visible(tree.text))
    numbers(
        {"": partial(pd.DataFrame, [asdict(node) for node in tree.nodes])},
        summary=t("The search scored {n} hypotheses. The winner is “{text}”.", n=number, text=winner),
        key="beam_tree",
        alt=t("The hypotheses of the beam search"),
    )
    alt = t("Tree of a beam search with {n} hypotheses. The winner is “{text}”", n=number, text=winner)
    component(
        "beam_tree",
        "ui/diagrams",
        key="beam_tree",
        pick=lambda node: run_form.force_path(tree, int(node)),
        data={"nodes": [asdict(node) for node in tree.nodes], "lang": languages[1], "alt": alt},
    )
