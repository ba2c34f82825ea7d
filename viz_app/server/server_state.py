"""What all visitors share: the gate to the cores, the memory for results and models, and the queue of long work."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import ParamSpec, TypeVar, cast

import streamlit as st

from viz_app.server.cache import Cache, read_only
from viz_app.server.gate import Gate
from viz_app.server.jobs import Jobs, Lane
from viz_app.server.resources import Seldom, cores, freeze_imports, give_back_freed_memory, keep_heaps_few, memory
from viz_app.server.waiting_message import waiting

__all__ = [
    "CORES",
    "GATE",
    "JOBS",
    "MAX_CHARACTERS",
    "MEGABYTE",
    "MODELS_SHARE",
    "RESULTS",
    "keep",
    "known",
    "remembered",
    "turn",
]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MEGABYTE = 1 << 20
MAX_CHARACTERS = 20_000  # of a text; what is beyond is cut off before anything else is done
CORES = cores()
GATE = Gate(CORES)
JOBS = Jobs(
    {
        "training": Lane(width=CORES, seconds=1800, each=1),  # processes of their own, which let pages go first
        "importance": Lane(width=1, seconds=600),
        "search": Lane(width=1, seconds=120),
        "pasting": Lane(width=1, seconds=120),
        "alignment": Lane(width=1, seconds=300),
        "snapshots": Lane(width=16, seconds=120),
    }
)
MODELS_SHARE = memory() // 6  # a model that people bring may be a hundred times as large as ours
# The longest text of a bundled checkpoint makes 19 MB of maps, 400 words in a BERT 80: those would take 3 s each time.
RESULTS = Cache(capacity=min(memory() // 16, 256 * MEGABYTE), largest=96 * MEGABYTE, waiting=GATE.outside)
keep_heaps_few()
tidy_up = Seldom(work=give_back_freed_memory, seconds=10)


def remembered(says: str = "") -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Keep what a function returns in `RESULTS`, by its name and its arguments; texts among these are cut.

    Args:
        says: What a visitor reads while it is computed.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = inspect.signature(function)

        @wraps(function)
        def ask(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            arguments = tuple(map(cut, given.arguments.values()))

            def compute() -> Result:
                GATE.give_way()  # a page that asks for a hundred sentences lets others in between
                with waiting(says) if says else nullcontext():
                    return read_only(cast(Callable[..., Result], function)(*arguments))

            return RESULTS.get((function.__qualname__, *arguments), compute)

        return ask

    return decorate


def known(function: Callable[..., object], *arguments: object) -> object | None:
    """What is kept of a call of a `remembered` function, None where nothing is."""
    return RESULTS.peek((function.__qualname__, *map(cut, arguments)))


def keep(result: Result, function: Callable[..., Result], *arguments: object) -> Result:
    """Keep a result as if the call of a `remembered` function had returned it."""
    return RESULTS.get((function.__qualname__, *map(cut, arguments)), lambda: read_only(result))


def cut(argument: object) -> object:
    if isinstance(argument, str):
        return argument[:MAX_CHARACTERS]
    return tuple(map(cut, argument)) if type(argument) is tuple else argument


@contextmanager
def turn() -> Iterator[None]:
    """Run a page when its turn has come; who waits longer than a moment reads how many are before."""
    place = st.empty()
    told = False

    def tell(before: int) -> None:
        nonlocal told
        told = True
        visitors = "1 visitor is" if before == 1 else f"{before} visitors are"
        place.info(
            "Your turn is next." if not before else f"Many are here at once: {visitors} before you.",
            icon=":material/hourglass_top:",
        )

    try:
        with GATE.inside(tell):
            if told:
                place.empty()
            yield
    finally:  # a page may stop early, or be stopped by the next thing that is typed
        tidy_up()
        freeze_imports()
