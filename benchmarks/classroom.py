"""Forty visitors use the app at once, and each types a new sentence every five seconds.

    PYTHONPATH=. python benchmarks/classroom.py [--visitors 40] [--seconds 30] [--rounds 2]
    PYTHONPATH=. python benchmarks/classroom.py --measure-heads      # one visitor also measures every head
    PYTHONPATH=. python benchmarks/classroom.py --soak 60            # minutes of long sentences; prints the memory
    PYTHONPATH=. python benchmarks/classroom.py --pages compare learning "inside?inside_tab=stations"
    PYTHONPATH=. python benchmarks/classroom.py --languages en zh ko    # against the same class in English
    PYTHONPATH=. python benchmarks/classroom.py --url http://localhost:8080

Visitors speak Streamlit's own websocket protocol (`visitor.py`) and are spread over Translate, Step by step, Inside,
Masks and Heads. A visitor who still waits when the next sentence is due skips that sentence. Prints the cost of one
visitor, the time until all have their first page, p50 and p95 from Enter to the end of the script, the server's
processor time and network traffic per change, and the memory of the server. A bare Streamlit page (`bare_page.py`) gets
the same load, in turns with ours. The visitors use the same processor, and so may other programs: each line also shows
the load of the machine.
"""

import argparse
import asyncio
import itertools
import os
import random
import statistics
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from websockets.exceptions import WebSocketException

from benchmarks.server import Server, streamlit
from benchmarks.visitor import Answer, PageError, Visitor

PAGES = ("", "steps", "inside", "masks", "heads")  # as many visitors on each
PACE = 5.0  # seconds between two sentences of a visitor
SENTENCES = 24  # for the visitor who measures every head
WHO = ("A man", "A woman", "A small child", "An old lady", "A young boy", "Two girls", "Three people", "A worker")
DOES = ("walking", "waiting", "singing", "sitting", "dancing", "cooking", "reading", "sleeping", "running", "working")
WHERE = ("on the beach", "in a park", "near the river", "at a table", "in the snow", "on a street", "behind a house")
WITH = ("a large dog", "a red ball", "two friends", "a guitar", "a blue bag", "an umbrella", "a bicycle", "a camera")
TROUBLE = (PageError, TimeoutError, WebSocketException, OSError)
HEADER = (
    f"{'':9} {'all opened':>10} {'p50 s':>7} {'p95 s':>7} {'answers':>8} {'missed':>6} {'errors':>6} "
    f"{'ms/change':>9} {'kB/change':>9} {'peak MB':>8} {'load':>5}"
)


def sentence(number: int, parts: int = 1) -> str:
    """A sentence of about 14 words times `parts`, another one for every number."""
    rng = random.Random(number)

    def clause() -> str:
        return f"{rng.choice(WHO)} with {rng.choice(WITH)} is {rng.choice(DOES)} {rng.choice(WHERE)}"

    return ", and ".join(clause() for _ in range(parts)) + f" beside {number} others."


@dataclass(kw_only=True)
class Lesson:
    """Measurements of one class."""

    first_page: float = 0.0  # seconds until every visitor had a first page
    answers: list[Answer] = field(default_factory=list)
    missed: int = 0  # sentences that a visitor skipped while waiting
    errors: list[str] = field(default_factory=list)
    busy: float = 0.0  # seconds of processor time that the server used for the answers
    megabytes: list[float] = field(default_factory=list)

    def seconds(self, part: float) -> float:
        """The quantile of the times of all changes; `part` is 0 to 1."""
        times = sorted(answer.seconds for answer in self.answers)
        return times[round(part * (len(times) - 1))] if times else float("nan")

    def kilobytes(self) -> float:
        return statistics.mean(answer.size for answer in self.answers) / 1e3 if self.answers else float("nan")

    def milliseconds(self) -> float:
        """Processor time of the server for a change."""
        return 1000 * self.busy / len(self.answers) if self.answers else float("nan")

    def row(self, name: str, server: Server) -> str:
        """A line under `HEADER`, and the first errors below it."""
        errors = [*self.errors[:3], *([f"{server.tracebacks()} tracebacks in its log"] if server.tracebacks() else [])]
        return (
            f"{name:9} {self.first_page:10.1f} {self.seconds(0.5):7.2f} {self.seconds(0.95):7.2f} "
            f"{len(self.answers):8} {self.missed:6} {len(self.errors):6} {self.milliseconds():9.0f} "
            f"{self.kilobytes():9.0f} {max(self.megabytes, default=float('nan')):8.0f} {os.getloadavg()[0]:5.1f}"
        ) + "".join(f"\n    {error}" for error in errors)


