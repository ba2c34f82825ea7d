"""A class in one room: its door, its screen for the teacher, the line of a member, and its answers as tables."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from urllib.parse import urljoin

import pandas as pd
import segno
import streamlit as st

from viz_app.content.lesson_texts import LessonText, StepText, lesson_text
from viz_app.content.numbers import joined
from viz_app.content.plain import plain
from viz_app.content.translation import language, t, tn, worded
from viz_app.course.catalogue import LESSONS, lesson_named
from viz_app.course.lesson import Action, Answer, AnswerForm, Lesson, Number, OneOf, OneToken, Step
from viz_app.course.quantities import word_at
from viz_app.course.quiz import ROUNDS
from viz_app.course.situation import Situation
from viz_app.course.visit import lesson_visit
from viz_app.figures.lines import answer_bars
from viz_app.sections.course.lessons_page import lesson_titles, quiz_csv
from viz_app.server.addresses import addresses_for_others
from viz_app.server.presence import visitor
from viz_app.server.store import StoreError
from viz_app.session.classes import CLASSES, HIDDEN, ClassReport, own_class
from viz_app.session.links import PARAMETER, link
from viz_app.widgets.charts import draw

__all__ = ["answer_csv", "class_answers", "class_screen", "follow_class", "member_line", "note_in_class", "teaches"]

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes a cell that begins with one of these
FOLLOW, REFRESH = 4.0, 3.0  # seconds until a member looks for the next lesson, and a teacher for new answers


def note_in_class(lesson: Lesson, step: Step, situation: Situation, answer: Answer, *, right: bool) -> None:
    """Tell the class of this visitor what came out. An action counts when it is right.

    Args:
        lesson: The open lesson.
        step: Its open step.
        situation: The visitor's run.
        answer: The first answer; None for an action.
        right: Whether the latest answer is right.
    """
    if step.predicts or right:
        code = answer_code(step, situation, answer)
        CLASSES.note_answer(visitor().name, lesson.name, step.name, code, right=right)


def answer_code(step: Step, situation: Situation, answer: Answer) -> str:
    """The answer as the class counts it. Nobody else reads words that a member typed."""
    match step.answer, answer:
        case OneToken() as form, int() | float():
            tokens, own = form.tokens(situation), situation.text != step.choices.get("text") or situation.forced
            return word_at(tokens, int(answer)) if answer < len(tokens) and not own else HIDDEN
        case _, int() | float():
            return f"{answer:g}"
        case _, str():
            return answer
    return HIDDEN


def answer_text(form: AnswerForm, text: StepText, code: str) -> str:
    """The answer in the language of the teacher, as plain text."""
    if code == HIDDEN:
        return t("done on the page") if isinstance(form, Action) else t("own words")
    return text.options.get(code, code)


def addresses() -> tuple[tuple[str, ...], str]:
    url = st.context.url or f"http://localhost:{st.get_option('server.port')}/"  # a client may send none
    return addresses_for_others(url, st.get_option("server.address"))


def class_door(code: str) -> None:
    """Draw the code of a class, and where to type it: an address of this server as text and as a QR code."""
    reachable, limit = addresses()
    if limit:
        st.warning(limit)
        st.markdown(t("Students type the code of the class on the page **Start here**:"))
        st.header(code, anchor=False)
        return
    first, *others = [urljoin(address, "start") for address in reachable]
    picture, words = st.columns([1, 3], vertical_alignment="center")
    with picture:
        draw_qr(link(first, ((PARAMETER, code),)))
    with words:
        st.markdown(t("Students scan the picture, or open this address:"))
        st.header(plain(first), anchor=False)
        if others:
            st.caption(
                t("This computer is in several networks. Other addresses: {addresses}", addresses=joined(others))
            )
        st.markdown(t("There they type the code of the class:"))
        st.header(code, anchor=False)


def draw_qr(address: str) -> None:
    picture = segno.make(address, error="m").svg_data_uri(scale=4, dark="#000000", light="#ffffff")
    alt = escape(t("QR code of the address {address}", address=address), quote=True)
    st.html(f'<img src="{escape(picture, quote=True)}" alt="{alt}" style="width:100%;max-width:16rem">')


def class_files(report: ClassReport, *, key: str) -> None:
    """Draw a button for the first answers, and one for the answers to the questions if there are any.

    The class is open or closed. `key` is the beginning of the keys of the buttons.
    """
    st.download_button(
        t("Save all answers (CSV)"),
        answer_csv(report),
        f"class-{report.code}.csv",
        "text/csv",
        key=f"{key}_csv",
        on_click="ignore",
    )
    if rounds := report.rounds:
        before, after = (sum(name in one for one in rounds.values()) for name in ROUNDS)
        st.download_button(
            t("Answers to the questions (CSV)"),
            quiz_csv(rounds),
            "class-questions.csv",
            "text/csv",
            key=f"{key}_questions",
            help=t("Handed in before the lessons: {before}. After the lessons: {after}.", before=before, after=after),
            on_click="ignore",
        )


def answer_csv(report: ClassReport) -> bytes:
    """One row for each lesson, step and first answer. An answer that a spreadsheet would compute begins with "'"."""
    rows = [
        (lesson, step, f"'{answer}" if answer.startswith(FORMULA) else answer, members)
        for lesson, step, answer, members in report.answers
    ]
    table = pd.DataFrame(rows, columns=["lesson", "step", "first answer", "members"])
    return table.to_csv(index=False).encode("utf-8-sig")


def member_line() -> None:
    """Draw the line for a member; nothing outside a class."""
    if code := own_class():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(
                t("You are in the class {code}. The teacher sees your first answers, without a name.", code=code)
            )
            st.button(
                t("Leave the class"), key="class_leave", type="tertiary", on_click=CLASSES.leave, args=(visitor().name,)
            )


def follow_class() -> None:
    """For a member, on every page: open the lesson that the teacher has chosen, soon after the teacher has."""
    if own_class():
        st.fragment(open_next_lesson, run_every=FOLLOW)()


def open_next_lesson() -> None:
    """Show nothing, and look again every few seconds."""
    name = None
    with suppress(StoreError):  # look again later
        name = CLASSES.next_lesson(visitor().name)
    if name:
        lesson = lesson_named(name)
        lesson_visit().begin(lesson.link(lesson.steps[0]))
        st.rerun()


def teaches() -> bool:
    """Whether this visitor has an open class."""
    with suppress(StoreError):
        return CLASSES.report(visitor().name) is not None
    return False


def class_screen() -> None:
    """Draw the report of the teacher's class, or the way to open one, or why there are no classes now."""
    try:
        opened, closed = CLASSES.report(visitor().name), CLASSES.closed_report(visitor().name)
    except StoreError:
        st.fragment(wait_for_store, run_every=REFRESH)()
        return
    if opened:
        st.fragment(class_report, run_every=REFRESH)()
        return
    open_form()
    if closed:
        st.markdown(t("Answers of the class {code}, which you have closed:", code=closed.code))
        with st.container(horizontal=True, gap="small"):
            class_files(closed, key="closed")


