"""One line about an analysis: how many models with a known answer it finds, and when it fails."""

import streamlit as st

from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.grades import GRADES
from viz_app.content.numbers import sentences
from viz_app.content.translation import t

__all__ = ["grade_line"]


def grade_line(name: str) -> None:
    """Draw the line, with a popover that names the models that the analysis misses.

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