@dataclass(frozen=True, kw_only=True)
class Room:
    """The visitors of a class, their pages and their sentences."""

    visitors: int
    numbers: Iterator[int]  # of the sentences: no two are the same
    pages: Sequence[str] = PAGES
    languages: Sequence[str] = ("en",)
    say: Callable[[int], str] = sentence

    async def lesson(self, server: Server, until: Coroutine[object, object, object]) -> Lesson:
        """All visitors open their page at once. Then each types until the coroutine `until` ends."""
        lesson, over = Lesson(), asyncio.Event()
        async with AsyncExitStack() as stack:
            places = [self.pages[i % len(self.pages)].partition("?") for i in range(self.visitors)]
            visitors = [
                Visitor(server.url, page=page, query=f"{query}&lang={language}".lstrip("&"))
                for (page, _, query), language in zip(places, itertools.cycle(self.languages))
            ]
            started = time.perf_counter()
            await asyncio.gather(*(self.enter(visitor, stack, lesson) for visitor in visitors))
            lesson.first_page = time.perf_counter() - started
            busy = server.busy_seconds()
            async with asyncio.TaskGroup() as group:
                for place, visitor in enumerate(visitors):
                    if visitor.fields:
                        group.create_task(self.study(visitor, PACE * place / self.visitors, over, lesson))
                group.create_task(weigh(server, over, lesson))
                try:
                    await until
                except TROUBLE as error:
                    lesson.errors.append(repr(error))
                over.set()
            lesson.busy = server.busy_seconds() - busy
        return lesson

    async def enter(self, visitor: Visitor, stack: AsyncExitStack, lesson: Lesson) -> None:
        try:
            await stack.enter_async_context(visitor)
            await visitor.look()
        except TROUBLE as error:
            lesson.errors.append(f"first page “{visitor.page}”: {error!r}")

    async def study(self, visitor: Visitor, pause: float, over: asyncio.Event, lesson: Lesson) -> None:
        due = time.perf_counter() + pause
        while not await passed(over, due - time.perf_counter()):
            try:
                lesson.answers.append(await visitor.type(self.say(next(self.numbers))))
            except TROUBLE as error:
                lesson.errors.append(f"page “{visitor.page}”: {error!r}")
                return
            late = max(0, int((time.perf_counter() - due) / PACE))
            lesson.missed += late
            due += (late + 1) * PACE


