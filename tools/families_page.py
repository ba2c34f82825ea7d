"""The page `families.md`: rows of measurements as tables in Markdown, and back."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase

import transformers

from tools.family_analyses import ANALYSES
from tools.foreign_families import FAMILIES

__all__ = ["READ_ONLY", "Row", "mark", "page", "rows_on_page"]

TASKS = {
    "translation": "Models that translate or summarize",
    "continuation": "Language models",
    "reading": "Models that read a text",
    "classification": "Classifiers",
}
CLOSED, REASONS = "## Families that do not open", "## Reasons"
NUMBER = re.compile(r"\d+e[+-]\d+")
IN_PAGE = re.compile(r"(✓|maps only|opens|\*\*no\*\*)( \d+e[+-]\d+)*")  # else a refusal
INTRODUCTION = """# Which families open

The command `python -m tools.families` writes this page. It builds a small random model of each family and variant of
Hugging Face's `transformers` from the library's own classes, opens its folder, and compares it with the library's own
model with `attn_implementation="eager"`. Run it at every new version of the library.

Numbers are differences, relative to the largest number where the numbers are larger than 1.

- **Maps**: the largest difference of any attention weight from the library's.
- **Text**: ✓ if both write the same text, token by token, choose the same token for the mask, or the same class.
- **Edit**: ✓ if the output changes when all heads of the first layer are silenced; *read-only* where nothing can be
  changed, because the library computes the attention with the family's own code and returns only its weights.
- **In the page**: the same folder, dropped on the page. ✓ if it writes the same tokens, with the largest difference of
  any attention weight and of the logits from the library's; *maps only* where the page shows no logits.
- **One head**: each step of a head; its weights against the library's.
- **Layers**: *Layer by layer*: each station of a token; the states before each layer against the library's.
- **Predictions**: *Prediction after each layer*: the probabilities after the last layer against the library's.
- **Why**: *Why this word*: the sum of all parts against the difference of two logits of the library.
- **Read**: *Read or guessed*: each layer as a sum of vectors, against the recorded layer.
- **Masks**: the weights of a padded batch against the library's, and those of its short text against the library's
  without padding. Language models have their padding on the left, then on the right.
- **Patch**: *Patch a head*: the effect of a patched head against the same patch in the library's model. Where a random
  model does the same for all donors, the logits of its two most probable outcomes are compared.

A letter in place of a number is a reason, which stands below the tables.
"""
READ_ONLY = "read-only"
COLUMNS: tuple[str, ...] = ("Family", "Maps", "Text", "Edit", "In the page")
COLUMNS += ("One head", "Layers", "Predictions", "Why", "Read", "Masks", "Patch")  # as in `ANALYSES`


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result for one family."""

    title: str
    task: str
    difference: float = 0.0  # of the maps
    same_text: bool = False
    edit: str = "**no**"  # "✓" if an edit changes the output, READ_ONLY where nothing can be changed
    in_page: str = ""  # as `in_page` returns it
    analyses: Mapping[str, str] = field(default_factory=dict)  # name → a number, or the reason why it is not offered
    refusal: str = ""  # why the family does not open

    @property
    def summary(self) -> str:
        """The row as one line, for a terminal."""
        if self.refusal:
            return f"{self.refusal} In the page: {self.in_page}"
        parts = (f"{name} {text}" for name, text in {"page": self.in_page, **self.analyses}.items())
        return f"maps {self.difference:.0e}, text {self.same_text}, edit {self.edit}, {', '.join(parts)}"


def page(rows: Sequence[Row]) -> str:
    """The page in Markdown."""
    opened = [row for row in rows if not row.refusal]
    letters = letters_of(reason for row in (*opened, *rows) for reason in reasons_of(row))
    in_page = sum(row.in_page.startswith(("✓", "maps only")) for row in rows)
    version = f"with transformers {transformers.__version__}"
    parts = [INTRODUCTION, f"{len(opened)} of {len(rows)} models open, {version}. The page opens {in_page} of them.\n"]
    for task, title in TASKS.items():
        parts.append(f"## {title}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
        parts += [line_of(row, letters) for row in opened if row.task == task]
        parts.append("")
    parts.append(f"{REASONS}\n")
    parts += [f"- **{letter}**: {reason}" for reason, letter in letters.items()]
    parts.append(f"\n{CLOSED}\n\n| Family | Reason | In the page |\n|---|---|---|")
    for row in rows:
        if row.refusal:
            parts.append(f"| {row.title} | {row.refusal.replace('|', ' ')} | {letters.get(row.in_page, row.in_page)} |")
    return "\n".join(parts) + "\n"


def reasons_of(row: Row) -> Iterable[str]:
    """The sentences of a row: why the page does not open the family, and why an analysis is not offered."""
    if row.in_page and not IN_PAGE.fullmatch(row.in_page):
        yield row.in_page
    yield from (text for text in row.analyses.values() if not NUMBER.fullmatch(text))


def letters_of(reasons: Iterable[str]) -> dict[str, str]:
    """Reason → letter, in the order in which they appear."""
    letters = [f"{first}{second}" for first in ("", *ascii_lowercase) for second in ascii_lowercase]
    different = list(dict.fromkeys(reasons))
    return dict(zip(different, letters[: len(different)], strict=True))


def line_of(row: Row, letters: Mapping[str, str]) -> str:
    cells = [f"{row.difference:.0e}", mark(row.same_text), row.edit]
    cells += [letters.get(text, text) for text in (row.in_page, *(row.analyses.get(name, "") for name in ANALYSES))]
    return f"| {row.title} | {' | '.join(cells)} |"


def mark(right: bool) -> str:
    return "✓" if right else "**no**"


def rows_on_page(text: str) -> dict[str, Row]:
    """Title → row of a page in Markdown; nothing if it was measured with another version of `transformers`."""
    if f"with transformers {transformers.__version__}." not in text:
        return {}
    tables, _, rest = text.partition(REASONS)
    listed, _, closed = rest.partition(CLOSED)
    reasons = dict(re.findall(r"^- \*\*(\w+)\*\*: (.+)$", listed, flags=re.M))
    cells = {title: line.split(" | ") for title, line in re.findall(r"^\| (.+?) \| (.+) \|$", tables, flags=re.M)}
    refusals = {title: cell for title, *cell in re.findall(r"^\| (.+?) \| (.+) \| (.+) \|$", closed, flags=re.M)}
    rows = {}
    for family in FAMILIES:
        if found := cells.get(family.title):
            rows[family.title] = Row(
                title=family.title,
                task=family.task,
                difference=float(found[0]),
                same_text=found[1] == "✓",
                edit=found[2],
                in_page=reasons.get(found[3], found[3]),
                analyses=dict(zip(ANALYSES, (reasons.get(one, one) for one in found[4:]), strict=True)),
            )
        elif closed_row := refusals.get(family.title):
            refusal, cell = closed_row
            rows[family.title] = Row(
                title=family.title, task=family.task, refusal=refusal, in_page=reasons.get(cell, cell)
            )
    return rows
