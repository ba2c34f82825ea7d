"""The ablation board: silence heads, make them uniform, paint a weight, and see the translation change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from model.analysis.importance import all_heads
from model.analysis.silencing import SilencingEffects
from model.config.kinds import KINDS
from model.config.model import ModelConfig
from model.inference.run import Run
from model.interventions import Head, Intervention
from model.text.pair import Text
from viz_app.components.elements.switches import head_switches
from viz_app.components.page_parts import announce
from viz_app.content.translation import N_, t
from viz_app.sections.heads import intervention_choice
from viz_app.sections.heads.before_and_after import before_and_after
from viz_app.sections.heads.head_effects import faces
from viz_app.sections.heads.intervention_choice import head_states, intervention_now, spoken_changes
from viz_app.sections.heads.measured_effects import effects_of, wait_for_effects
from viz_app.sections.heads.painted_weight import paint_weight
from viz_app.services import loading, long_analyses, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import set_choice, settle
from viz_app.session.page_facts import add_fact, describe_changes
from viz_app.widgets.long_work import requested, wait_for

__all__ = ["ablation_board"]

CLICKS = {"silence": N_("Silence it"), "flatten": N_("Make it uniform")}


def ablation_board(key: CheckpointKey, run: Run) -> None:
    """Draw the board, the translation before and after, and the map of one head to paint on.

    Args:
        key: The key of the checkpoint.
        run: The run as trained. Only the changes are added to it.
    """
    heads = all_heads(loading.loaded(key).model)
    task = loading.config_of(key).task
    settle("intervention", Intervention())
    # The session keeps the changes to heads that only another checkpoint has.
    intervention = intervention_now().within(heads)
    changed = replace(run, changes=intervention)
    before, after = results.result_of(key, run), results.result_of(key, changed)
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
    paint_weight(intervention, after, list(dict.fromkeys(head.kind for head in heads)))
    with progress:  # last, so that the board is there while the search goes on
        decisive_group(key, run.text, wanted=search_wanted)
    if measure_wanted:
        with measuring:
            wait_for_effects(key, run.text)


def buttons(key: CheckpointKey, heads: Sequence[Head], intervention: Intervention, *, can_search: bool) -> bool:
    """Draw the controls above the board; returns whether the search for decisive heads was started."""
    settle("click_means", "silence", CLICKS)
    clicks, positions, search, everything, clear = st.columns([2.6, 1.9, 1.6, 1.5, 1.4], vertical_alignment="bottom")
    clicks.segmented_control(
        t("A click on a head"),
        list(CLICKS),
        format_func=lambda click: t(CLICKS[click]),
        required=True,
        key="click_means",
    )
    st.session_state["board_positions"] = intervention.positions  # a link can leave positions out
    positions.toggle(
        t("Positional encoding"),
        key="board_positions",
        disabled=not isinstance(loading.config_of(key).model, ModelConfig),
        on_change=intervention_choice.switch_positions,
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
        on_click=intervention_choice.silence_all,
        args=(tuple(heads),),
        width="stretch",
    )
    clear.button(
        t("Clear changes"),
        icon=":material/restart_alt:",
        disabled=not intervention,
        on_click=intervention_choice.clear_changes,
        width="stretch",
    )
    return wanted


def board(states: Mapping[str, Sequence[Sequence[str]]], effects: SilencingEffects | None) -> None:
    """Draw a button for every head."""
    head_switches(
        states,
        titles={kind: t("{kind}: layers down, heads across", kind=t(KINDS[kind].title)) for kind in states},
        faces=faces(effects) if effects else {},
        key="head_board",
        on_toggle=intervention_choice.toggle,
    )
    st.caption(
        t(
            "✕ silenced: all its weights are 0, so the head adds nothing. ≡ uniform: every key that is not masked gets "
            "the same weight."
        )
    )


def decisive_group(key: CheckpointKey, text: Text, *, wanted: bool) -> None:
    """Search for the heads that decide the translation, and silence them."""
    subject, work = long_analyses.decisive_heads_work(key, text)
    if wanted or requested(subject):
        silenced = wait_for(subject, work, lane="search", step=N_("Translation {done} of {total}."))
        if silenced is not None:
            set_choice("intervention", Intervention(ablated=silenced))
            st.rerun()
