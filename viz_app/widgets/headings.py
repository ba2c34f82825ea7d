"""Headings of a page and of its parts, tabs, explanations of pictures, grades of analyses, and checks of numbers.

Screen readers jump from heading to heading.
"""

from collections.abc import Callable, Mapping
from html import escape

import streamlit as st

from model.config.section import ConfigError
from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.grades import GRADES
from viz_app.content.numbers import sentences
from viz_app.content.plain import as_sentence, plain
from viz_app.content.translation import t, worded
from viz_app.session.choices import set_choice, settle
from viz_app.session.page_end import PageEnded

__all__ = ["draw_tabs", "explain", "explanation", "grade_line", "heading", "introduce", "section", "verdict"]


def heading(title: str, instruction: str) -> None:
    """The heading of a page, with what the visitor does there."""
    st.html(f'<h1 class="hl-heading">{escape(title)} <span>{escape(instruction)}</span></h1>')


def section(title: str, caption: str = "") -> None:
    """The heading of a part of a page, with a caption on the same line.

    Args:
        title: Plain text.
        caption: One sentence about the picture below, plain text.
    """
    shown_title = as_sentence(title) if caption else title
    shown_caption = f" <span>{escape(caption)}</span>" if caption else ""
    st.html(f'<div class="hl-section"><h2>{escape(shown_title)}</h2>{shown_caption}</div>')


def explanation(label: str, text: str, formula: str | None = None) -> None:
    """Explain a picture in a popover.

    Args:
        label: The label of the button, such as "How it is computed".
        text: The explanation, in Markdown.
        formula: The formula, in LaTeX.
    """
    with st.popover(label, icon=":material/info:", type="tertiary"):
        st.markdown(text)
        if formula:
            st.latex(formula)


def explain(*names: str, **values: object) -> None:
    """Explain a picture in a popover, in the words of `explanations.toml`.

    Args:
        names: Of one explanation, or of several whose texts and formulas follow each other.
        values: Those of the texts.
    """
    parts = [EXPLANATIONS[name] for name in names]
    text = sentences([t(part.text, **values) for part in parts if part.text])
    explanation(t(parts[0].label), text, "".join(part.formula for part in parts))


def grade_line(name: str) -> None:
    """How many models with a known answer an analysis finds, and when it fails; a popover names those that it misses.

    Args:
        name: Of the analysis, in `grades.json`. `explanations.toml` has what it finds and when it fails.
    """
    grade, texts = GRADES[name], EXPLANATIONS[f"grade-{name}"]
    with st.container(key=f"grade_{name}", horizontal=True, gap="small", vertical_alignment="center"):
        counted = t(
            "On models with a known answer, this finds {found} of {all}.", found=grade.found, all=len(grade.models)
        )
        st.caption(sentences([counted, t(texts.text)]), width="stretch")
        with st.popover(t("Known answers"), icon=":material/verified:", type="tertiary"):
            about = t(
                "These small models were made on purpose, so it is known what each head does. The "
                "analysis finds a model if its grade is at least {least}. "
                "`docs/truth.md` has the grades of all analyses.",
                least=f"{grade.least:.2f}",
            )
            st.markdown(sentences([t(texts.label), about]))
            missed = ", ".join(f"`{model}` {value:.2f}" for model, value in grade.missed.items())
            st.markdown(t("Not found: {models}", models=missed) if missed else t("It finds all of these models."))


def introduce(name: str, /, **values: object) -> None:
    """Say what follows on the page, in the words of `explanations.toml`."""
    st.markdown(t(EXPLANATIONS[name].text, **values))


def draw_tabs(key: str, parts: Mapping[str, tuple[str, Callable[[], object]]], *, first: str = "") -> None:
    """Show tabs, and draw the one that is open. A `ConfigError` says in the place of a tab why it cannot be drawn.

    Args:
        key: The name of the choice.
        parts: Id → label, and the function that draws the tab. Links name the ids, see `choice_forms.OLD_TABS`.
        first: The id of the tab that is open without a choice; by default the first one.
    """
    labels = {name: label for name, (label, _) in parts.items()}
    settle(key, first or next(iter(labels)), labels)
    shown = f"{key}_shown"
    st.session_state[shown] = labels[st.session_state[key]]
    places = st.tabs(list(labels.values()), key=shown, on_change=open_tab, args=(key, labels))
    for place, (_, draw) in zip(places, parts.values(), strict=True):
        if place.open:
            with place:
                try:
                    draw()
                except PageEnded:  # the tab is the last part of its page
                    pass
                except ConfigError as error:
                    st.info(plain(worded(error)))


def open_tab(key: str, labels: Mapping[str, str]) -> None:
    """Callback of the tabs: choose the one that is open now."""
    set_choice(key, next(name for name, label in labels.items() if label == st.session_state[f"{key}_shown"]))


def verdict(agrees: bool, text: str) -> None:
    """Say that numbers of the page agree with those of the model, or that they do not."""
    if agrees:
        st.success(text, icon=":material/check:")
    else:
        st.error(text, icon=":material/error:")
