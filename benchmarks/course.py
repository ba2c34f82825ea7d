"""A class of forty joins a lesson at once, and answers its first two steps at the same time.

    PYTHONPATH=. python benchmarks/course.py [--visitors 40] [--lesson query-key-value]
    PYTHONPATH=. python benchmarks/course.py --visitors 160 --processes 4 --within 30 --kill
    HEADLIGHT_STORE=redis://… PYTHONPATH=. python benchmarks/course.py --processes 4

Simulated visitors (`visitor.py`) do what the browsers of a class do: all type the code of the class in the same moment,
answer the first step, go to the next one and answer it, each as soon as the page has answered. Some reload in between.
With `--within`, they do each of this at random moments within so many seconds, as people do. `--processes` are behind
nginx. With `--kill`, one of them is killed after the first answers; its visitors come back at another one.
Prints p50 and p95 of each change, and what the teacher sees in the end: the number of students must be exactly that of
the visitors, because a reload counts once, and each of the two steps must have all answers. Ends with an error if not.
"""

import argparse
import asyncio
import os
import random
import re
import statistics
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

from pyarrow import ipc

from benchmarks.server import Server, school, streamlit
from benchmarks.visitor import Answer, PageError, Visitor
from viz_app.content.catalogues import ENGLISH
from viz_app.content.lesson_texts import lesson_text
from viz_app.course.catalogue import LESSONS
from viz_app.course.lesson import Lesson, OneOf, OneToken

CODE = re.compile(r"[a-z2-9]{5}")
JOINED = re.compile(r"\*\*(\d+) students?\*\*")
RELOADS = 4  # every fourth visitor reloads
Act = Callable[[int, Visitor], Awaitable[Answer]]


async def open_class(teacher: Visitor, lesson: Lesson) -> str:
    """Open a class on the page Lessons. Returns its code."""
    await teacher.look()
    title = lesson_text(lesson.name, ENGLISH).title
    await teacher.choose("class_lesson", f"{LESSONS.index(lesson) + 1}. {title}")
    answer = await teacher.press("Open a class")
    codes = [text for text in answer.texts if CODE.fullmatch(text)]
    if len(codes) != 1:
        raise PageError("The teacher sees no code.")
    return codes[0]


async def at_once(name: str, visitors: Sequence[Visitor], act: Act, within: float = 0.0) -> None:
    """Let all visitors act within so many seconds, and print how long the pages took."""

    async def later(number: int, visitor: Visitor) -> Answer:
        await asyncio.sleep(random.uniform(0, within))
        return await act(number, visitor)

    answers = await asyncio.gather(*(later(number, one) for number, one in enumerate(visitors)))
    times = sorted(one.seconds for one in answers)
    p95 = times[round(0.95 * (len(times) - 1))]
    print(
        f"{name:20} p50 {statistics.median(times):6.2f} s   p95 {p95:6.2f} s   load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


async def browser(server: Server, stack: AsyncExitStack) -> Visitor:
    """A visitor with the cookies of a browser, on the page where a class types its code."""
    visitor = Visitor(server.url, page="start")
    await visitor.take_cookies()
    return await stack.enter_async_context(visitor)


async def join(visitor: Visitor, code: str) -> Answer:
    """Type the code. The page then empties the field, so it is not sent again."""
    field = next(i for i, label in enumerate(visitor.fields) if label.startswith("Type the code"))
    answer = await visitor.type(code, field=field)
    visitor.typed.clear()
    return answer


async def come_back(server: Server, visitors: Sequence[Visitor]) -> None:
    """Kill a process of the server, and let its visitors do what their browsers do then."""
    assert server.process is not None
    apps = [one for one in server.process.children() if "streamlit" in one.cmdline()]
    apps[0].kill()
    await asyncio.sleep(1)
    moving = [one for one in visitors if one.socket is None or one.socket.close_code is not None]
    print(f"killed one of {len(apps)} processes, with {len(moving)} visitors")
    if moving:
        await at_once("comes back", moving, lambda _, one: one.come_back())


async def attend(server: Server, lesson: Lesson, count: int, *, within: float = 0.0, kill: bool = False) -> list[str]:
    """One class. Returns what is wrong with the teacher's report."""
    first, second = lesson.steps[:2]
    keys = [f"lesson_answer_{lesson.link(step)}" for step in (first, second)]
    async with AsyncExitStack() as stack:
        teacher = await stack.enter_async_context(Visitor(server.url, page="lessons", query="lessons_tab=teach"))
        code = await open_class(teacher, lesson)
        visitors = [await browser(server, stack) for _ in range(count)]
        await at_once("first page", visitors, lambda _, one: one.look(), within)
        await at_once("joins", visitors, lambda _, one: join(one, code), within)
        await at_once("answers step 1", visitors, lambda number, one: one.pick(keys[0], number), within)
        if kill:
            await come_back(server, [teacher, *visitors])
        await at_once("opens step 2", visitors, lambda _, one: one.press("Next"), within)
        await at_once("reloads", visitors[::RELOADS], lambda _, one: one.reload(second.page), within)
        await at_once("answers step 2", visitors, lambda number, one: one.pick(keys[1], number), within)
        report = await teacher.look()
    return problems(report, teacher.tables, count)


def problems(report: Answer, tables: Sequence[bytes], count: int) -> list[str]:
    """What the teacher sees, against what the visitors did."""
    members = [int(found[1]) for text in report.texts if (found := JOINED.search(text))]
    answered = ipc.open_stream(tables[0]).read_pandas()["Answered"].tolist()[:2] if tables else []
    print(f"the teacher sees: students {members}, answers to steps 1 and 2 {answered}")
    wanted = [[count], [count, count]]
    return [] if [members, answered] == wanted else [f"It must be {wanted}."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = {one.name: one for one in LESSONS if all(isinstance(s.answer, OneOf | OneToken) for s in one.steps[:2])}
    parser.add_argument("--visitors", type=int, default=40)
    parser.add_argument("--lesson", choices=names, default="query-key-value")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--within", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    with streamlit("streamlit_app.py") if given.processes == 1 else school(given.processes) as server:
        wrong = asyncio.run(attend(server, names[given.lesson], given.visitors, within=given.within, kill=given.kill))
        if server.tracebacks():
            wrong.append(f"The log of the server has {server.tracebacks()} tracebacks.")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
