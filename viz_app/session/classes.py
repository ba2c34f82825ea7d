"""Classes: visitors who follow the lessons of a teacher together. In memory only, without names.

A teacher opens a class and reads its code aloud, then chooses one lesson after the other. A browser is one member,
whatever its tabs and reloads. The class counts where its members are and what they answered first, and collects their
answers to the questions. A closed class accepts nobody, and keeps its answers until its teacher closes another one.
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
        lesson: The name of the lesson that the teacher has chosen.
        members: How many joined.
        at: Step of this lesson → how many members are there now.
        first: Step of this lesson → answer → how many members answered this first.
        right: Step of this lesson → how many members found a right answer.
        answers: The first answers in all lessons of the class: lesson, step, answer, and how many members gave it.
        rounds: The answers to the questions: random name of the member → round → answers.
    """

    code: str
    lesson: str
    members: int
    at: Mapping[str, int]
    first: Mapping[str, Mapping[str, int]]
    right: Mapping[str, int]
    answers: tuple[tuple[str, str, str, int], ...]
    rounds: Mapping[str, Mapping[str, Mapping[str, str]]]


Where = tuple[str, str]  # lesson and step


@dataclass
class Member:
    """One browser in a class."""

    name: str = field(default_factory=lambda: secrets.token_hex(4))  # random, for this class only
    led_to: str = ""  # the lesson that the class has opened for this member
    at: Where = ("", "")
    first: dict[Where, str] = field(default_factory=dict)
    right: set[Where] = field(default_factory=set)
    rounds: dict[str, Mapping[str, str]] = field(default_factory=dict)  # round → answers to the questions


@dataclass
class OpenClass:
    """A class of one teacher."""

    code: str
    lessons: list[str]  # the last one is the lesson of now
    teacher: Hashable
    last_used: float
    members: dict[Hashable, Member] = field(default_factory=dict)

    def report(self) -> ClassReport:
        lesson, members = self.lessons[-1], self.members.values()
        counts = Counter((*place, answer) for member in members for place, answer in member.first.items())
        first: dict[str, dict[str, int]] = {}
        for (name, step, answer), count in counts.items():
            if name == lesson:
                first.setdefault(step, {})[answer] = count
        return ClassReport(
            code=self.code,
            lesson=lesson,
            members=len(members),
            at=Counter(member.at[1] for member in members if member.at[0] == lesson),
            first=first,
            right=Counter(step for member in members for name, step in member.right if name == lesson),
            answers=tuple((*given, count) for given, count in counts.items()),
            rounds={one.name: dict(one.rounds) for one in sorted(members, key=lambda m: m.name) if one.rounds},
        )


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
        self._closed: dict[Hashable, OpenClass] = {}  # the latest of each teacher

    def open(self, teacher: Hashable, lesson: str) -> str:
        """Open a class for a lesson, and close the teacher's class before it. Returns the code."""
        with self._lock:
            self._remove_old()
            self._close(teacher)
            while len(self._classes) >= self.most:
                del self._classes[min(self._classes, key=lambda code: self._classes[code].last_used)]
            code = ""
            while not code or code in self._classes:
                code = "".join(secrets.choice(SIGNS) for _ in range(LENGTH))
            self._classes[code] = OpenClass(code, [lesson], teacher, self.clock())
            return code

    def choose_lesson(self, teacher: Hashable, lesson: str) -> None:
        """Take the class of a teacher to another lesson. The answers of its earlier lessons stay."""
        with self._lock:
            if found := self._class_by(teacher):
                found.lessons = [one for one in found.lessons if one != lesson] + [lesson]

    def close(self, teacher: Hashable) -> None:
        """Close the class of a teacher, if there is one. Its report stays."""
        with self._lock:
            self._close(teacher)

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
                return found.lessons[-1] if found else None
            if visitor not in found.members and len(found.members) >= self.most_members:
                raise FullClassError
            for other in self._classes.values():
                if other is not found:
                    other.members.pop(visitor, None)
            found.last_used, lesson = self.clock(), found.lessons[-1]
            found.members.setdefault(visitor, Member()).led_to = lesson
            return lesson

    def next_lesson(self, visitor: Hashable) -> str | None:
        """The lesson that the teacher has chosen since the class opened one for this member; None without one."""
        with self._lock:
            for one in self._classes.values():
                if (member := one.members.get(visitor)) and member.led_to != one.lessons[-1]:
                    member.led_to = one.lessons[-1]
                    return member.led_to
            return None

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
        """A visitor is at a step. Nothing happens outside a class with this lesson."""
        with self._lock:
            if found := self._membership(visitor, lesson):
                found.at = (lesson, step)

    def note_answer(self, visitor: Hashable, lesson: str, step: str, answer: str, *, right: bool) -> None:
        """A visitor has answered a step. Only the first answer counts as the prediction."""
        with self._lock:
            if found := self._membership(visitor, lesson):
                found.first.setdefault((lesson, step), answer[:LONGEST])
                if right:
                    found.right.add((lesson, step))

    def note_round(self, visitor: Hashable, round_name: str, answers: Mapping[str, str]) -> None:
        """A visitor has handed in a round of the questions. Only the first time counts.

        Args:
            visitor: The browser. Nothing happens outside a class.
            round_name: "before" or "after" the lessons.
            answers: Names of questions and options, never words of the visitor.
        """
        with self._lock:
            if found := self._membership(visitor):
                found.rounds.setdefault(round_name, dict(answers))

    def report(self, teacher: Hashable) -> ClassReport | None:
        """What the teacher of a class sees; None for a visitor without an open class."""
        with self._lock:
            self._remove_old()
            if (found := self._class_by(teacher)) is None:
                return None
            found.last_used = self.clock()
            return found.report()

    def closed_report(self, teacher: Hashable) -> ClassReport | None:
        """The report of the class that a teacher closed last."""
        with self._lock:
            self._remove_old()
            return self._closed[teacher].report() if teacher in self._closed else None

    def _class_by(self, teacher: Hashable) -> OpenClass | None:
        return next((one for one in self._classes.values() if one.teacher == teacher), None)

    def _close(self, teacher: Hashable) -> None:
        if found := self._class_by(teacher):
            del self._classes[found.code]
            if not any(one.first or one.rounds for one in found.members.values()):
                return
            self._closed.pop(teacher, None)
            self._closed[teacher] = found
            while len(self._closed) > self.most:
                del self._closed[next(iter(self._closed))]

    def _membership(self, visitor: Hashable, lesson: str | None = None) -> Member | None:
        for one in self._classes.values():
            if visitor in one.members and (lesson is None or lesson in one.lessons):
                one.last_used = self.clock()
                return one.members[visitor]
        return None

    def _remove_old(self) -> None:
        limit = self.clock() - self.seconds
        self._classes = {code: one for code, one in self._classes.items() if one.last_used >= limit}
        self._closed = {teacher: one for teacher, one in self._closed.items() if one.last_used >= limit}


CLASSES = Classes(most=50, most_members=200, seconds=12 * 3600)  # about 40 kB for each class of 40
