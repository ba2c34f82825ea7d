"""The ablation board: silence heads, make them uniform, paint a weight, and see the translation change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.importance import all_heads
from model.analysis.silencing import SilencingEffects, decisive_heads, silence_each_head
from model.config.kinds import KINDS
from model.config.model import ModelConfig
from model.inference.run import Result, Run
from model.interventions import Head, Intervention
from model.text.pair import Text
from viz_app.components.mounting import Data, component
from viz_app.components.page_parts import add_fact, announce
from viz_app.content.examples import demonstration_for
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import plain, visible
from viz_app.content.tasks import about_task
from viz_app.content.translation import N_, t, worded
from viz_app.figures.colours import LEVELS, NOT_A_NUMBER, ink, palette
from viz_app.sections.heads.intervention_choice import (
    change,
    describe_changes,
    head_name,
    head_states,
    intervention_now,
    paint_weight,
    spoken_changes,
    switch_positions,
    toggle,
)
from viz_app.sections.sentiment import require_run_or_review
from viz_app.server.server_state import JOBS
from viz_app.services import analyses, models
from viz_app.services.analyses import Analysis
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import numbers
from viz_app.widgets.choosing import choose
from viz_app.widgets.forced_words import forced_words_note
from viz_app.widgets.headings import grade_line
from viz_app.widgets.long_work import duration_text, requested, wait_for
from viz_app.widgets.marked_text import compared

__all__ = ["CLICKS", "ablation_board"]

MOST_SECONDS = 3.0  # of a measurement without a job
COUNTED = "head_board_counted"  # in the session: how many clicks of a board have changed a head
CLICKS = {"silence": N_("Silence it"), "flatten": N_("Make it uniform")}


def before_and_after(key: CheckpointKey, trained: Run, changed: Run) -> None:
    """Compare the two texts and their log-probabilities; stands above the board, which is long on a telephone."""
    before, after = models.result_of(key, trained), models.result_of(key, changed)
    if before.text:
        st.html(compared([(t("as trained"), before.text), (t("changed"), after.text)], languages=after.languages[1:]))
    else:
        mask = getattr(models.config_of(key).tokenizer, "mask", "")
        st.info(
            t("This model writes nothing. The map below shows the effect of your changes.")
            if mask
            else t("An encoder without an output layer writes nothing. The map below shows the effect of your changes.")
        )
        if mask:
            st.caption(t("Replace a word by {mask}, and the model guesses that word.", mask=plain(mask)))
    if models.config_of(key).task == "classification":
        class_before_and_after(key, trained, changed)
    if before.written:
        old = before.log_prob
        same = tuple((position, token.id) for position, token in enumerate(before.written))
        rescored = Run(text=changed.text, forced=same, changes=changed.changes)
        new = models.log_prob_of(key, rescored) if changed.changes else old
        numbers = {"before": f"{old:.2f}", "after": f"{new:.2f}", "change": f"{new - old:+.2f}"}
        st.caption(about_task("continuation" if before.prompt_length else "translation", "log_probability", **numbers))


def class_before_and_after(key: CheckpointKey, trained: Run, changed: Run) -> None:
    """How likely the class as trained is before and after the changes."""
    label = models.result_of(key, trained).text
    before, after = (models.classification_of(key, run).probabilities[label] for run in (trained, changed))
    old, new = (models.log_odds_of_label(key, run, label) for run in (trained, changed))
    st.caption(
        t(
            "The model as trained gives “{label}” the probability {before} (log-odds {old}). The changed model gives "
            "it {after} (log-odds {new}: {change} nats).",
            label=plain(visible(label)),
            before=f"{before:.3f}",
            old=f"{old:.2f}",
            after=f"{after:.3f}",
            new=f"{new:.2f}",
            change=f"{new - old:+.2f}",
        )
    )


def largest_change(effects: SilencingEffects) -> float:
    """Over all heads, up or down, in nats; the ends of the colour scale."""
    return max(float(np.abs(grid[np.isfinite(grid)]).max(initial=0.0)) for grid in effects.changes.values())


def faces(effects: SilencingEffects) -> dict[str, list[list[Data]]]:
    """Kind → (L, H): the colours of a head's button, the effect of silencing it in words, whether a word changes."""
    bound = max(largest_change(effects), 1e-6)
    colours = ["#" + bytes(row[:3]).hex() for row in palette(signed=True)]

    def face(change: float, position: int) -> Data:
        colour, note = NOT_A_NUMBER, t("not a number")
        if isfinite(change):
            colour = colours[round((change / bound + 1) / 2 * (LEVELS - 1))]
            note = (
                t("{change} nats when silenced; token {n} changes", change=f"{change:+.3f}", n=position + 1)
                if position >= 0
                else t("{change} nats when silenced", change=f"{change:+.3f}")
            )
        return {"colour": colour, "ink": ink(colour), "note": note, "decides": position >= 0}

    return {
        kind: [
            [face(float(change), int(position)) for change, position in zip(changes, positions, strict=True)]
            for changes, positions in zip(grid, effects.positions[kind], strict=True)
        ]
        for kind, grid in effects.changes.items()
    }


