"""Classes: visitors who follow the lessons of a teacher together. In the store of the server, without names.

A teacher opens a class and reads its code aloud, then chooses one lesson after the other. A browser is one member,
whatever its tabs and reloads. The class counts where its members are and what they answered first, and collects their
answers to the questions. A closed class accepts nobody, and keeps its answers until its teacher closes another one.
"""

import secrets
import threading
import zlib
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from typing import TypeVar

import streamlit as st

from viz_app.server.presence import visitor
from viz_app.server.store import Kind, Records, Store, StoreError, shared_store

__all__ = ["CLASSES", "HIDDEN", "LENGTH", "SIGNS", "ClassReport", "Classes", "FullClassError", "own_class"]

Result = TypeVar("Result")
SIGNS = "abcdefghjkmnpqrstuvwxyz23456789"  # of a code: none that sounds or looks like another: i, l, o, 0, 1
LENGTH = 5  # of a code
HIDDEN = ""  # the answer of a member whose own words nobody else may read
LONGEST = 60  # characters of an answer
AWAY = 180.0  # seconds without a sign of a member; an open page looks every few seconds, a hidden one every minute
SIGN = 30.0  # seconds between two signs of a member that are written
MOST_UNSENT = 10_000  # notes of a process that wait for the store: an hour of a large school
FACTS = ""  # the field of a class with the class itself; the others have its members


class FullClassError(Exception):
    """A class has its largest number of members already."""


