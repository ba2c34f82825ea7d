"""Measure the grades of all analyses, and write them: `python -m tools.planted.grades_page`.

The numbers go into `viz_app/content/grades.json`, which the pages read, and as tables into `docs/truth.md`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from model.files import replace_file
from tools.planted.grades import ANALYSES, FINDS, grades_of
from tools.planted.models import MODELS
from tools.planted.subject import Subject
from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.grades import FILE, Grade

__all__ = ["PAGE", "page_with"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "truth.md"
START, END = "<!-- grades: python -m tools.planted.grades_page -->", "<!-- end of grades -->"
TABLES: Mapping[str, Mapping[str, str]] = {  # title → analysis → the head of its column
    "Heads that matter": {
        "weights": "weights",
        "value-norms": "value norms",
        "gradient": "gradient",
        "importance": "measured",
        "search": "Find what matters",
        "patching": "patching",
        "contributions": "contributions",
        "circuit-heads": "circuits",
    },
    "Words that matter": {
        "rollout": "rollout",
        "influence": "ALTI+",
        "value-zeroing": "value zeroing",
        "deletion": "deletion",
    },
    "Roles, layers and edges": {
        "roles": "roles",
        "alignment": "alignment",
        "lens": "lens",
        "circuit-edges": "edges of circuits",
    },
}


def measured() -> dict[str, dict[str, float]]:
    """Analysis → model → grade."""
    found: dict[str, dict[str, float]] = {name: {} for name in ANALYSES}
    with TemporaryDirectory() as folder:
        for model in MODELS:
            print(model, flush=True)
            for name, grade in grades_of(Subject.of(model, Path(folder) / model)).items():
                found[name][model] = grade
    return found


def page_with(grades: Mapping[str, Grade], page: str) -> str:
    """The page with new tables between its two marks."""
    return re.sub(f"(?s)(?<={START}\n).*(?={END})", "\n".join(tables(grades)).replace("\\", r"\\"), page)


def tables(grades: Mapping[str, Grade]) -> Iterator[str]:
    for title, columns in TABLES.items():
        shown = {name: grades[name] for name in columns}
        yield from (f"\n### {title}\n", f"| model | {' | '.join(columns.values())} |")
        yield "|" + " --- |" * (1 + len(columns))
        yield from (f"| `{model}` | {' | '.join(cell(one, model) for one in shown.values())} |" for model in MODELS)
        yield f"| **found** | {' | '.join(f'**{one.found} of {len(one.models)}**' for one in shown.values())} |\n"
        yield from (f"- **{columns[name]}**: {EXPLANATIONS[f'grade-{name}'].text}" for name in columns)
    yield ""


def cell(grade: Grade, model: str) -> str:
    """A grade; bold where the model is not found, and a dash where it has no such analysis."""
    if model not in grade.models:
        return "–"
    return f"**{grade.models[model]:.2f}**" if model in grade.missed else f"{grade.models[model]:.2f}"


def main() -> None:
    found = measured()
    replace_file(FILE, json.dumps({"least": FINDS, "grades": found}, indent=1) + "\n")
    grades = {name: Grade(models=models, least=FINDS) for name, models in found.items()}
    replace_file(PAGE, page_with(grades, PAGE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
