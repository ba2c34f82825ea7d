"""Classes count browsers, where they are and what they answered first. Nobody can see or disturb more than that."""

from dataclasses import dataclass

import pytest

from viz_app.server.store import MEMORY, SqliteStore
from viz_app.session import classes as module
from viz_app.session.classes import Classes, FullClassError

LESSON = "many-heads"


class Clock:
    """A clock that moves only when a test moves it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def classes(clock: Clock | None = None, **settings: int) -> Classes:
    store = SqliteStore(MEMORY, clock=clock or Clock())
    return Classes(store=lambda: store, **({"most": 3, "most_members": 2, "seconds": 100} | settings))


def test_the_teacher_sees_where_the_class_is_and_what_it_answered_first() -> None:
    ours = classes()
    code = ours.open("teacher", LESSON)
    assert ours.join(f" {code.upper()} ", "one") == LESSON
    assert ours.join(code, "two") == LESSON
    ours.note_step("one", LESSON, "first")
    ours.note_step("two", LESSON, "second")
    ours.note_answer("one", LESSON, "first", "more", right=False)
    ours.note_answer("one", LESSON, "first", "fewer", right=True)  # the prediction stays
    ours.note_answer("two", LESSON, "first", "more", right=False)
    report = ours.report("teacher")
    assert report
    assert (report.members, report.at) == (2, {"first": 1, "second": 1})
    assert report.first == {"first": {"more": 2}}
    assert report.right == {"first": 1}
    assert ours.report("one") is None


def test_a_browser_counts_once_and_is_in_one_class() -> None:
    ours = classes()
    first, second = ours.open("teacher", LESSON), ours.open("other", LESSON)
    for _ in range(3):
        ours.join(first, "one")
    assert ours.report("teacher").members == 1  # type: ignore[union-attr]
    ours.join(second, "one")
    assert ours.report("teacher").members == 0  # type: ignore[union-attr]
    assert ours.class_of("one") == second
    ours.leave("one")
    assert ours.class_of("one") is None


def test_one_class_takes_several_lessons_and_keeps_all_their_answers() -> None:
    ours = classes()
    code = ours.open("teacher", LESSON)
    ours.join(code, "one")
    ours.note_answer("one", LESSON, "first", "more", right=True)
    assert ours.next_lesson("one") is None, "joining has opened this lesson"
    ours.choose_lesson("teacher", "positions")
    assert ours.join(code, "two") == "positions", "the code stays"
    assert [ours.next_lesson("one") for _ in range(2)] == ["positions", None], "a member is led there once"
    ours.note_answer("one", LESSON, "second", "fewer", right=False)  # a member who is late
    ours.note_answer("one", "positions", "first", "same", right=False)
    report = ours.report("teacher")
    assert report
    assert (report.lesson, report.first, report.right) == ("positions", {"first": {"same": 1}}, {})
    assert {tuple(one) for one in report.answers} == {
        (LESSON, "first", "more", 1),
        (LESSON, "second", "fewer", 1),
        ("positions", "first", "same", 1),
    }
    ours.choose_lesson("one", "heads")  # a member chooses nothing
    ours.choose_lesson("teacher", LESSON)
    assert ours.report("teacher").first == {"first": {"more": 1}, "second": {"fewer": 1}}  # type: ignore[union-attr]


def test_a_closed_class_accepts_nobody_and_keeps_its_answers_until_another_one_is_closed() -> None:
    ours = classes()
    code = ours.open("teacher", LESSON)
    ours.join(code, "one")
    ours.note_answer("one", LESSON, "first", "more", right=True)
    ours.note_round("one", "before", {"order": "same"})
    ours.close("teacher")
    assert ours.join(code, "two") is None
    ours.note_answer("one", LESSON, "second", "late", right=True)
    assert ours.report("teacher") is None
    for _ in range(2):  # closing an empty class loses nothing
        closed = ours.closed_report("teacher")
        assert closed
        assert closed.answers == ((LESSON, "first", "more", 1),)
        assert [*closed.rounds.values()] == [{"before": {"order": "same"}}]
        ours.open("teacher", LESSON)
        ours.close("teacher")
    assert ours.closed_report("one") is None


def test_a_member_whose_pages_are_closed_is_not_here_and_still_counts() -> None:
    clock = Clock()
    ours = classes(clock, seconds=10_000)
    code = ours.open("teacher", LESSON)
    for who in ("one", "two"):
        ours.join(code, who)
        ours.note_step(who, LESSON, "first")
        ours.note_answer(who, LESSON, "first", "more", right=True)
    for _ in range(60):  # one page stays open, and looks for the next lesson
        clock.now += 4
        assert ours.next_lesson("one") is None
    report = ours.report("teacher")
    assert report
    assert (report.at, report.members, report.first) == ({"first": 1}, 2, {"first": {"more": 2}})
    assert ours.next_lesson("two") is None  # it is opened again
    assert ours.report("teacher").at == {"first": 2}  # type: ignore[union-attr]


def test_answers_to_another_lesson_and_of_strangers_do_not_count() -> None:
    ours = classes()
    code = ours.open("teacher", LESSON)
    ours.join(code, "one")
    ours.note_answer("one", "positions", "first", "more", right=True)
    ours.note_answer("stranger", LESSON, "first", "more", right=True)
    report = ours.report("teacher")
    assert report
    assert not report.first
    assert not report.right


def test_the_teacher_is_no_member_and_has_one_class() -> None:
    ours = classes()
    first = ours.open("teacher", LESSON)
    assert ours.join(first, "teacher") == LESSON
    assert ours.report("teacher").members == 0  # type: ignore[union-attr]
    second = ours.open("teacher", "positions")
    assert ours.join(first, "one") is None
    assert ours.join(second, "one") == "positions"
    ours.close("one")  # a member closes nothing
    assert ours.class_of("one") == second
    ours.close("teacher")
    assert ours.class_of("one") is None


def test_classes_and_their_members_are_bounded() -> None:
    clock = Clock()
    ours = classes(clock)
    codes = []
    for number in range(4):
        clock.now += 1
        codes.append(ours.open(f"teacher {number}", LESSON))
    assert [ours.join(code, "one") for code in codes] == [None, LESSON, LESSON, LESSON]
    for who in ("two", "three"):
        ours.join(codes[1], who)
    with pytest.raises(FullClassError):
        ours.join(codes[1], "four")
    ours.join(codes[1], "three")  # a member comes back
    clock.now += 101
    assert ours.report("teacher 3") is None
    assert ours.join(codes[3], "one") is None


def test_an_answer_is_kept_short() -> None:
    ours = classes()
    ours.join(ours.open("teacher", LESSON), "one")
    ours.note_answer("one", LESSON, "first", "x" * 10_000, right=False)
    report = ours.report("teacher")
    assert report
    assert max(map(len, report.first["first"])) < 100


def test_a_class_of_another_version_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(kw_only=True)
    class LaterMember(module.Member):
        mood: str = "curious"

    store = SqliteStore(MEMORY)
    with monkeypatch.context() as later:
        later.setattr(module, "Member", LaterMember)
        theirs = Classes(most=2, most_members=9, seconds=60, store=lambda: store)
        code = theirs.open("teacher", LESSON)
        assert theirs.join(code, "ann") == LESSON
    ours = Classes(most=2, most_members=9, seconds=60, store=lambda: store)
    assert ours.join(code, "ann") is None
    assert ours.join(ours.open("teacher", LESSON), "ann") == LESSON
