"""Checks that a regular expression from outside cannot take very long.

Tokenizers search with backtracking, so the time of `(a+)+$` doubles with every letter. A pattern passes this check if
one attempt to match needs a number of steps proportional to the text. In each alternative, at most one repetition
without a limit may come before the last part that can fail, and no group with a choice may be repeated. The patterns
of GPT-2, Llama 3, Qwen, DeepSeek and o200k pass.
"""

import re
from dataclasses import dataclass
from itertools import accumulate
from math import prod

__all__ = ["is_linear"]

# Characters of a pattern; brackets in brackets; ways to match one text; repetitions that count as limited.
MAX_LENGTH, MAX_DEPTH, MAX_CHOICES, MAX_TIMES = 2_000, 50, 64, 100
CLASS = r"\[(?:\\.|\[:\^?\w+:\]|[^\]\\\[])+\]"
ATOM = re.compile(
    rf"\\[pP]\{{\^?\w+\}}|\\x\{{\w+\}}|\\[^\W\dgGkKXRpPxOyYzZ]|\\\W|{CLASS}|[^\\()|*+?{{}}\[\]]", re.DOTALL
)
FLAGS = re.compile(r"\(\?[imsx]+\)")
GROUP = re.compile(r"\((\?(?::|i:|=|!|<=|<!))?(?!\?)")
QUANTIFIER = re.compile(r"([*+?]|\{(\d*),?(\d*)\})([?+]?)")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A character, a group or a lookaround, with its quantifier."""

    body: "tuple[tuple[Part, ...], ...]"  # the alternatives of a group
    least: int
    most: float

    @property
    def endless(self) -> bool:
        return self.most > MAX_TIMES

    @property
    def choices(self) -> int:
        """The number of ways to match one text, if the part is not endless."""
        inside = sum(prod(part.choices for part in alternative) for alternative in self.body) if self.body else 1
        times = 1 if self.endless else int(self.most) - self.least
        return inside + times if self.most == 1 else inside * (times + 1)


def is_linear(pattern: str) -> bool:
    """Whether an attempt to match needs a number of steps proportional to the text; False if that is not known."""
    depths = accumulate({"(": 1, ")": -1}.get(sign, 0) for sign in pattern)
    if len(pattern) > MAX_LENGTH or max(depths, default=0) > MAX_DEPTH:
        return False
    try:
        alternatives, end = read(pattern, 0)
        return end == len(pattern) and all(map(quick, alternatives))
    except ValueError:
        return False


def quick(parts: tuple[Part, ...]) -> bool:
    if len(parts) == 1 and parts[0].body and parts[0].most == 1:  # brackets around the whole pattern
        return all(map(quick, parts[0].body))
    if any(not simple(part) for part in parts):
        return False
    needed = [at for at, part in enumerate(parts) if part.least]
    before = parts[: needed[-1]] if needed else ()  # after the last needed part, nothing can fail
    endless = sum(part.endless for part in before)
    return endless <= 1 and prod(part.choices for part in parts) <= MAX_CHOICES


def simple(part: Part) -> bool:
    """Whether it is a character, or a group that occurs at most once and contains no repetition without a limit."""
    if not part.body:
        return True
    inner = [one for alternative in part.body for one in alternative]
    return part.most == 1 and all(simple(one) and not one.endless for one in inner)


def read(pattern: str, at: int) -> tuple[tuple[tuple[Part, ...], ...], int]:
    """Read the alternatives from a position up to the closing bracket.

    Raises:
        ValueError: the pattern contains something unknown, such as a back-reference.
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
    """The fewest and the most repetitions of the part before a position, and where the next part begins."""
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
