"""The page Lessons: the list of lessons, the questions before and after the course, and the plan for teachers."""

from collections.abc import Mapping
from datetime import date

import pandas as pd
import streamlit as st

from viz_app.content.catalogues import ENGLISH
from viz_app.content.lesson_texts import filled, lesson_text, plan_text
from viz_app.content.numbers import sentences
from viz_app.content.translation import N_, language, t, tn
from viz_app.course.catalogue import LESSONS, step_of_link
from viz_app.course.expected import expected_work, known_answers
from viz_app.course.lesson import Lesson
from viz_app.course.progress import open_steps
from viz_app.course.quiz import (
    ROUNDS,
    Question,
    QuizAnswers,
    handed_in,
    id_in,
    questions,
    right_answers,
    shuffled,
)
from viz_app.course.visit import lesson_visit
from viz_app.export.lesson_sheet import lesson_sheet, plan_sheet
from viz_app.server.addresses import addresses_for_others
from viz_app.server.presence import visitor
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services.listing import shared_checkpoints
from viz_app.session.classes import CLASSES, own_class
from viz_app.session.links import link
from viz_app.widgets.long_work import requested, wait_for

__all__ = [
    "for_teachers",
    "forget_button",
    "lesson_list",
    "lesson_summary",
    "lesson_titles",
    "quiz_csv",
    "quiz_tab",
]

ROUND_NAMES = {"before": N_("Before the lessons"), "after": N_("After the lessons")}
COLUMNS = ("id", "round", "question", "answer")
EMPTY = "questions_empty"  # in the session: whether the visitor handed in no answer at all
PLAN = "plan"  # in the list of pages; no lesson has this name
STEP = N_("Step {done} of {total}.")


def lesson_summary() -> None:
    """Draw the summary of the lesson that the visitor has just finished; nothing without one."""
    visit = lesson_visit()
    if not visit.finished or not (opened := step_of_link(visit.finished)):
        return
    lesson, texts = opened[0], lesson_text(visit.finished, language())
    judged = [(step, verdict) for step in lesson.steps if (verdict := visit.found.get(lesson.link(step)))]
    found = [(texts.steps[step.name], verdict) for step, verdict in judged if verdict.right or step.predicts]
    with st.container(key="lesson_summary", border=True):
        st.header(t("What you have found in “{lesson}”", lesson=texts.title), anchor=False)
        st.markdown(texts.goal)
        for text, verdict in found:
            st.markdown(f"**{text.title}:** {filled(text.outcomes[verdict.outcome], verdict.values)}")
        if missing := len(lesson.steps) - len(found):
            st.caption(tn("{n} step has no result yet.", "{n} steps have no result yet.", n=missing))


def lesson_list() -> None:
    """Draw one row for each lesson. Its button opens the first step without an answer."""
    for number, lesson in enumerate(LESSONS, start=1):
        with st.container(key=f"lesson_{lesson.name}", border=True):
            lesson_row(number, lesson)


def lesson_titles() -> dict[str, str]:
    """The title of each lesson, with its number."""
    numbered = enumerate(LESSONS, start=1)
    return {one.name: f"{number}. {lesson_text(one.name, language()).title}" for number, one in numbered}


def lesson_row(number: int, lesson: Lesson) -> None:
    text, progress = lesson_text(lesson.name, language()), lesson_visit().progress
    left_open, steps = open_steps(lesson, progress), len(lesson.steps)
    done = steps - len(left_open)
    left, right = st.columns([5, 1.4], vertical_alignment="center")
    with left:
        st.markdown(f"**{number}. {text.title}** {text.goal}")
        size = tn(
            "{n} step, about {minutes} minutes.", "{n} steps, about {minutes} minutes.", n=steps, minutes=lesson.minutes
        )
        st.caption(sentences([size, t("Answered: {done} of {all}.", done=done, all=steps)]))
    label = t("Start") if not done else t("Continue") if done < steps else t("Again")
    right.button(
        label,
        key=f"open_{lesson.name}",
        type="secondary" if done == steps else "primary",
        width="stretch",
        help=t("Open the lesson “{title}”", title=text.title),
        on_click=lesson_visit().begin,
        args=(lesson.link((left_open or lesson.steps)[0]),),
    )


def forget_button() -> None:
    """A button that asks before it forgets all answers."""
    if not lesson_visit().progress:
        return
    with st.popover(t("Forget my progress"), icon=":material/delete:", type="tertiary"):
        st.markdown(t("Your answers are only in this browser. Remove them? This cannot be undone."))
        st.button(t("Remove my answers"), key="forget_progress", on_click=lesson_visit().forget)


def quiz_tab() -> None:
    """Draw the questions of a round, or what is known about it. A class receives every round that is handed in."""
    done = handed_in(lesson_visit().progress)
    for name, answers in done.items():
        CLASSES.note_round(visitor().name, name, answers)
    st.markdown(
        t(
            "Twelve questions before the lessons, and the same again after them, in another order. So you see what you "
            "have learned. Nobody sees your name."
        )
    )
    st.session_state.setdefault("questions_round", "after" if done else "before")
    chosen = st.segmented_control(
        t("Round"),
        ROUNDS,
        format_func=lambda name: t(ROUND_NAMES[name]),
        key="questions_round",
        label_visibility="collapsed",
        required=True,
    )
    if chosen in done:
        handed_in_round(chosen, done)
    elif chosen == "before" and "after" in done:
        st.info(t("You have answered after the lessons, so the first round is over."))
    else:
        quiz_form(str(chosen))
    if done:
        save_button(done)