def effects_sentence(effects: SilencingEffects, task: str) -> str:
    """The meaning of the board's colours, and the number of heads that change the result when silenced alone."""
    positions = np.concatenate([grid.ravel() for grid in effects.positions.values()])
    return sentences(
        [
            about_task(task, "colours"),
            about_task(task, "effect", change=decimal(largest_change(effects), digits=2)),
            about_task(task, "sign", n=int((positions >= 0).sum()), all=len(positions)),
        ]
    )


def decisive_head(effects: SilencingEffects) -> Head | None:
    """Of the heads that change the text alone, the one that lowers its log-probability most; None without any."""
    candidates = [
        (float(grid[layer, head]), Head(kind, layer, head))
        for kind, grid in effects.changes.items()
        for layer, head in np.argwhere((effects.positions[kind] >= 0) & np.isfinite(grid)).tolist()
    ]
    return min(candidates)[1] if candidates else None


def effects_table(effects: SilencingEffects, written: Sequence[str]) -> pd.DataFrame:
    """One row per head, the largest fall of the log-probability first. `written` has the tokens that can change."""
    rows = [
        {
            t("attention"): t(KINDS[kind].title),
            t("layer"): layer + 1,
            t("head"): head + 1,
            t("change (nats)"): float(change),
            t("first token that changes"): written[position] if position >= 0 else "",
        }
        for kind, grid in effects.changes.items()
        for ((layer, head), change), position in zip(
            np.ndenumerate(grid), effects.positions[kind].ravel().tolist(), strict=True
        )
    ]
    return pd.DataFrame(rows).sort_values(t("change (nats)"), ignore_index=True)


def effects_of(key: CheckpointKey, run: Run) -> tuple[SilencingEffects | None, bool]:
    """Draw the sentence about the effect of each head, or say why there is none.

    The effects are measured at once where it is quick, else in a job that the visitor starts.

    Returns:
        The effects, or None; and whether this visitor waits for a job that measures them.
    """
    text = run.text
    if run != run.usual:
        st.caption(t("The effect of each head is measured only for greedy search without forced words."))
        return None, False
    if reason := analyses.why_no_effects(key, text):
        st.caption(sentences([t("The effect of each head is not measured here."), plain(worded(reason))]))
        return None, False
    seconds = analyses.seconds_of_effects(key, text)
    analysis = Analysis.of(silence_each_head, key, Run(text=text))
    effects = analysis.answer() if seconds <= MOST_SECONDS else analysis.known()
    if effects is None:
        return None, requests_effects(key, text, seconds)
    summary(effects, models.result_of(key, run), models.config_of(key).task)
    return effects, False


def requests_effects(key: CheckpointKey, text: Text, seconds: float) -> bool:
    """Offer to measure the effects in a job, with the time that it takes; whether this visitor waits for it."""
    if seconds > JOBS.lanes["effects"].seconds:
        st.caption(
            t(
                "The effect of each head is not measured here. {checkpoint} would need {time} with this text. Shorten "
                "the text.",
                checkpoint=plain(key.name),
                time=duration_text(seconds),
            )
        )
        return False
    if requested(Analysis.of(silence_each_head, key, Run(text=text))):
        return True
    meaning, action = st.columns([5.6, 2.1], vertical_alignment="center")
    meaning.caption(
        t(
            "The effect of each head is not measured yet. {checkpoint} needs {time} with this text.",
            checkpoint=plain(key.name),
            time=duration_text(seconds),
        )
    )
    return action.button(t("Measure each head"), icon=":material/play_arrow:", key="measure_effects", width="stretch")


def summary(effects: SilencingEffects, before: Result, task: str) -> None:
    """The effect of each head in a sentence and as a table; and a button for the decisive head."""
    meaning, action, table = st.columns([5.6, 2.1, 1.1], vertical_alignment="center")
    meaning.markdown(effects_sentence(effects, task))
    if head := decisive_head(effects):
        action.button(
            t("Silence the decisive head"),
            on_click=set_choice,
            args=("intervention", Intervention(ablated=frozenset({head}))),
            width="stretch",
            help=about_task(task, "decisive", head=head_name(head)),
        )
    with table:
        numbers(
            {"": partial(effects_table, effects, changing_tokens(before, task))},
            summary=t("Each row silences one head."),
            key="head_board",
            alt=t("What changes when each head is silenced"),
        )


def changing_tokens(before: Result, task: str) -> list[str]:
    """The tokens that can change first, by their position."""
    if task == "classification":
        return [before.text]
    return [token.label for token in before.written or before.source]


