"""A visitor's choices, kept apart from the defaults, and the address of a page, which names them.

Streamlit forgets the value of a widget on pages that do not show it. So the choices are kept here, and each run gives
them to its widgets. A default is never a choice: it depends on the checkpoint. A choice that one page cannot show
stays chosen for the other pages.

The address has no parameters until the visitor chooses something. From then on it names everything that the picture
depends on, defaults included, so that it shows the same picture when our defaults change. Streamlit clears the URL when
the page changes, also with its own `bind="query-params"` (seen in 1.67). So the whole URL is written once per run.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

import streamlit as st

from viz_app.server.server_state import once_per_run
from viz_app.server.streamlit_bridge import went_through_history
from viz_app.session.choice_forms import FORMS, fits_into_a_link, read_texts

__all__ = [
    "Choices",
    "choices",
    "clear_choice",
    "hand_over",
    "publish_choices",
    "read_choices",
    "replace_choices",
    "restore_choices",
    "set_choice",
    "settle",
    "settle_number",
    "show_choice",
    "switched",
]

MOST_OWNERS = 32  # whose choices are kept for a visitor who comes back to them


@dataclass
class Choices:
    """The choices of one visitor, by name."""

    chosen: dict[str, object] = field(default_factory=dict)  # also values that this page cannot show
    defaults: dict[str, object] = field(default_factory=dict)
    shown: dict[str, object] = field(default_factory=dict)  # given to the widgets; another value is a new choice
    settled: dict[str, object] = field(default_factory=dict)  # shown by the page of this run
    published: dict[str, str] | None = None  # last written into the URL
    page: str | None = None
    # Kind of owner → the present one and the names of its choices, see `hand_over`.
    owners: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    put_aside: dict[tuple[str, str], dict[str, object]] = field(default_factory=dict)  # kind and owner → its choices

    def not_default(self) -> dict[str, object]:
        """The choices that differ from their defaults."""
        return {name: value for name, value in self.chosen.items() if value != self.defaults.get(name)}

    def in_link(self) -> dict[str, str]:
        """Everything that the picture depends on and that fits into a link: what the page shows, and all choices."""
        values = {name: value for name, value in self.settled.items() if value} | self.not_default()
        written = {name: form.write(values[name]) for name, form in FORMS.items() if name in values}
        fitting = {name: text for name, text in written.items() if fits_into_a_link(text)}
        left_out = written.keys() - fitting.keys()
        if "text" in left_out:
            fitting.pop("forced", None)  # these tokens belong to the text that the link leaves out
        if left_out & {"text", "review"}:
            fitting.pop("second", None)  # it belongs to a pair
        return fitting


@once_per_run
def choices() -> Choices:
    """The choices of this visitor."""
    kept: Choices = st.session_state.setdefault("choices", Choices())
    return kept


def restore_choices() -> None:
    """Before any widget: take the choices from the URL if it is newer than the session, else from the widgets.

    The URL is newer in the first run, and after the browser's Back or Forward. In other runs a different URL means
    nothing: the browser sent it before it received the latest one.
    """
    first, kept = "choices" not in st.session_state, choices()
    kept.settled = {}
    if first or went_through_history():
        for kind, (owner, names) in kept.owners.items():  # their choices wait, because the address may name others
            put_aside(kind, owner, names)
        kept.owners = {}
        # Back does not lose a choice that is too long for any link.
        too_long = {
            name: value for name, value in kept.chosen.items() if not fits_into_a_link(FORMS[name].write(value))
        }
        kept.chosen = too_long | read_choices(st.query_params.to_dict())
    if went_through_history():
        return  # the widgets still hold older values
    held = set(st.session_state)  # a question for each name would take five times as long
    for name in FORMS:
        if name in held and (name not in kept.shown or st.session_state[name] != kept.shown[name]):
            kept.chosen[name] = st.session_state[name]


def read_choices(written: Mapping[str, str]) -> dict[str, object]:
    """The choices of a link.

    Args:
        written: Name → value, as a link writes it. What no choice could be is left out.
    """
    return read_texts({name: text for name, text in written.items() if fits_into_a_link(text)})


def publish_choices(page: str, *, complete_address: Callable[[str], None]) -> None:
    """After the page: write its choices into the URL, all at once, because each write is a step for Back.

    Args:
        page: The name of the page.
        complete_address: Called with the query of the page, to replace it without a step for Back.
    """
    kept = choices()
    moved, kept.page = kept.page not in (None, page) and not went_through_history(), page
    wanted = kept.in_link() if kept.not_default() else {}  # no parameters until the visitor chooses something
    # Otherwise a newer URL is still on its way to the browser.
    arrived = went_through_history() or kept.published in (None, wanted)
    kept.published = wanted
    if arrived and wanted == st.query_params.to_dict():
        return
    if moved:  # the browser has made a step for the new page already, so complete the URL of this step
        complete_address(urlencode(wanted))
    else:
        st.query_params.from_dict(wanted)


def set_choice(name: str, value: object) -> None:
    """Choose for the visitor: in a callback, or before the widget with this name."""
    choices().chosen[name] = st.session_state[name] = value


def clear_choice(name: str) -> None:
    """Remove a choice, before the widget with this name."""
    choices().chosen.pop(name, None)
    st.session_state.pop(name, None)


def hand_over(kind: str, owner: str, names: Sequence[str]) -> bool:
    """Let choices belong to what they change. A new owner gets its own choices; those of the last owner wait for it.

    Args:
        kind: Of the owner, such as "checkpoint".
        owner: Whom the choices of this run belong to. The first one after a link or Back keeps those of the address.
        names: The choices, before their widgets.

    Returns:
        Whether the owner is new.
    """
    kept = choices()
    last, _ = kept.owners.get(kind, ("", ()))
    kept.owners[kind] = owner, names
    if last == owner:
        return False
    waiting = kept.put_aside.pop((kind, owner), {})
    if last:
        put_aside(kind, last, names)
    for name, value in waiting.items():
        # An address names every choice that fits into it.
        if last or (name not in kept.chosen and not fits_into_a_link(FORMS[name].write(value))):
            set_choice(name, value)
    return True


def put_aside(kind: str, owner: str, names: Sequence[str]) -> None:
    kept = choices()
    kept.put_aside[kind, owner] = {name: kept.chosen[name] for name in names if name in kept.chosen}
    for name in names:
        clear_choice(name)
    while len(kept.put_aside) > MOST_OWNERS:
        del kept.put_aside[next(iter(kept.put_aside))]


def replace_choices(chosen: Mapping[str, object]) -> None:
    """Before `turn`: choose exactly this. The address gets one step for Back, as after any other choice."""
    page = choices().page
    for name in FORMS:
        st.session_state.pop(name, None)
    st.session_state["choices"] = Choices(chosen=dict(chosen), page=page)


def settle(name: str, default: object, allowed: Container[object] | None = None) -> None:
    """Give a widget its value before it is drawn: the choice, or the default where there is no allowed choice.

    Args:
        name: The key of the widget.
        default: The value without a choice.
        allowed: The values that this page can show; None for all.
    """
    chosen = choices().chosen.get(name, default)
    give(name, chosen if allowed is None or chosen in allowed else default, default)


def switched(name: str) -> bool:
    """Whether a switch is on. A page can ask before it draws the switch, and again after it."""
    if name not in choices().settled:
        settle(name, False)
    return bool(st.session_state[name])


def settle_number(name: str, default: float, low: float, high: float) -> None:
    """As `settle`, for a slider: a choice outside its range moves to the nearer end."""
    give(name, min(max(float(str(choices().chosen.get(name, default))), low), high), default)


def show_choice(name: str, value: object) -> None:
    """Give a widget its value where the default belongs to the visitor. A link names only what the visitor chose."""
    choices().shown[name] = st.session_state[name] = value


def give(name: str, value: object, default: object) -> None:
    """Give a widget its value for this run. The choice itself stays for pages that can show it."""
    kept = choices()
    kept.defaults[name] = default
    kept.settled[name] = kept.shown[name] = st.session_state[name] = value
