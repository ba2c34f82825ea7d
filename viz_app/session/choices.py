"""What a visitor chose, kept apart from what is default. The URL is one rendering of it, so that a link shows a state.

Streamlit forgets a widget's value on pages that do not show it, and clears the URL on a page switch, its own
`bind="query-params"` included (seen in 1.67). So the choices are kept here and given to the widgets anew in every run.
A default is never a choice: it follows the checkpoint. What a page cannot show stays chosen for the other pages.

The address of a page is bare until something is chosen. From then on it names all that the picture depends on, defaults
included, so that it shows the same picture when our defaults are others. Ids in it never change; labels may.
"""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import streamlit as st

from model.config.kinds import KINDS
from model.interventions import Intervention
from viz_app.content.examples import BATCHES
from viz_app.server.streamlit_bridge import went_through_history

__all__ = [
    "choices",
    "choose_by_index",
    "clear_choice",
    "clear_choices",
    "fits_into_a_link",
    "publish_choices",
    "restore_choices",
    "set_choice",
    "settle",
    "settle_number",
]

MAX_IN_URL = 2_000  # characters of one choice as the URL writes them: servers take some 8,000 for all of it


@dataclass(frozen=True)
class Form:
    """How a choice is written in the URL; `read` gives None for what makes no sense."""

    read: Callable[[str], object | None]
    write: Callable[[Any], str] = str


def switch(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())


def whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else None


def fraction(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,3}(\.\d{1,4})?", text, re.ASCII) else None


def forced(text: str) -> tuple[tuple[int, int], ...] | None:
    """`translations.Forced` from position.token, one or several."""
    if not re.fullmatch(r"\d{1,4}\.\d{1,7}(-\d{1,4}\.\d{1,7})*", text, re.ASCII):
        return None
    return tuple((int(at), int(token)) for at, _, token in (part.partition(".") for part in text.split("-")))


def intervention(text: str) -> Intervention | None:
    try:
        return Intervention.from_code(text)
    except ValueError:
        return None


TEXT, WHOLE, FRACTION = Form(str), Form(whole), Form(fraction)
SWITCH = Form(switch, lambda value: str(value).lower())
FORCED = Form(forced, lambda pairs: "-".join(f"{at}.{token}" for at, token in pairs))
INTERVENTION = Form(intervention, Intervention.code)
# Links once named tabs by their labels. A tab keeps its id here when its label changes.
OLD_TABS = {
    "One head": "head",
    "Every station": "stations",
    "What each layer would say": "layers",
    "Why this word?": "why",
    "Read or guessed?": "read",
    "Ablation board": "board",
    "What heads do": "roles",
    "Importance": "importance",
    "Alignment": "alignment",
    "Paste a head": "paste",
    "As it should be": "right",
    "Bug lab": "bugs",
    "The matrix": "matrix",
    "Waves and counters": "waves",
    "Distances and rotation": "distances",
    "In a sentence": "sentence",
    "Model card": "card",
    "Training curves": "curves",
    "Parameters": "parameters",
    "Configuration": "configuration",
}
TAB = Form(lambda text: OLD_TABS.get(text, text))
TABS = "position_tab mask_tab heads_tab checkpoint_tab inside_tab"
NUMBERS = """rival first_place station_layer station_place window_row window_column beam_size top_k seed query
    length width base shift shuffle sentence step toy_longest toy_width toy_heads toy_layers"""
WORDS = """checkpoint from_language into_language text kind view method steps_view steps_kind layer head
    review_layer review_head mask_kind metric sentences_from pasted click_means review reading bug
    compare beside second_text giver
    pasted_kind stack beside_layer beside_head toy
    trained_layer trained_head typed snapshot"""
# Every choice that follows a visitor and stands in a link, by the key of its widget.
FORMS: dict[str, Form] = {
    **dict.fromkeys(WORDS.split(), TEXT),
    **dict.fromkeys(TABS.split(), TAB),
    **dict.fromkeys((f"pasted_{kind}_{part}" for kind in KINDS for part in ("layer", "head")), TEXT),
    **dict.fromkeys((f"batch_{language}_{i}" for language in BATCHES for i in range(1, 5)), TEXT),
    **dict.fromkeys(NUMBERS.split(), WHOLE),
    **dict.fromkeys(("temperature", "top_p", "head_temperature", "painted_weight"), FRACTION),
    **dict.fromkeys(
        (
            "norms",
            "scaled",
            "logarithmic",
            "merge",
            "hide_special",
            "same_words",
            "shares",
            "guess",
            "present",
            "station_code",
        ),
        SWITCH,
    ),
    "forced": FORCED,
    "intervention": INTERVENTION,
}


