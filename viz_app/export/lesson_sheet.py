"""A lesson on paper for its teacher: questions, expected answers with the numbers of this server, common mistakes."""

from collections.abc import Sequence
from datetime import date
from html import escape
from urllib.parse import urlencode

from viz_app.content.lesson_texts import LessonText, StepText, filled
from viz_app.content.numbers import day, joined, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import language, t, tn
from viz_app.course.expected import Expected, Judged
from viz_app.course.lesson import Lesson, Number, OneOf, Step
from viz_app.export.printable import blocks, document, inline

__all__ = ["lesson_sheet", "plan_sheet", "right_answers"]


def lesson_sheet(
    lesson: Lesson, texts: LessonText, expected: Sequence[Expected], *, number: int, address: str, made: date
) -> str:
    """The page of a lesson in the language of this thread, as one HTML file.

    Args:
        lesson: The lesson.
        texts: Its texts.
        expected: The expected answers to each of its steps.
        number: The place of the lesson in the course, from 1.
        address: Of this server; the links of the steps begin with it.
        made: The date on the page.
    """
    title = t("Lesson {number}: {title}", number=number, title=texts.title)
    parts = [f"<h1>{escape(title)}</h1>", blocks(texts.goal), about(lesson, made)]
    for place, (step, known) in enumerate(zip(lesson.steps, expected, strict=True), start=1):
        link = f"{address}?{urlencode({'lesson': lesson.link(step), 'lang': language()})}"
        parts.append(section(place, step, texts.steps[step.name], known, link))
    return document(title, "\n".join(parts))


def plan_sheet(plan: str) -> str:
    """A plan as one HTML file.

    Args:
        plan: Markdown; its first line is the title.
    """
    return document(plan.partition("\n")[0].removeprefix("# "), blocks(plan))


def about(lesson: Lesson, made: date) -> str:
    size = tn(
        "{n} step, about {minutes} minutes alone.",
        "{n} steps, about {minutes} minutes alone.",
        n=len(lesson.steps),
        minutes=lesson.minutes,
    )
    origin = t("The numbers come from the checkpoints of this server on {day}.", day=day(made))
    return f'<p class="about">{escape(sentences([size, origin]))}</p>'


def section(place: int, step: Step, text: StepText, known: Expected, link: str) -> str:
    parts = [
        f"<h2>{place}. {inline(text.title)}</h2>",
        f'<p class="link"><a href="{escape(link, quote=True)}">{escape(link)}</a></p>',
        blocks(text.text),
        f'<p class="question">{inline(text.question)}</p>',
        answers(step, text, known),
    ]
    if text.mistakes:
        parts.append(f"<h3>{escape(t('Common mistakes'))}</h3>{blocks(text.mistakes)}")
    if text.source:
        parts.append(f'<p class="about">{inline(t("Source: {source}", source=text.source))}</p>')
    parts.append(f'<div class="notes">{escape(t("Notes"))}</div>')
    return f"<section>{''.join(parts)}</section>"


def answers(step: Step, text: StepText, known: Expected) -> str:
    heading = f"<h3>{escape(t('Expected answer'))}</h3>"
    if known.missing:
        missing = t("This server has no checkpoint {name}, so its numbers are missing here.", name=plain(known.missing))
        return f"{heading}<p>{inline(missing)}</p>"
    if isinstance(step.answer, OneOf):
        return f'<div class="together">{heading}{options(text, known.judged)}</div>'
    if not step.predicts or not known.judged:
        return heading + open_ended(text, known.judged)
    (judged,) = known.judged
    return f"{heading}<p><b>{inline(right_answers(step, text, judged))}</b></p><p>{inline(said(text, judged))}</p>"


def options(text: StepText, judged: Sequence[Judged]) -> str:
    """One row for each option: whether it is right, and what the strip says."""
    rows = "".join(
        f'<tr><td class="mark">{"✓" if one.verdict.right else "–"}</td><td>{inline(text.options[one.answers[0]])}</td>'
        f"<td>{inline(said(text, one))}</td></tr>"
        for one in judged
    )
    heads = "".join(f"<th>{escape(head)}</th>" for head in ("", t("Option"), t("What the app says")))
    return f"<table><tr>{heads}</tr>{rows}</table>"


def open_ended(text: StepText, judged: Sequence[Judged]) -> str:
    """Where many answers are right: an example, and what the strip says before the first try."""
    parts = [t("Every answer that the run confirms counts as right.")]
    if text.hints:
        parts.append(t("An example, from the last hint: {hint}", hint=text.hints[-1]))
    before = [t("Before the first try the app says: {words}", words=said(text, one)) for one in judged]
    return "".join(f"<p>{inline(line)}</p>" for line in [sentences(parts), *before])


def right_answers(step: Step, text: StepText, judged: Judged) -> str:
    """The right answers in Markdown.

    Args:
        step: The step.
        text: Its texts.
        judged: Right answers of `expected_answers`.
    """
    if isinstance(step.answer, OneOf):
        return text.options[judged.answers[0]]
    if isinstance(step.answer, Number):
        low, high = judged.answers
        return low if low == high else t("{low} to {high} counts as right.", low=low, high=high)
    return joined([f"“{plain(answer)}”" for answer in dict.fromkeys(judged.answers)])


def said(text: StepText, judged: Judged) -> str:
    """What the strip says after an answer."""
    return filled(text.outcomes[judged.verdict.outcome], judged.verdict.values)