def wait_for_store() -> None:
    """Say why there are no classes now, and look again every few seconds."""
    if report_now():
        st.rerun()


def report_now() -> ClassReport | None:
    """In a fragment: the report of the teacher's class. None with a message, or while the page is drawn again."""
    try:
        if (report := CLASSES.report(visitor().name)) is None:
            st.rerun()  # another tab has closed the class
    except StoreError as error:
        st.error(plain(worded(error)))
        return None
    return report


def class_answers(lesson: Lesson, step: Step) -> None:
    """In the strip of the teacher's lesson: how many have answered the open step, and their first answers."""
    report = None
    with suppress(StoreError):
        report = CLASSES.report(visitor().name)
    if report and report.lesson == lesson.name:
        st.fragment(answers_now, run_every=REFRESH)(step)
    elif report and lesson in LESSONS:
        st.button(
            t("Take class {code} to this lesson", code=report.code),
            key="class_here",
            icon=":material/groups:",
            type="tertiary",
            on_click=CLASSES.choose_lesson,
            args=(visitor().name, lesson.name),
        )


def answers_now(step: Step) -> None:
    """Draw the first answers to a step. They are drawn again every few seconds, without the page."""
    if (report := report_now()) is None:
        return
    with st.container(key="class_line", horizontal=True, vertical_alignment="center", gap="small"):
        answered = sum(report.first.get(step.name, {}).values())
        st.caption(t("Class {code}: {n} of {all} answered.", code=report.code, n=answered, all=report.members))
        with st.popover(t("First answers"), icon=":material/bar_chart:", type="tertiary", key="class_answers_open"):
            step_answers(step, lesson_text(report.lesson, language()), report, key="class_answers_here")