async def passed(event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event until the time limit. Returns whether it has happened."""
    try:
        await asyncio.wait_for(event.wait(), max(0.0, seconds))
    except TimeoutError:
        return False
    return True


async def weigh(server: Server, over: asyncio.Event, lesson: Lesson) -> None:
    while True:
        lesson.megabytes.append(server.megabytes())
        if await passed(over, 0.5):
            return


async def alone(server: Server, numbers: Iterator[int], changes: int = 20) -> str:
    """The cost of one visitor's change on Translate."""
    async with Visitor(server.url) as visitor:
        first = await visitor.look()
        await visitor.type(sentence(next(numbers)))
        busy = server.busy_seconds()
        answers = [await visitor.type(sentence(next(numbers))) for _ in range(changes)]
        busy = (server.busy_seconds() - busy) / changes
    wall = statistics.median(answer.seconds for answer in answers)
    return (
        f"one visitor: first page of all {first.seconds:.1f} s; a change on Translate costs the server "
        f"{1000 * busy:.0f} ms of processor time and is answered within {1000 * wall:.0f} ms (median of {changes})"
    )


async def measured_heads(server: Server, numbers: Iterator[int]) -> None:
    """One visitor measures every head on their own sentences."""
    query = "heads_tab=Importance&sentences_from=pasted"
    async with Visitor(server.url, page="heads", query=query, patience=600) as visitor:
        await visitor.look()
        await visitor.type("\n".join(sentence(number) for number in itertools.islice(numbers, SENTENCES)))
        answer = await visitor.press("Measure every head")
    print(f"every head measured over {SENTENCES} sentences in {answer.seconds:.1f} s")


async def compare(ours: Server, bare: Server, room: Room, given: argparse.Namespace) -> None:
    """The same class on our pages and on a bare page, in turns. Prints ratios of the medians over the rounds."""
    print(await alone(ours, room.numbers))
    async with Visitor(bare.url) as visitor:
        await visitor.look()
    print(HEADER)
    plain = Room(visitors=room.visitors, numbers=room.numbers, pages=("",))
    await take_turns({"Headlight": (ours, room), "bare": (bare, plain)}, given, against="bare Streamlit")


async def in_languages(server: Server, room: Room, given: argparse.Namespace) -> None:
    """The same class in several languages and in English, in turns."""
    print(await alone(server, room.numbers))
    print(HEADER)
    english = replace(room, languages=("en",))
    await room.lesson(server, asyncio.sleep(given.seconds))  # reads the catalogues and opens the checkpoints
    await take_turns({"languages": (server, room), "English": (server, english)}, given, against="English alone")


async def take_turns(classes: Mapping[str, tuple[Server, Room]], given: argparse.Namespace, *, against: str) -> None:
    """Two classes in turns. Prints ratios of the medians over the rounds."""
    lessons: dict[str, list[Lesson]] = {name: [] for name in classes}
    for _ in range(given.rounds):
        for name, (server, room) in classes.items():
            lesson = await room.lesson(server, asyncio.sleep(given.seconds))
            lessons[name].append(lesson)
            print(lesson.row(name, server), flush=True)
    figures: dict[str, Callable[[Lesson], float]] = {
        "all opened": lambda lesson: lesson.first_page,
        "p50": lambda lesson: lesson.seconds(0.5),
        "p95": lambda lesson: lesson.seconds(0.95),
        "processor": Lesson.milliseconds,
        "bytes": Lesson.kilobytes,
    }
    for what, figure in figures.items():
        first, second = (statistics.median(map(figure, found)) for found in lessons.values())
        print(f"{what:10} {first / second:6.2f} × {against}")


async def long_work(server: Server, room: Room, given: argparse.Namespace) -> None:
    """The usual class, then the same class while one more visitor measures every head."""
    print(await alone(server, room.numbers))
    print(HEADER)
    before = await room.lesson(server, asyncio.sleep(given.seconds))
    print(before.row("before", server), flush=True)
    meanwhile = await room.lesson(server, measured_heads(server, room.numbers))
    print(meanwhile.row("meanwhile", server))
    print(f"p95 {meanwhile.seconds(0.95) / before.seconds(0.95):6.2f} × before")


async def soak(server: Server, room: Room, given: argparse.Namespace) -> None:
    """Classes of one minute with new sentences of 10 to 120 words. Prints the memory after each class."""
    long = Room(visitors=room.visitors, numbers=room.numbers, say=lambda number: sentence(number, 1 + number % 12))
    started = time.perf_counter()
    print(HEADER)
    while (minutes := (time.perf_counter() - started) / 60) < given.soak:
        lesson = await long.lesson(server, asyncio.sleep(60))
        print(lesson.row(f"{minutes:.1f} min", server), flush=True)


async def visit(server: Server, room: Room, given: argparse.Namespace) -> None:
    """Only the class, on a server that is already running."""
    print(HEADER)
    for _ in range(given.rounds):
        print((await room.lesson(server, asyncio.sleep(given.seconds))).row("Headlight", server), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=30, help="of a lesson")
    parser.add_argument("--rounds", type=int, default=2)
    text = "over which the visitors are spread, such as compare 'inside?inside_tab=stations'"
    parser.add_argument("--pages", nargs="+", default=PAGES, metavar="PAGE?QUERY", help=text)
    text_of_languages = "of the interface; the visitors take them in turns"
    parser.add_argument("--languages", nargs="+", default=(), metavar="CODE", help=text_of_languages)
    parser.add_argument("--measure-heads", action="store_true")
    parser.add_argument("--soak", type=float, default=0, metavar="MINUTES")
    parser.add_argument("--url", help="a server that runs on this machine; without it, one is started")
    parser.add_argument("--streamlit", action="append", default=[], metavar="--OPTION=VALUE", help="for our servers")
    given = parser.parse_args()
    numbers = itertools.count(int(time.time()) % 100_000)
    languages = given.languages or ("en",)
    room = Room(visitors=given.visitors, numbers=numbers, pages=given.pages, languages=languages)
    work = soak if given.soak else long_work if given.measure_heads else in_languages if given.languages else visit
    if given.url:
        if urlsplit(given.url).hostname not in ("localhost", "127.0.0.1", "::1"):
            parser.error(f"{given.url} is not on this machine; such a load on another one is an attack.")
        asyncio.run(work(Server(url=given.url.rstrip("/")), room, given))
        return
    with streamlit("streamlit_app.py", *given.streamlit) as ours:
        if work is not visit:
            asyncio.run(work(ours, room, given))
            return
        with streamlit("benchmarks/bare_page.py", *given.streamlit) as bare:
            asyncio.run(compare(ours, bare, room, given))


if __name__ == "__main__":
    main()
