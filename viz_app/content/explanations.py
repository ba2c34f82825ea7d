"""What the pages explain: how a picture is computed, what a page is for, what a property or a mistake means.

`explanations.toml` holds it, so that all of it can be read, compared and translated in one place.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from model.config.section import Section
from viz_app.content.translation import N_

__all__ = ["EXPLANATIONS", "Explanation"]


@dataclass(frozen=True, kw_only=True)
class Explanation(Section):
    """One explanation. The label and the text are marked for translation."""

    label: str = N_("How it is computed")
    text: str = ""  # Markdown
    formula: str = ""  # LaTeX
    code: str = ""  # one line of Python


EXPLANATIONS: Mapping[str, Explanation] = {
    name: Explanation.from_dict(one)
    for name, one in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