def ablation_board(key: CheckpointKey) -> None:
    """Ask for a text; draw the board, the translation before and after, and the map of one head to paint on.

    Only the changes are added to the run as trained.
    """
    if read_only := analyses.why_read_only(key):
        hint = t("The tabs “What heads do” and “Alignment” show what its heads do.")
        end_page(sentences([plain(worded(read_only)), hint]))
    config = models.config_of(key)
    run = require_run_or_review(key, opening=demonstration_for(config).heads)
    if run.forced:
        forced_words_note(key, run)
    heads, task = all_heads(models.loaded(key).model), config.task
    settle("intervention", Intervention())
    # The session keeps the changes to heads that only another checkpoint has.
    intervention = intervention_now().within(heads)
    changed = replace(run, changes=intervention)
    before, after = models.result_of(key, run), models.result_of(key, changed)
    if intervention:
        add_fact(t("Changed"), describe_changes(intervention))
    add_fact(t("Class") if task == "classification" else t("Translation"), after.text)
    search_wanted = buttons(
        key, heads, intervention, can_search=bool(before.text) and run == run.usual and task != "reading"
    )
    progress = st.container()
    announce(after.text, sentence=spoken_changes(intervention), languages=after.languages)
    before_and_after(key, run, changed)
    measuring = st.container()
    with measuring:
        effects, measure_wanted = effects_of(key, run)
    board(head_states(heads, intervention), effects)
    paint_weight(key, intervention, after, list(dict.fromkeys(head.kind for head in heads)))
    with progress:  # last, so that the board is there while the search goes on
        decisive_group(key, run.text, wanted=search_wanted)
    if measure_wanted:
        with measuring:
            work = Analysis.of(silence_each_head, key, Run(text=run.text)).work()
            if wait_for(*work, lane="effects", step=N_("Head {done} of {total}.")) is not None:
                st.rerun()


def buttons(key: CheckpointKey, heads: Sequence[Head], intervention: Intervention, *, can_search: bool) -> bool:
    """Draw the controls above the board; returns whether the search for decisive heads was started."""
    clicks, positions, search, everything, clear = st.columns([2.6, 1.9, 1.6, 1.5, 1.4], vertical_alignment="bottom")
    meanings = {name: t(label) for name, label in CLICKS.items()}
    choose(t("A click on a head"), meanings, key="click_means", place=clicks)
    st.session_state["board_positions"] = intervention.positions  # a link can leave positions out
    positions.toggle(
        t("Positional encoding"),
        key="board_positions",
        disabled=not isinstance(models.config_of(key).model, ModelConfig),
        on_change=switch_positions,
        help=t("Without it, encoder and decoder do not know the position of a token."),
    )
    wanted = search.button(
        t("Find what matters"),
        disabled=not can_search,
        width="stretch",
        help=t("Find one head, or a small group of heads, that the result depends on."),
    )
    everything.button(
        t("Silence all heads"),
        on_click=change,
        kwargs={"ablated": frozenset(heads), "uniform": frozenset()},
        width="stretch",
    )
    clear.button(
        t("Clear changes"),
        icon=":material/restart_alt:",
        disabled=not intervention,
        on_click=set_choice,
        args=("intervention", Intervention()),
        width="stretch",
    )
    return wanted


def board(states: Mapping[str, Sequence[Sequence[str]]], effects: SilencingEffects | None) -> None:
    """Draw a button for every head; kind → (L, H) of `head_states`."""
    measured = faces(effects) if effects else {}
    boards = [
        {
            "kind": kind,
            "name": KINDS[kind].full_name,
            "title": t("{kind}: layers down, heads across", kind=t(KINDS[kind].title)),
            "states": rows,
            "faces": measured.get(kind, []),
        }
        for kind, rows in states.items()
    ]
    data = {"counted": st.session_state.get(COUNTED, {}), "boards": boards}
    component("head_switches", "ui/head_switches", key="head_board", clicks=take_clicks, data=data)
    st.caption(
        t(
            "✕ silenced: all its weights are 0, so the head adds nothing. ≡ uniform: every key that is not masked gets "
            "the same weight."
        )
    )
    grade_line("search")


def take_clicks(sent: Mapping[str, Any]) -> None:
    """Callback of the board: change the head of each click that was not counted yet, the oldest first."""
    counted, first = st.session_state.get(COUNTED, {}), int(sent["first"])
    done = max(counted["clicks"] - first, 0) if counted.get("board") == sent["board"] else 0
    st.session_state[COUNTED] = {"board": sent["board"], "clicks": first + max(len(sent["places"]), done)}
    for kind, layer, head in sent["places"][done:]:
        toggle(str(kind), int(layer), int(head))


def decisive_group(key: CheckpointKey, text: Text, *, wanted: bool) -> None:
    """Search for the heads that decide the translation, and silence them."""
    analysis = Analysis.of(decisive_heads, key, Run(text=text))
    if wanted or requested(analysis):
        silenced = wait_for(*analysis.work(), lane="search", step=N_("Translation {done} of {total}."))
        if silenced:
            set_choice("intervention", Intervention(ablated=silenced))
            st.rerun()
        if silenced is not None:
            st.info(t("The result depends on no head: it stays the same when all heads are silenced."))
