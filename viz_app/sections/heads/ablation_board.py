"""The ablation board: switch heads off, flatten them, paint a weight, and see what the translation becomes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from model.analysis.importance import all_heads
from model.analysis.silencing import Effects
from model.config.kinds import KINDS
from model.config.model import ModelConfig
from model.inference.translation import Translation
from model.interventions import Head, Intervention, PaintedCell
from viz_app.components import elements
from viz_app.components.attention_view import view
from viz_app.components.page_parts import told
from viz_app.content.plain import plain
from viz_app.figures.attention import MAX_SQUARES, clickable_map
from viz_app.sections.heads.head_effects import decisive_head, effects_sentence, effects_table, faces
from viz_app.services import analyses, loading, long_analyses, results
from viz_app.services.listing import CheckpointKey
from viz_app.services.results import Run
from viz_app.session.choices import set_choice, settle, settle_number
from viz_app.session.page_facts import add_fact, describe_changes
from viz_app.widgets.charts import draw, numbers
from viz_app.widgets.chips import compared
from viz_app.widgets.head_picker import pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import asked_for, wait_for

__all__ = ["ablation_board"]

MAX_TOLD = 6  # heads that are named
CLICKS = {"silence": "silences it", "flatten": "makes it uniform"}


def ablation_board(key: CheckpointKey, text: str, run: Run) -> None:
    """Draw the board, the translation before and after, and the map of one head to paint on.

    Args:
        key: Of the checkpoint.
        text: What it translates.
        run: How, before and after.
    """
    heads = all_heads(loading.translator(key).model)
    settle("intervention", Intervention())
    intervention = now().within(heads)  # what other checkpoints have is kept for them
    before = results.translation_of(key, text, *run)
    after = results.translation_of(key, text, *run, intervention)
    if intervention:
        add_fact("Changed", describe_changes(intervention))
    add_fact("Translation", after.text)

    settle("click_means", "silence", CLICKS)
    modes, places, one, everything, nothing = st.columns([2.6, 1.9, 1.7, 1.2, 1.3], vertical_alignment="bottom")
    modes.segmented_control(
        "Choosing a head", list(CLICKS), format_func=CLICKS.__getitem__, required=True, key="click_means"
    )
    st.session_state["board_positions"] = intervention.positions  # a link may switch them off
    places.toggle(
        "Positional encoding",
        key="board_positions",
        disabled=not isinstance(loading.config_of(key).model, ModelConfig),
        on_change=switch_positions,
        help="Switched off, encoder and decoder cannot tell where a token stands.",
    )
    wants = one.button(
        "Find what matters",
        disabled=not before.text or run != Run(),
        width="stretch",
        help="Find one head, or a small group of heads, whose removal changes the translation.",
    )
    everything.button(
        "All heads off", on_click=change, kwargs={"ablated": frozenset(heads), "uniform": frozenset()}, width="stretch"
    )
    nothing.button(
        "As trained",
        icon=":material/restart_alt:",
        disabled=not intervention,
        on_click=set_choice,
        args=("intervention", Intervention()),
        width="stretch",
    )
    progress = st.container()
    told(after.text, says=said(intervention), languages=after.languages)
    what_became(key, text, before, after, intervention)
    board = states(heads, intervention)
    effects = analyses.head_effects_of(key, text) if run == Run() else None
    if effects:
        offer_effects(effects, before)
    elif run == Run():
        st.caption(f"What each head does is not measured here: {plain(analyses.why_no_effects(key, text))}")
    if run != Run():
        st.caption("What each head does is measured for greedy translations without forced words.")
    elements.head_board(
        board,
        titles={kind: f"{KINDS[kind].title}: layers down, heads across" for kind in board},
        faces=faces(effects) if effects else {},
        key="head_board",
        on_toggle=toggle,
    )
    st.caption("✕ silenced: its weights are 0, so it adds nothing. ≡ uniform: it looks at every allowed key equally.")
    paint(intervention, after, list(board))
    with progress:  # last, so that the board is there while the search goes on
        search(key, text, wanted=wants)


def what_became(
    key: CheckpointKey, text: str, before: Translation, after: Translation, intervention: Intervention
) -> None:
    """The text as trained and as changed: near the buttons, and above the board, which is long on a telephone."""
    if before.text:
        st.html(compared([("as trained", before.text), ("changed", after.text)], languages=after.languages[1:]))
    else:
        mask = getattr(loading.config_of(key).tokenizer, "mask", "")
        st.info(
            "This model writes nothing; the map below shows what becomes of it."
            + (f" Put {plain(mask)} in the place of a word, and it says what may stand there." if mask else "")
        )
    if before.written:
        old, new = before.log_prob, (rescored(key, text, before, intervention) if intervention else before).log_prob
        st.caption(
            f"The {'text' if before.given else 'translation'} as trained had a log-probability of {old:.2f}; the "
            f"changed model gives it {new:.2f} ({new - old:+.2f} nats)."
        )


def search(key: CheckpointKey, text: str, *, wanted: bool) -> None:
    """Find what matters, from the click to the result, which becomes the intervention."""
    subject, work = long_analyses.finding_work(key, text)
    if wanted or asked_for(subject):
        silenced = wait_for(subject, work, lane="search", step="Translation")
        if silenced is not None:
            set_choice("intervention", Intervention(ablated=silenced))
            st.rerun()


def offer_effects(effects: Effects, before: Translation) -> None:
    """What each head does alone, in a sentence and as a table; and a button for the one that decides most."""
    what = "text" if before.given else "translation"
    means, action, table = st.columns([6, 1.8, 1.1], vertical_alignment="center")
    means.markdown(effects_sentence(effects, what=what))
    if head := decisive_head(effects):
        action.button(
            "Silence the main ≠",
            on_click=silence,
            args=(head,),
            width="stretch",
            help=f"{named(head)}: of the heads that change the {what} alone, it needs this one most.",
        )
    with table:
        numbers(
            {"": partial(effects_table, effects, [token.text for token in before.written])},
            summary=f"Log-probability of the {what} as trained: {before.log_prob:.2f}. Each row silences one head.",
            key="head_board",
            alt=f"What silencing each head does to the {what}",
        )


def silence(head: Head) -> None:
    """Callback: this head is off, the others are on."""
    set_choice("intervention", Intervention(ablated=frozenset({head})))


def named(head: Head) -> str:
    return f"{KINDS[head.kind].title} layer {head.layer + 1} head {head.head + 1}"


def said(intervention: Intervention) -> str:
    """Which heads are changed, for who listens; of many, how many."""
    told = []
    for name, heads in (("Silenced", intervention.ablated), ("Uniform", intervention.uniform)):
        places = [named(head) for head in sorted(heads)]
        told += [f"{name}: {'; '.join(places) if len(places) <= MAX_TOLD else f'{len(places)} heads'}."] * bool(heads)
    return " ".join(told)


def now() -> Intervention:
    """This visitor's intervention; a callback reads it here, as the page may show an older one."""
    found: Intervention = st.session_state["intervention"]
    return found