@dataclass
class Choices:
    """Of one visitor, by name."""

    chosen: dict[str, object] = field(default_factory=dict)  # as wanted, whether or not this page can show it
    defaults: dict[str, object] = field(default_factory=dict)
    shown: dict[str, object] = field(default_factory=dict)  # as given to the widgets; what differs is newly chosen
    settled: dict[str, object] = field(default_factory=dict)  # what the page of this run shows
    published: dict[str, str] | None = None  # what was last written into the URL
    page: str | None = None
    subject: str | None = None  # what tokens are forced for; None: for whatever the page turns out to be about

    def own(self) -> dict[str, object]:
        """The choices that differ from their defaults."""
        return {name: value for name, value in self.chosen.items() if value != self.defaults.get(name)}

    def in_link(self) -> dict[str, str]:
        """All that the picture depends on, as far as a link can hold it: what the page shows, and what was chosen."""
        values = {name: value for name, value in self.settled.items() if value} | self.own()
        written = {name: form.write(values[name]) for name, form in FORMS.items() if name in values}
        found = {name: text for name, text in written.items() if fits_into_a_link(text)}
        if "text" in written and "text" not in found:
            found.pop("forced", None)  # tokens forced into the translation of a text that the link does not hold
        return found

    def in_url(self) -> dict[str, str]:
        """What the address of the page says: nothing as long as nothing is chosen."""
        return self.in_link() if self.own() else {}


def choices() -> Choices:
    """Those of this visitor."""
    kept: Choices = st.session_state.setdefault("choices", Choices())
    return kept


def fits_into_a_link(text: str) -> bool:
    return len(quote(text)) <= MAX_IN_URL


def went_back() -> bool:
    """Whether this run is the browser's Back or Forward; only then, and at first, the URL is newer than the session.

    A URL that merely differs from the one last written is no sign: it is what a browser sends that has not heard yet.
    """
    return went_through_history()


def restore_choices() -> None:
    """Before any widget: take the choices from the URL where it is newer, else what was chosen since the last run."""
    first, kept = "choices" not in st.session_state, choices()
    kept.settled = {}
    if first or went_back():
        # What no link can hold is not lost by going back.
        held = {name: value for name, value in kept.chosen.items() if not fits_into_a_link(FORMS[name].write(value))}
        kept.chosen, kept.subject = held | from_url(), None
    if went_back():
        return  # what the widgets hold is older
    for name in FORMS:
        if name in st.session_state and (name not in kept.shown or st.session_state[name] != kept.shown[name]):
            kept.chosen[name] = st.session_state[name]


def from_url() -> dict[str, object]:
    given = {
        name: FORMS[name].read(text)
        for name, text in st.query_params.to_dict().items()
        if name in FORMS and fits_into_a_link(text)
    }
    return {name: value for name, value in given.items() if value is not None}


def set_choice(name: str, value: object) -> None:
    """Choose in a visitor's place, in a callback or before the widget of this name."""
    choices().chosen[name] = st.session_state[name] = value


def choose_by_index(name: str, values: Sequence[str], index: int) -> None:
    """Callback: choose the value with this index, counted from 0. It keeps nothing of its page alive but the values."""
    set_choice(name, values[index])


def clear_choice(name: str) -> None:
    """Before the widget of this name: nothing is chosen."""
    choices().chosen.pop(name, None)
    st.session_state.pop(name, None)


def settle(name: str, default: object, allowed: Container[object] | None = None) -> None:
    """Before a widget: give it what was chosen, or the default where nothing was, or nothing that is allowed here."""
    chosen = choices().chosen.get(name, default)
    give(name, chosen if allowed is None or chosen in allowed else default, default)


def settle_number(name: str, default: float, low: float, high: float) -> None:
    """Before a slider of fractions: as `settle`, with what lies outside its ends moved to the nearer one."""
    give(name, min(max(float(str(choices().chosen.get(name, default))), low), high), default)


def give(name: str, value: object, default: object) -> None:
    """Give a widget its value for this run; what is chosen stays, for pages that can show it."""
    kept = choices()
    kept.defaults[name] = default
    kept.settled[name] = kept.shown[name] = st.session_state[name] = value


def clear_choices() -> None:
    """Forget every choice; the run that comes takes them from the URL, as that of one who comes by a link."""
    for name in ("choices", *FORMS):
        st.session_state.pop(name, None)


def publish_choices(page: str) -> None:
    """After the page of this name: write the choices into the URL, all at once, as each writing is a step for Back."""
    kept = choices()
    switched, kept.page = kept.page not in (None, page) and not went_back(), page
    wanted = kept.in_url()
    # The URL that the browser sent is older than one that is still on its way to it.
    arrived = went_back() or kept.published in (None, wanted)
    kept.published = wanted
    if arrived and wanted == st.query_params.to_dict():
        return
    if switched and not st.query_params:
        # The browser has made a step already, to the page without choices; they complete it.
        address()(data={"query": urlencode(wanted)})
    else:
        st.query_params.from_dict(wanted)


COMPLETE = """export default ({ data }) =>
  history.replaceState(history.state, "", `${location.pathname}?${data.query}`);
"""


@cache
def address() -> Any:
    """A component that draws nothing and completes the URL where it stands: Streamlit itself can only add a step."""
    return st.components.v2.component("headlight_address", js=COMPLETE)