def open_form() -> None:
    names = lesson_titles()
    st.markdown(
        t(
            "Open a class, and read its code aloud. Your screen then shows how many students are at which step, and "
            "their first answers. It has no names, and it is forgotten after some hours."
        )
    )
    if limit := addresses()[1]:  # no other computer reaches this server
        st.warning(limit)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.selectbox(t("Lesson"), names, format_func=names.__getitem__, key="class_lesson")
    right.button(t("Open a class"), key="class_open", type="primary", width="stretch", on_click=open_class)


def open_class() -> None:
    """Callback: open a class for the chosen lesson."""
    CLASSES.open(visitor().name, st.session_state["class_lesson"])


def class_report() -> None:
    """Draw the teacher's report. It is drawn again every few seconds, without the rest of the page."""
    if (report := report_now()) is None:
        return
    class_door(report.code)
    st.markdown(tn("**{n} student** has joined.", "**{n} students** have joined.", n=report.members))
    names = lesson_titles()
    st.session_state["class_lesson_now"] = report.lesson  # another tab may have chosen
    st.selectbox(
        t("Lesson of the class. Students follow when you choose another one."),
        names,
        format_func=names.__getitem__,
        key="class_lesson_now",
        on_change=lambda: CLASSES.choose_lesson(visitor().name, st.session_state["class_lesson_now"]),
    )
    lesson = lesson_named(report.lesson)
    lesson_report(lesson, lesson_text(lesson.name, language()), report)
    with st.container(horizontal=True, gap="small"):
        class_files(report, key="class")
        with st.popover(t("Close the class"), type="tertiary", key="class_end"):
            st.markdown(t("Nobody can join or answer after this. You can still save the answers on this page."))
            st.button(
                t("Close the class {code}", code=report.code),
                key="class_close",
                on_click=CLASSES.close,
                args=(visitor().name,),
            )


def lesson_report(lesson: Lesson, texts: LessonText, report: ClassReport) -> None:
    """Where the class is in its lesson, and the first answers to one step."""
    table = progress_table(lesson, texts, report)
    st.dataframe(table, hide_index=True, alt=t("Where the class is"), height="content")
    names = [step.name for step in lesson.steps]
    busiest = max(names, key=lambda name: sum(report.first.get(name, {}).values()))
    shown = st.selectbox(
        t("First answers to the step"),
        names,
        index=names.index(busiest),
        format_func=lambda name: texts.steps[name].title,
        key=f"class_step_{lesson.name}",
    )
    step_answers(lesson.steps[names.index(shown)], texts, report, key="class_answers")


def progress_table(lesson: Lesson, texts: LessonText, report: ClassReport) -> pd.DataFrame:
    rows = [
        {
            t("Step"): f"{number}. {texts.steps[step.name].title}",
            t("Here now"): report.at.get(step.name, 0),
            t("Answered"): sum(report.first.get(step.name, {}).values()),
            t("Right"): report.right.get(step.name, 0),
        }
        for number, step in enumerate(lesson.steps, start=1)
    ]
    return pd.DataFrame(rows)


def step_answers(step: Step, texts: LessonText, report: ClassReport, *, key: str) -> None:
    """Draw the first answers of a class to one step, as the picture with this key."""
    text, counts = texts.steps[step.name], report.first.get(step.name, {})
    st.markdown(text.question)
    if not counts:
        st.caption(t("Nobody has answered this step yet."))
        return
    shown: Counter[str] = Counter()
    for code in ordered(step, counts):
        shown[answer_text(step.answer, text, code)] += counts.get(code, 0)
    draw(
        answer_bars(list(shown), list(shown.values())),
        key=key,
        alt=t("First answers of the class: {question}", question=text.question.replace("*", "")),
        title=t("First answers of the class"),
    )


def ordered(step: Step, counts: Mapping[str, int]) -> list[str]:
    """All options of a question, also those without an answer; estimates by size; other answers by their number."""
    if isinstance(step.answer, OneOf):
        return list(step.answer.options)
    if isinstance(step.answer, Number):
        return sorted(counts, key=float)
    return sorted(counts, key=lambda code: -counts[code])