@dataclass(frozen=True, kw_only=True)
class ClassReport:
    """What a teacher sees of a class.

    Attributes:
        code: The code that members type.
        lesson: The name of the lesson that the teacher has chosen.
        members: How many joined.
        at: Step of this lesson → how many members have it open now.
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


@dataclass(kw_only=True)
class Member:
    """One browser in a class."""

    name: str = field(default_factory=lambda: secrets.token_hex(4))  # random, for this class only
    seen: float = 0.0  # the time of the latest sign, on the clock of the store
    led_to: str = ""  # the lesson that the class has opened for this member
    at: tuple[str, str] | list[str] = ("", "")  # lesson and step
    first: dict[str, dict[str, str]] = field(default_factory=dict)  # lesson → step → answer
    right: dict[str, list[str]] = field(default_factory=dict)  # lesson → steps
    rounds: dict[str, Mapping[str, str]] = field(default_factory=dict)  # round → answers to the questions


@dataclass(kw_only=True)
class Facts:
    """A class without its members."""

    teacher: str
    lessons: list[str]  # the last one is the lesson of now
    closed: bool = False


@dataclass(kw_only=True)
class Membership:
    """A member in an open class."""

    code: str
    facts: Facts
    member: Member


def report_of(code: str, facts: Facts, members: list[Member], now: float) -> ClassReport:
    lesson = facts.lessons[-1]
    counts = Counter(
        (name, step, answer)
        for member in members
        for name, steps in member.first.items()
        for step, answer in steps.items()
    )
    first: dict[str, dict[str, int]] = {}
    for (name, step, answer), count in counts.items():
        if name == lesson:
            first.setdefault(step, {})[answer] = count
    return ClassReport(
        code=code,
        lesson=lesson,
        members=len(members),
        at=Counter(one.at[1] for one in members if one.at[0] == lesson and now - one.seen < AWAY),
        first=first,
        right=Counter(step for member in members for step in member.right.get(lesson, ())),
        answers=tuple((*given, count) for given, count in counts.items()),
        rounds={one.name: dict(one.rounds) for one in sorted(members, key=lambda m: m.name) if one.rounds},
    )


class Classes:
    """All classes of this server. The class that nobody has used for the longest time is removed first.

    Visitors are named by `Visitor.name`. What a member does is noted later where the store cannot be used now; all
    other methods raise StoreError then.

    Args:
        most: Classes at the same time, with those that were closed.
        most_members: Members of one class.
        seconds: A class is removed after this time without a member or a teacher who uses it.
        store: Returns the store.
    """

    def __init__(
        self, *, most: int, most_members: int, seconds: float, store: Callable[[], Store] = shared_store
    ) -> None:
        self.most_members, self._store = most_members, store
        # Another version of Headlight may keep other fields of a class. So the name has the fields, and theirs expire.
        kept = " ".join(one.name for record in (Facts, Member) for one in fields(record))
        self._class = Kind(name=f"class-{zlib.crc32(kept.encode()):08x}", most=most, seconds=seconds)
        # Fields: the codes of the class that the visitor has "joined", has "open" and has "closed" last. Each note of
        # a member keeps it, and it outlives the class.
        self._visitor = Kind(name="visitor", most=most * (most_members + 1), seconds=2 * seconds)
        self._unsent: deque[Callable[[Records], None]] = deque(maxlen=MOST_UNSENT)
        self._sending = threading.Lock()

    def open(self, teacher: str, lesson: str) -> str:
        """Open a class for a lesson, and close the teacher's class before it. Returns the code."""

        def change(records: Records) -> str:
            self._close(records, teacher)
            code = ""
            while not code or self._facts(records, code):
                code = "".join(secrets.choice(SIGNS) for _ in range(LENGTH))
            records.put(self._class, code, {FACTS: asdict(Facts(teacher=teacher, lessons=[lesson]))})
            records.put(self._visitor, teacher, {"open": code})
            return code

        return self._change(change)

    def choose_lesson(self, teacher: str, lesson: str) -> None:
        """Take the class of a teacher to another lesson. The answers of its earlier lessons stay."""

        def change(records: Records) -> None:
            code, facts = self._taught(records, teacher)
            if facts:
                facts.lessons = [one for one in facts.lessons if one != lesson] + [lesson]
                records.put(self._class, code, {FACTS: asdict(facts)})

        self._change(change)

    def close(self, teacher: str) -> None:
        """Close the class of a teacher, if there is one. Its report stays."""
        self._change(lambda records: self._close(records, teacher))

    def join(self, code: str, visitor: str) -> str | None:
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

        def change(records: Records) -> str | None:
            facts = self._facts(records, code)
            if facts is None or facts.closed:
                return None
            if facts.teacher == visitor:
                return facts.lessons[-1]
            known = records.get(self._class, code, visitor)
            if known is None and records.count(self._class, code) > self.most_members:
                raise FullClassError
            if (before := records.get(self._visitor, visitor, "joined")) not in (None, code):
                self._remove_member(records, before, visitor)
            member = Member(**(known or {}))
            member.led_to = facts.lessons[-1]
            self._put_member(records, Membership(code=code, facts=facts, member=member), visitor)
            return member.led_to

        return self._change(change)

    def next_lesson(self, visitor: str) -> str | None:
        """The lesson that the teacher has chosen since the class opened one for this member; None without one.

        Open pages ask this every few seconds, so it is also a sign that the member is here.
        """

        def change(records: Records) -> str | None:
            found = self._membership(records, visitor)
            if found is None:
                return None
            before, lesson = found.member.led_to, found.facts.lessons[-1]
            found.member.led_to = lesson
            if before != lesson or records.now - found.member.seen > SIGN:
                self._put_member(records, found, visitor)
            return lesson if before != lesson else None

        return self._change(change)

    def leave(self, visitor: str) -> None:
        """Leave the class of a visitor. What the member answered is no longer counted."""

        def change(records: Records) -> None:
            if code := records.get(self._visitor, visitor, "joined"):
                self._remove_member(records, code, visitor)
                records.put(self._visitor, visitor, {"joined": None})

        self._change(change)

    def class_of(self, visitor: str) -> str | None:
        """The code of the class that a visitor joined."""
        found = self._change(lambda records: self._membership(records, visitor))
        return found.code if found else None

    def note_step(self, visitor: str, lesson: str, step: str) -> None:
        """A visitor is at a step. Nothing happens outside a class with this lesson."""

        def write(member: Member) -> None:
            member.at = [lesson, step]

        self._note(visitor, write, lesson)

    def note_answer(self, visitor: str, lesson: str, step: str, answer: str, *, right: bool) -> None:
        """A visitor has answered a step. Only the first answer counts as the prediction."""

        def write(member: Member) -> None:
            member.first.setdefault(lesson, {}).setdefault(step, answer[:LONGEST])
            if right and step not in member.right.setdefault(lesson, []):
                member.right[lesson].append(step)

        self._note(visitor, write, lesson)

    def note_round(self, visitor: str, round_name: str, answers: Mapping[str, str]) -> None:
        """A visitor has handed in a round of the questions. Only the first time counts.

        Args:
            visitor: The browser. Nothing happens outside a class.
            round_name: "before" or "after" the lessons.
            answers: Names of questions and options, never words of the visitor.
        """
        self._note(visitor, lambda member: member.rounds.setdefault(round_name, dict(answers)))

    def report(self, teacher: str) -> ClassReport | None:
        """What the teacher of a class sees; None for a visitor without an open class."""

        def change(records: Records) -> ClassReport | None:
            code, facts = self._taught(records, teacher)
            if facts is None:
                return None
            records.put(self._class, code, {FACTS: asdict(facts)})  # the class is in use
            records.put(self._visitor, teacher, {"open": code})
            return report_of(code, facts, self._members(records, code), records.now)

        return self._change(change)

    def closed_report(self, teacher: str) -> ClassReport | None:
        """The report of the class that a teacher closed last."""

        def change(records: Records) -> ClassReport | None:
            code = records.get(self._visitor, teacher, "closed")
            facts = self._facts(records, code)
            return report_of(code, facts, self._members(records, code), records.now) if facts else None

        return self._change(change)

    def send(self) -> None:
        """Try to write what had to wait for the store.

        Raises:
            StoreError: it has to wait longer.
        """
        if not self._unsent:
            return
        with self._sending:  # one after the other, because first answers count
            while self._unsent:
                self._store().change(self._unsent[0])
                self._unsent.popleft()

    def _change(self, work: Callable[[Records], Result]) -> Result:
        self.send()
        return self._store().change(work)

    def _note(self, visitor: str, write: Callable[[Member], object], lesson: str | None = None) -> None:
        """Let `write` change a member, now or when the store can be used again. What is noted twice counts once."""

        def change(records: Records) -> None:
            found = self._membership(records, visitor)
            if found is None or not (lesson is None or lesson in found.facts.lessons):
                return
            before = deepcopy(found.member)
            write(found.member)
            if found.member != before:
                self._put_member(records, found, visitor)

        self._unsent.append(change)
        with suppress(StoreError):
            self.send()

    def _facts(self, records: Records, code: str | None) -> Facts | None:
        found = records.get(self._class, code, FACTS) if code else None
        return Facts(**found) if found else None

    def _taught(self, records: Records, teacher: str) -> tuple[str, Facts | None]:
        code = records.get(self._visitor, teacher, "open") or ""
        return code, self._facts(records, code)

    def _members(self, records: Records, code: str) -> list[Member]:
        found = records.all(self._class, code)
        return [Member(**found[name]) for name in found if name != FACTS]

    def _membership(self, records: Records, visitor: str) -> Membership | None:
        code = records.get(self._visitor, visitor, "joined")
        facts = self._facts(records, code)
        member = records.get(self._class, code, visitor) if facts and not facts.closed else None
        return Membership(code=code, facts=facts, member=Member(**member)) if facts and member else None

    def _put_member(self, records: Records, found: Membership, visitor: str) -> None:
        found.member.seen = records.now
        records.put(self._class, found.code, {visitor: asdict(found.member)})
        records.put(self._visitor, visitor, {"joined": found.code})

    def _remove_member(self, records: Records, code: str, visitor: str) -> None:
        facts = self._facts(records, code)
        if facts and not facts.closed:
            records.put(self._class, code, {visitor: None})

    def _close(self, records: Records, teacher: str) -> None:
        code, facts = self._taught(records, teacher)
        if facts is None:
            return
        records.put(self._visitor, teacher, {"open": None})
        if not any(one.first or one.rounds for one in self._members(records, code)):
            records.remove(self._class, code)
            return
        if before := records.get(self._visitor, teacher, "closed"):
            records.remove(self._class, before)
        facts.closed = True
        records.put(self._class, code, {FACTS: asdict(facts)})
        records.put(self._visitor, teacher, {"closed": code})


CLASSES = Classes(most=100, most_members=200, seconds=12 * 3600)  # about 40 kB for each class of 40


def own_class() -> str | None:
    """The code of the class that this visitor joined. While the store cannot be used, it is what this tab knew last."""
    with suppress(StoreError):
        st.session_state["class_joined"] = CLASSES.class_of(visitor().name)
    joined: str | None = st.session_state.get("class_joined")
    return joined