def change(**changes: Any) -> None:
    """Replace parts of this visitor's intervention."""
    set_choice("intervention", replace(now(), **changes))


def toggle(kind: str, layer: int, number: int) -> None:
    """Callback of the board: change a head as a click does now, or take its change back."""
    head = Head(kind, layer, number)
    flattens = st.session_state["click_means"] == "flatten"
    name, other = ("uniform", "ablated") if flattens else ("ablated", "uniform")
    change(**{name: getattr(now(), name) ^ {head}, other: getattr(now(), other) - {head}})


def switch_positions() -> None:
    change(positions=st.session_state["board_positions"])


def paint_cell(head: Head) -> None:
    """Callback of the map of this head: the cell that was clicked gets the new weight."""
    points = st.session_state["paint_map"].selection.points
    if points:
        query, at = points[0]["customdata"]
        others = {cell for cell in now().painted if (cell.head, cell.query) != (head, query)}
        weight = st.session_state["painted_weight"]
        change(painted=frozenset(others | {PaintedCell(head, query, at, weight)}))


def paint(intervention: Intervention, after: Translation, kinds: Sequence[str]) -> None:
    """Let a person set single weights of one head of a translation made under `intervention`."""
    section(
        "Paint a weight",
        "Choose its new value, then a cell: the rest of the row shares what is left. The map "
        "is the model's own, after all changes.",
    )
    *columns, value, clear = picker_columns("kind", "head", "slider", "button")
    kind, layer, number = pick_kind_and_head(columns, {kind: after.maps[kind].shape[:2] for kind in kinds})
    shown = view(after, kind, merge=False, hide_special=False)
    settle_number("painted_weight", 1.0, 0.0, 1.0)
    value.slider("New weight", 0.0, 1.0, step=0.05, key="painted_weight")
    head = Head(kind, layer, number)
    clear.button(
        "Wash off",
        disabled=not intervention.painted,
        on_click=change,
        kwargs={"painted": frozenset()},
        width="stretch",
        help="Take every painted weight back.",
    )

    draw(
        clickable_map(np.asarray(shown.maps[layer, number]), shown.axes, shown.allowed[layer], height=380),
        key="paint_map",
        fills=True,
        on_select=partial(paint_cell, head),
        alt=f"Attention weights of layer {layer + 1}, head {number + 1}; choose a cell to paint it",
    )
    if shown.allowed[layer].sum() > MAX_SQUARES:
        st.caption(f"Of a map as large as this, the {MAX_SQUARES:,} largest weights can be chosen.")
    painted = sorted(intervention.painted, key=lambda cell: (cell.head, cell.query))
    idle = {cell: reason for cell in painted if (reason := why_idle(cell, after))}
    if len(idle) < len(painted):
        st.caption(f"Painted: {'; '.join(described(cell) for cell in painted if cell not in idle)}.")
    if idle:
        st.caption(f"Without effect: {'; '.join(f'{described(cell)} ({why})' for cell, why in idle.items())}.")


def described(cell: PaintedCell) -> str:
    return f"{named(cell.head)}, row {cell.query + 1}, column {cell.key + 1}: {cell.weight:g}"


def why_idle(cell: PaintedCell, translation: Translation) -> str:
    """Why a painted cell changes nothing in this translation, or nothing where it does."""
    maps = translation.maps[cell.head.kind]
    queries, keys = maps.shape[2:]
    if cell.query >= queries or cell.key >= keys:
        return f"here are {queries} rows and {keys} columns"
    if not translation.allowed(cell.head.kind)[cell.head.layer, cell.query, cell.key]:
        return "the mask forbids this cell"
    has = cell.weight_in(maps) or 0.0
    if abs(has - cell.weight) < 1e-6:
        return ""
    # A head is silenced after it was painted.
    return "the only key of its row keeps all the weight" if has > cell.weight else "its head is silenced"


def states(heads: list[Head], intervention: Intervention) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {head.kind: [] for head in heads}
    for head in heads:
        rows = found[head.kind]
        if head.head == 0:
            rows.append([])
        rows[-1].append("off" if head in intervention.ablated else "uniform" if head in intervention.uniform else "on")
    return found


def rescored(key: CheckpointKey, text: str, before: Translation, intervention: Intervention) -> Translation:
    """The translation as trained, token by token, with the probabilities that the changed model gives it."""
    forced = tuple((at, token.id) for at, token in enumerate(before.written))
    return results.translation_of(key, text, forced=forced, intervention=intervention)
