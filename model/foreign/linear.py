"""Regular expressions that other people wrote, admitted where their search cannot run away.

Tokenizers search with backtracking, so `(a+)+$` takes time that doubles with every letter. A pattern passes here when
an attempt at one place takes steps in proportion to the text: in each alternative at most one repetition without a
limit may stand before the last part that can fail, and no group with a choice is repeated. The patterns of GPT-2,
Llama 3, Qwen, DeepSeek and o200k pass.
"""

import re
from dataclasses import dataclass
from math import prod

__all__ = ["is_linear"]

LONGEST, MOST_CHOICES, MOST_TIMES = 2_000, 64, 100  # characters; ways to match a text; of a repetition with a limit
CLASS = r"\[(?:\\.|\[:\^?\w+:\]|[^\]\\\[])+\]"
ATOM = re.compile(
    rf"\\[pP]\{{\^?\w+\}}|\\x\{{\w+\}}|\\[^\W\dgGkKXRpPxOyYzZ]|\\\W|{CLASS}|[^\\()|*+?{{}}\[\]]", re.DOTALL
)
FLAGS = re.compile(r"\(\?[imsx]+\)")
GROUP = re.compile(r"\((\?(?::|i:|=|!|<=|<!))?(?!\?)")
QUANTIFIER = re.compile(r"([*+?]|\{(\d*),?(\d*)\})([?+]?)")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A character, a group or a look around, with its quantifier."""

    body: "tuple[tuple[Part, ...], ...]"  # the alternatives of a group
    least: int
    most: float

    @property
    def endless(self) -> bool:
        return self.most > MOST_TIMES

    @property
    def choices(self) -> int:
        """In how many ways it can match one text, if it is not endless."""
        inside = sum(prod(part.choices for part in alternative) for alternative in self.body) if self.body else 1
        times = 1 if self.endless else int(self.most) - self.least
        return inside + times if self.most == 1 else inside * (times + 1)


def is_linear(pattern: str) -> bool:
    """Whether an attempt to match takes steps in proportion to the length of a text; False where that is not known."""
    if len(pattern) > LONGEST:
        return False
    try:
        alternatives, end = read(pattern, 0)
        return end == len(pattern) and all(map(quick, alternatives))
    except (ValueError, RecursionError):
        return False


def quick(parts: tuple[Part, ...]) -> bool:
    if len(parts) == 1 and parts[0].body and parts[0].most == 1:  # brackets around all of it
        return all(map(quick, parts[0].body))
    if any(not simple(part) for part in parts):
        return False
    needed = [at for at, part in enumerate(parts) if part.least]
    before = parts[: needed[-1]] if needed else ()  # what follows the last needed part cannot fail
    endless = sum(part.endless for part in before)
    return endless <= 1 and prod(part.choices for part in parts) <= MOST_CHOICES


def simple(part: Part) -> bool:
    """Whether it is a character, or a group that stands once or not at all and repeats nothing without a limit."""
    if not part.body:
        return True
    inner = [one for alternative in part.body for one in alternative]
    return part.most == 1 and all(simple(one) and not one.endless for one in inner)


def read(pattern: str, at: int) -> tuple[tuple[tuple[Part, ...], ...], int]:
    """The alternatives from a place on, up to the bracket that closes them.

    Raises:
        ValueError: there is something that is not read here, such as a reference back.
    """
    alternatives: list[list[Part]] = [[]]
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            alternatives.append([])
            at += 1
        elif flags := FLAGS.match(pattern, at):
            at = flags.end()
        else:
            body: tuple[tuple[Part, ...], ...] = ()
            if group := GROUP.match(pattern, at):
                body, at = read(pattern, group.end())
                if pattern[at : at + 1] != ")":
                    raise ValueError("a bracket is open")
                at += 1
            elif atom := ATOM.match(pattern, at):
                at = atom.end()
            else:
                raise ValueError(f"{pattern[at:]} is not known")
            least, most, at = quantity(pattern, at)
            alternatives[-1].append(Part(body=body, least=least, most=most))
    return tuple(map(tuple, alternatives)), at


def quantity(pattern: str, at: int) -> tuple[int, float, int]:
    """How often the part before a place stands at least and at most, and where the next begins."""
    found = QUANTIFIER.match(pattern, at)
    if found is None:
        return 1, 1, at
    if QUANTIFIER.match(pattern, found.end()) or (found[4] == "+" and found[1][0] == "{"):
        raise ValueError("a repetition is repeated")
    if found[1] in ("*", "+", "?"):
        return int(found[1] == "+"), 1 if found[1] == "?" else float("inf"), found.end()
    least = int(found[2] or 0)
    if "," not in found[1]:
        return least, least, found.end()
    return least, int(found[3]) if found[3] else float("inf"), found.end()