def quiz_form(round_name: str) -> None:
    seed = (lesson_visit().session, round_name)
    if own_class():
        st.caption(t("Your class receives your answers without a name."))
    with st.form(key=f"questions_{round_name}", border=False):
        for number, one in enumerate(shuffled(questions(language()), *seed), start=1):
            st.radio(
                f"{number}. {one.question}",
                shuffled(list(one.options), *seed, one.name),
                format_func=one.options.__getitem__,
                index=None,
                key=question_key(round_name, one),
            )
        st.caption(t("Leave out what you do not know. You can hand in a round once."))
        st.form_submit_button(t("Hand in"), type="primary", on_click=take_round, args=(round_name,))
    if st.session_state.pop(EMPTY, False):
        st.warning(t("Answer at least one question, then hand in."))


def question_key(round_name: str, one: Question) -> str:
    return f"question_{round_name}_{one.name}"


def take_round(round_name: str) -> None:
    """Callback: hand in the chosen options."""
    chosen = {one.name: st.session_state.get(question_key(round_name, one)) for one in questions(language())}
    if answers := {name: option for name, option in chosen.items() if option}:
        lesson_visit().hand_in(round_name, answers)
    else:
        st.session_state[EMPTY] = True


def handed_in_round(round_name: str, done: dict[str, dict[str, str]]) -> None:
    """How a round came out. The right answers stay hidden until the second round is over."""
    if "after" not in done:
        n = len(done[round_name])
        counted = tn("You have handed in {n} answer.", "You have handed in {n} answers.", n=n)
        st.success(sentences([counted, t("The right answers appear after the second round.")]))
        return
    scores = {name: right_answers(answers) for name, answers in done.items()}
    total = len(questions(language()))
    st.columns(3)[0].metric(
        t("Right answers, {round}", round=t(ROUND_NAMES[round_name])),
        t("{n} of {total}", n=scores[round_name], total=total),
        scores["after"] - scores["before"] if round_name == "after" and "before" in scores else None,
        delta_description=t("against the first round") if round_name == "after" and "before" in scores else None,
    )
    for number, one in enumerate(questions(language()), start=1):
        answer_line(number, one, done[round_name])


def answer_line(number: int, one: Question, answers: QuizAnswers) -> None:
    given = answers.get(one.name)
    icon = ":material/check_circle:" if given == one.right else ":material/cancel:"
    own = t("No answer.") if given is None else t("Your answer: {answer}", answer=one.options[given])
    lines = [f"{icon} **{number}. {one.question}**", own]
    if given != one.right:
        lines.append(t("Right: {answer}", answer=one.options[one.right]))
    st.markdown("  \n".join([*lines, one.why]))


def save_button(done: dict[str, dict[str, str]]) -> None:
    st.download_button(
        t("Save my answers (CSV)"),
        quiz_csv({id_in(lesson_visit().progress): done}),
        "questions.csv",
        "text/csv",
        key="questions_csv",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


def quiz_csv(answered: Mapping[str, Mapping[str, QuizAnswers]]) -> bytes:
    """The answers (random id → round → answers) as a table for `benchmarks/learning_gain.py`, with English headings.

    It has one row for each id, round and question, with the option, or "" without an answer.
    """
    rows = [
        (name, one, question.name, answers.get(question.name, ""))
        for name, rounds in answered.items()
        for one, answers in rounds.items()
        for question in questions(ENGLISH)
    ]
    return pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False).encode("utf-8-sig")


def for_teachers() -> None:
    """Draw the choice of a page for paper, and the plan."""
    st.markdown(
        t(
            "A page for paper has the questions of a lesson, the expected answers with the numbers of this server, and "
            "common mistakes. It also opens in a browser without this app."
        )
    )
    titles = lesson_titles()
    titles[PLAN] = plan_text(language()).partition("\n")[0].removeprefix("# ")
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    name = left.selectbox(t("Page for paper"), titles, format_func=lambda one: titles[one], key="sheet")
    if name == PLAN:
        save_sheet(right, PLAN, plan_sheet(plan_text(language())))
    else:
        sheet_of(next(lesson for lesson in LESSONS if lesson.name == name), right)
    with st.expander(titles[PLAN], key="plan"):
        st.markdown(plan_text(language()).partition("\n")[2])


def sheet_of(lesson: Lesson, place: DeltaGenerator) -> None:
    """The page of a lesson. Its numbers are computed once for all visitors."""
    keys = tuple(one.key for one in shared_checkpoints() if one.config)
    known, work = known_answers(lesson, keys), expected_work(lesson, keys)
    if known is None:
        start = place.button(t("Make the page"), key="sheet_make", type="primary", width="stretch")
        if (start or requested(work[0])) and wait_for(*work, lane="lessons", step=STEP) is not None:
            st.rerun()
        return
    url = st.context.url or ""
    reachable, _ = addresses_for_others(url, st.get_option("server.address"))
    sheet = lesson_sheet(
        lesson,
        lesson_text(lesson.name, language()),
        known,
        number=LESSONS.index(lesson) + 1,
        address=link([*reachable, url][0], ()),
        made=date.today(),
    )
    save_sheet(place, lesson.name, sheet)


def save_sheet(place: DeltaGenerator, name: str, sheet: str) -> None:
    place.download_button(
        t("Save the page (HTML)"),
        sheet,
        f"{name}-{language()}.html",
        "text/html",
        key="sheet_save",
        type="primary",
        width="stretch",
        on_click="ignore",
    )
