"""The switches on Translate. `live/shared.json` says of each one its text, and what it changes.

A switch changes settings of the view, and stands below the maps; or parts of the run, and stands in the menu of the
search on each page with a run. `live/controls/switches.js` is the twin of this file.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from model.inference.run import Run
from viz_app.content.plain import plain
from viz_app.content.shared import SWITCHES
from viz_app.content.translation import t
from viz_app.session.choices import switched

__all__ = ["ViewSettings", "draw_switches", "view_settings", "with_switches"]

Part = Literal["view", "run"]


@dataclass(frozen=True, kw_only=True)
class ViewSettings:
    """How Translate shows a result."""

    merge: bool = False  # the subwords of a word are one token
    hide_special: bool = False  # without `<s>` and `</s>`
    norms: bool = False  # weights times value norms
    logarithmic: bool = False  # colour scale
    shares: bool = False  # bars below the written tokens: the share from the source


def view_settings() -> ViewSettings:
    """The settings that the visitor's switches turn on."""
    return ViewSettings(**switched_on("view"))


def with_switches(run: Run) -> Run:
    """The run with what the visitor's switches change in its JSON form."""
    changed = switched_on("run")
    return Run.from_json({**run.to_json(), **changed}) if changed else run


def switched_on(part: Part) -> dict[str, Any]:
    """What all switches that are on change together, by name; a later switch changes the same name again."""
    on = (switch[part] for name, switch in SWITCHES.items() if part in switch and switched(name))
    return {name: value for changes in on for name, value in changes.items()}


def draw_switches(part: Part, *, refused: Mapping[str, str] = {}, left_out: Collection[str] = ()) -> None:
    """Draw the switches that change the view or the run.

    Args:
        part: What they change.
        refused: What cannot change for this model → why, or "" where the help says it.
        left_out: What this model does not have.
    """
    for name, switch in SWITCHES.items():
        changed = switch.get(part, {})
        if changed and changed.keys().isdisjoint(left_out):
            switched(name)
            why = [refused[one] for one in changed if one in refused]
            st.toggle(t(switch["label"]), key=name, disabled=bool(why), help=plain("".join(why)) or t(switch["help"]))
