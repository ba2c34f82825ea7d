"""Objects that all visitors share: the gate to the cores, the cache for results, the jobs."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

import streamlit as st

from viz_app.content.translation import t
from viz_app.server.cache import Cache, read_only
from viz_app.server.gate import Gate
from viz_app.server.jobs import Jobs, Lane
from viz_app.server.resources import Throttled, cores, freeze_imports, limit_heaps, memory, return_freed_memory
from viz_app.server.waiting_message import waiting

__all__ = [
    "CORES",
    "GATE",
    "JOBS",
    "MAX_CHARACTERS",
    "MEGABYTE",
    "MODELS_SHARE",
    "RESULTS",
    "cut",
    "keep",
    "known",
    "remembered",
    "turn",
]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MEGABYTE = 1 << 20
MAX_CHARACTERS = 20_000  # of a text; the rest is cut off first of all
CORES = cores()
GATE = Gate(CORES)
JOBS = Jobs(
    {
        "training": Lane(width=CORES, seconds=1800, each=1),  # own processes with a low priority
        "importance": Lane(width=1, seconds=600),
        "effects": Lane(width=1, seconds=1200),
        "run": Lane(width=CORES, seconds=300),
        "search": Lane(width=1, seconds=120),
        "patching": Lane(width=1, seconds=120),
        "alignment": Lane(width=1, seconds=300),
        "snapshots": Lane(width=16, seconds=120),
        "lessons": Lane(width=1, seconds=300),
    }
)
MODELS_SHARE = memory() // 6  # a visitor's model may be a hundred times as large as ours
# The longest text of a bundled checkpoint makes 19 MB of maps. 440 tokens in a GPT-2 of 12 × 12 heads make 111 MB, and
# take 3 s. The limit of `longest_text` is 400 MB. Such a result is kept, because each click needs it again.
RESULTS_SHARE = min(memory() // 16, 1024 * MEGABYTE)
RESULTS = Cache(capacity=RESULTS_SHARE, largest=RESULTS_SHARE * 7 // 8, waiting=GATE.outside)
# The results of this run of a page that are too large to keep: a page asks for the same one in several places.
LARGE: ContextVar[dict[Hashable, object] | None] = ContextVar("LARGE", default=None)
limit_heaps()
return_memory = Throttled(work=return_freed_memory, seconds=10)


def remembered(message: str = "") -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Keep the results of a function in `RESULTS`, by its name and arguments. Long texts in arguments are cut.

    Args:
        message: Shown to the visitor during the computation, in the language of the visitor.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def ask(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            key = key_of(function, args, kwargs)

            def compute() -> Result:
                GATE.give_way()  # a page that needs a hundred results lets others run in between
                with waiting(t(message)) if message else nullcontext():
                    return read_only(cast(Callable[..., Result], function)(*key[2:]))

            large = LARGE.get()
            if large and key in large:
                return cast(Result, large[key])
            result = RESULTS.get(key, compute)
            if large is not None and RESULTS.peek(key) is None:
                large[key] = result
            return result

        return ask

    return decorate


def known(function: Callable[..., object], *args: object, **kwargs: object) -> object | None:
    """The kept result of a call of a `remembered` function; None without one."""
    return RESULTS.peek(key_of(function, args, kwargs))


def keep(result: Result, function: Callable[..., Result], *args: object, **kwargs: object) -> Result:
    """Keep a result as if the call of a `remembered` function had returned it."""
    return RESULTS.get(key_of(function, args, kwargs), lambda: read_only(result))


def key_of(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Hashable, ...]:
    """The key of a call: the function, then every argument in its order, also where the caller left out a default."""
    given = signature_of(function).bind(*args, **kwargs)
    given.apply_defaults()
    return (function.__module__, function.__qualname__, *map(cut, given.arguments.values()))


signature_of = cache(signature)  # reading one takes longer than the rest of a key


def cut(argument: Any) -> Any:
    """The argument with its texts cut to `MAX_CHARACTERS`."""
    if isinstance(argument, str):
        return argument[:MAX_CHARACTERS]
    if hasattr(argument, "shortened"):  # a run
        return argument.shortened(MAX_CHARACTERS)
    if not isinstance(argument, tuple):
        return argument
    parts = tuple(map(cut, argument))
    return parts if type(argument) is tuple else type(argument)(*parts)  # a pair of texts stays one


@contextmanager
def turn() -> Iterator[None]:
    """Run a page inside the gate. A visitor who waits longer than a moment reads the length of the queue."""
    place = st.empty()
    waited = False

    def show_queue(before: int) -> None:
        nonlocal waited
        waited = True
        many = t("Many visitors use this server now. Visitors before you: {before}.", before=before)
        place.info(many if before else t("You are next."), icon=":material/hourglass_top:")

    large = LARGE.set({})
    try:
        with GATE.inside(show_queue):
            if waited:
                place.empty()
            yield
    finally:  # a page may end early, and new input may stop it
        LARGE.reset(large)
        return_memory()
        freeze_imports()
