"""Classes: visitors who follow one lesson together. In memory only, without names.

A teacher opens a class and reads its code aloud. A browser is one member, whatever its tabs and reloads. The class
counts where its members are and what they answered first, and collects their answers to the questions.
"""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from viz_app.session.codes import LENGTH, SIGNS

__all__ = ["CLASSES", "HIDDEN", "ClassReport", "Classes", "FullClassError"]

HIDDEN = ""  # the answer of a member whose own words nobody else may read
LONGEST = 60  # characters of an answer


class FullClassError(Exception):
    """A class has its largest number of members already."""


@dataclass(frozen=True, kw_only=True)
class ClassReport:
    """What a teacher sees of a class.

    Attributes:
        code: The code that members type.
        lesson: The name of the lesson.
        members: How many joined.
        at: Step → how many members are there now.
        first: Step → answer → how many members answered this first.
        right: Step → how many members found a right answer.
    """

    code: str
    lesson: str
    members: int
    at: Mapping[str, int]
    first: Mapping[str, Mapping[str, int]]
    right: Mapping[str, int]


@dataclass
class Member:
    """One browser in a class."""

    name: str = field(default_factory=lambda: secrets.token_hex(4))  # random, for this class only
    step: str = ""
    first: dict[str, str] = field(default_factory=dict)  # step → first answer
    right: set[str] = field(default_factory=set)  # steps
    rounds: dict[str, Mapping[str, str]] = field(default_factory=dict)  # round → answers to the questions


@dataclass
class OpenClass:
    """A class of one teacher."""

    code: str
    lesson: str
    teacher: Hashable
    last_used: float
    members: dict[Hashable, Member] = field(default_factory=dict)


class Classes:
    """All classes of this server. The class that nobody has used for the longest time is closed first.

    Args:
        most: Classes at the same time.
        most_members: Members of one class.
        seconds: A class closes after this time without a member or a teacher who uses it.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, *, most: int, most_members: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most, self.most_members, self.seconds, self.clock = most, most_members, seconds, clock
        self._lock = threading.Lock()
        self._classes: dict[str, OpenClass] = {}

    def open(self, teacher: Hashable, lesson: str) -> str:
        """Open a class for a lesson, and close the teacher's class before it. Returns the code."""
        with self._lock:
            self._remove_old()
            for code in [code for code, one in self._classes.items() if one.teacher == teacher]:
                del self._classes[code]
            while len(self._classes) >= self.most:
                del self._classes[min(self._classes, key=lambda code: self._classes[code].last_used)]
            code = next(code for code in iter(new_code, "") if code not in self._classes)
            self._classes[code] = OpenClass(code, lesson, teacher, self.clock())
            return code

    def close(self, teacher: Hashable) -> None:
        """Close the class of a teacher, if there is one."""
        with self._lock:
            self._classes = {code: one for code, one in self._classes.items() if one.teacher != teacher}

    def join(self, code: str, visitor: Hashable) -> str | None:
        """Join a class, and leave every other. The teacher of a class is no member of it.

        Args:
            code: As typed, with or without blanks and capitals.
            visitor: The browser that joins. It counts once.

        Returns:
            The name of the lesson; None for an unknown code.

        Raises:
            FullClassError: the class is full.
        """
        code = code.strip().lower()
        with self._lock:
            self._remove_old()
            found = self._classes.get(code)
            if found is None or found.teacher == visitor:
                return found.lesson if found else None
            if visitor not in found.members and len(found.members) >= self.most_members:
                raise FullClassError
            for other in self._classes.values():
                if other is not found:
                    other.members.pop(visitor, None)
            found.members.setdefault(visitor, Member())
            found.last_used = self.clock()
            return found.lesson

    def leave(self, visitor: Hashable) -> None:
        """Leave the class of a visitor. What the member answered is no longer counted."""
        with self._lock:
            for one in self._classes.values():
                one.members.pop(visitor, None)

    def class_of(self, visitor: Hashable) -> str | None:
        """The code of the class that a visitor joined."""
        with self._lock:
            return next((code for code, one in self._classes.items() if visitor in one.members), None)

    def note_step(self, visitor: Hashable, lesson: str, step: str) -> None:
        """A visitor is at a step. Nothing happens outside a class of this lesson."""
        with self._lock:
            if found := self._membership(visitor, lesson):
                found.step = step

    def note_answer(self, visitor: Hashable, lesson: str, step: str, answer: str, *, right: bool) -> None:
        """A visitor has answered a step. Only the first answer counts as the prediction."""
        with self._lock:
            if found := self._membership(visitor, lesson):
                found.first.setdefault(step, answer[:LONGEST])
                if right:
                    found.right.add(step)

    def note_round(self, visitor: Hashable, round_name: str, answers: Mapping[str, str]) -> None:
        """A visitor has handed in a round of the questions. Only the first time counts.

        Args:
            visitor: The browser. Nothing happens outside a class.
            round_name: "before" or "after" the lessons.
            answers: Names of questions and options, never words of the visitor.
        """
        with self._lock:
            for one in self._classes.values():
                if found := one.members.get(visitor):
                    one.last_used = self.clock()
                    found.rounds.setdefault(round_name, dict(answers))

    def rounds(self, teacher: Hashable) -> dict[str, dict[str, Mapping[str, str]]]:
        """The answers to the questions in the class of a teacher: random name of the member → round → answers."""
        with self._lock:
            members = [m for one in self._classes.values() if one.teacher == teacher for m in one.members.values()]
            return {one.name: dict(one.rounds) for one in sorted(members, key=lambda m: m.name) if one.rounds}

    def report(self, teacher: Hashable) -> ClassReport | None:
        """What the teacher of a class sees; None for a visitor without an open class."""
        with self._lock:
            self._remove_old()
            found = next((one for one in self._classes.values() if one.teacher == teacher), None)
            if found is None:
                return None
            found.last_used = self.clock()
            members = found.members.values()
            steps = {step for member in members for step in member.first}
            return ClassReport(
                code=found.code,
                lesson=found.lesson,
                members=len(members),
                at=Counter(member.step for member in members if member.step),
                first={
                    step: Counter(member.first[step] for member in members if step in member.first) for step in steps
                },
                right=Counter(step for member in members for step in member.right),
            )

    def _membership(self, visitor: Hashable, lesson: str) -> Member | None:
        for one in self._classes.values():
            if visitor in one.members and one.lesson == lesson:
                one.last_used = self.clock()
                return one.members[visitor]
        return None

    def _remove_old(self) -> None:
        limit = self.clock() - self.seconds
        self._classes = {code: one for code, one in self._classes.items() if one.last_used >= limit}


def new_code() -> str:
    return "".join(secrets.choice(SIGNS) for _ in range(LENGTH))


CLASSES = Classes(most=50, most_members=200, seconds=12 * 3600)  # about 40 kB for each class of 40
