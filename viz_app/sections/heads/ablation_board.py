"""The ablation board: silence heads, make them uniform, paint a weight, and see the translation change."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from model.analysis.importance import all_heads
from model.analysis.silencing import SilencingEffects
from model.config.kinds import KINDS
from model.config.model import ModelConfig
from model.inference.translation import Translation
from model.interventions import Head, Intervention
from viz_app.components.elements.switches import head_switches
from viz_app.components.page_parts import announce
from viz_app.content.plain import plain
from viz_app.sections.heads import intervention_choice
from viz_app.sections.heads.before_and_after import before_and_after
from viz_app.sections.heads.head_effects import decisive_head, effects_sentence, effects_table, faces
from viz_app.sections.heads.intervention_choice import head_name, head_states, intervention_now, spoken_changes
from viz_app.sections.heads.painted_weight import paint_weight
from viz_app.services import analyses, loading, long_analyses, translations
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Run
from viz_app.session.choices import set_choice, settle
from viz_app.session.page_facts import add_fact, describe_changes
from viz_app.widgets.charts import numbers
from viz_app.widgets.long_work import requested, wait_for

__all__ = ["ablation_board"]

CLICKS = {"silence": "Silence it", "flatten": "Make it uniform"}


def ablation_board(key: CheckpointKey, text: str, run: Run) -> None:
    """Draw the board, the translation before and after, and the map of one head to paint on.

    Args:
        key: The key of the checkpoint.
        text: The source.
        run: The search and the forced tokens, the same before and after.
    """
    heads = all_heads(loading.translator(key).model)
    settle("intervention", Intervention())
    # The session keeps the changes to heads that only another checkpoint has.
    intervention = intervention_now().within(heads)
    before = translations.translation_of(key, text, *run)
    after = translations.translation_of(key, text, *run, intervention)
    if intervention:
        add_fact("Changed", describe_changes(intervention))
    add_fact("Translation", after.text)
    search_wanted = buttons(key, heads, intervention, can_search=bool(before.text) and run == Run())
    progress = st.container()
    announce(after.text, sentence=spoken_changes(intervention), languages=after.languages)
    before_and_after(key, text, before, after, intervention)
    board(head_states(heads, intervention), effects_of(key, text, run, before))
    paint_weight(intervention, after, list(dict.fromkeys(head.kind for head in heads)))
    with progress:  # last, so that the board is there while the search goes on
        decisive_group(key, text, wanted=search_wanted)


def buttons(key: CheckpointKey, heads: Sequence[Head], intervention: Intervention, *, can_search: bool) -> bool:
    """Draw the controls above the board; returns whether the search for decisive heads was started."""
    settle("click_means", "silence", CLICKS)
    clicks, positions, search, everything, clear = st.columns([2.6, 1.9, 1.6, 1.5, 1.4], vertical_alignment="bottom")
    clicks.segmented_control(
        "A click on a head", list(CLICKS), format_func=CLICKS.__getitem__, required=True, key="click_means"
    )
    st.session_state["board_positions"] = intervention.positions  # a link can leave positions out
    positions.toggle(
        "Positional encoding",
        key="board_positions",
        disabled=not isinstance(loading.config_of(key).model, ModelConfig),
        on_change=intervention_choice.switch_positions,
        help="Without it, encoder and decoder do not know the position of a token.",
    )
    wanted = search.button(
        "Find what matters",
        disabled=not can_search,
        width="stretch",
        help="Find one head, or a small group of heads, whose removal changes the translation.",
    )
    everything.button(
        "Silence all heads",
        on_click=intervention_choice.change,
        kwargs={"ablated": frozenset(heads), "uniform": frozenset()},
        width="stretch",
    )
    clear.button(
        "Clear changes",
        icon=":material/restart_alt:",
        disabled=not intervention,
        on_click=intervention_choice.clear_changes,
        width="stretch",
    )
    return wanted


def effects_of(key: CheckpointKey, text: str, run: Run, before: Translation) -> SilencingEffects | None:
    """Measure what each head does, and draw the sentence about it; or say why it is not measured."""
    if run != Run():
        st.caption("The effect of each head is measured only for greedy search without forced words.")
        return None
    effects = analyses.head_effects_of(key, text)
    if effects:
        summary(effects, before)
    else:
        st.caption(f"The effect of each head is not measured here. {plain(analyses.why_no_effects(key, text))}")
    return effects


def summary(effects: SilencingEffects, before: Translation) -> None:
    """The effect of each head in a sentence and as a table; and a button for the decisive head."""
    meaning, action, table = st.columns([5.6, 2.1, 1.1], vertical_alignment="center")
    meaning.markdown(effects_sentence(effects))
    if head := decisive_head(effects):
        action.button(
            "Silence the decisive head",
            on_click=intervention_choice.silence,
            args=(head,),
            width="stretch",
            help=f"{head_name(head)}: of the heads marked ≠, it lowers the log-probability most.",
        )
    with table:
        numbers(
            {"": partial(effects_table, effects, [token.text for token in before.written])},
            summary=f"Log-probability as trained: {before.log_prob:.2f}. Each row silences one head.",
            key="head_board",
            alt="What changes when each head is silenced",
        )


def board(states: Mapping[str, Sequence[Sequence[str]]], effects: SilencingEffects | None) -> None:
    """Draw a button for every head."""
    head_switches(
        states,
        titles={kind: f"{KINDS[kind].title}: layers down, heads across" for kind in states},
        faces=faces(effects) if effects else {},
        key="head_board",
        on_toggle=intervention_choice.toggle,
    )
    st.caption(
        "✕ silenced: all its weights are 0, so the head adds nothing. "
        "≡ uniform: every key that is not masked gets the same weight."
    )


def decisive_group(key: CheckpointKey, text: str, *, wanted: bool) -> None:
    """Search for the heads that decide the translation, and silence them."""
    subject, work = long_analyses.decisive_heads_work(key, text)
    if wanted or requested(subject):
        silenced = wait_for(subject, work, lane="search", step="Translation")
        if silenced is not None:
            set_choice("intervention", Intervention(ablated=silenced))
            st.rerun()
