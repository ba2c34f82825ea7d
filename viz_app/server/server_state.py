"""What all visitors share: the gate to the cores, the jobs, and the cache of results, which is bounded in bytes."""

import sys
import threading
import time
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import is_dataclass, replace
from functools import cache, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd
import streamlit as st

from viz_app.content.translation import t
from viz_app.server.jobs import Jobs, Lane
from viz_app.server.resources import cores, freeze_imports, limit_heaps, memory, return_freed_memory, throttled
from viz_app.server.streamlit_bridge import has_page, join_page

__all__ = [
    "GATE",
    "JOBS",
    "MAX_CHARACTERS",
    "MEGABYTE",
    "MODELS_SHARE",
    "PAGE_TIMES",
    "RESULTS",
    "Cache",
    "Gate",
    "Times",
    "cut",
    "keep",
    "key_of",
    "known",
    "once_per_run",
    "read_only",
    "remembered",
    "signature_of",
    "size_of",
    "turn",
    "waiting",
]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
ATOMS = frozenset((str, bytes, int, float, bool, type(None)))
MOMENT = 0.2  # seconds until a message about a computation appears
PATIENCE = 0.3  # seconds that a visitor waits at the gate before the first message
REPEAT = 0.5  # seconds between two messages
SLICE = 0.25  # seconds inside the gate without a break, so that a short page runs in one turn


def ignore(_: int) -> None: ...


class Gate:
    """Lets as many threads run as there are cores, in the order in which they came.

    Forty threads at once would slow each other down and do less work in total. A thread inside may go `outside` for a
    while, to wait for another thread or to let others run.
    """

    def __init__(self, width: int) -> None:
        self._free = width
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()  # set when its thread may enter
        self._thread = threading.local()

    @property
    def waiting(self) -> int:
        """The number of threads that wait."""
        return len(self._queue)

    @contextmanager
    def inside(self, on_wait: Callable[[int], None] = ignore, *, first: bool = False) -> Iterator[None]:
        """Wait, enter, and leave at the end. A thread that is already inside just continues.

        Args:
            on_wait: Called from time to time with the number of threads before this one. An exception in it ends the
                waiting.
            first: Wait at the head of the queue. This is for the work of a page that has waited already and stays
                outside until the work is done.
        """
        if self._is_inside():
            yield
            return
        self._enter(on_wait, first=first)
        try:
            yield
        finally:
            if self._is_inside():
                self._leave()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave, and at the end enter again from the head of the queue. A thread outside just continues.

        A thread that was inside has already waited once, and little of its work is left. After an exception it stays
        outside, because nothing is left to do inside.
        """
        if not self._is_inside():
            yield
            return
        self._leave()
        yield
        self._enter(first=True)

    def give_way(self) -> None:
        """Between two steps of long work: let the threads that wait go first."""
        if self._queue and self._is_inside() and time.monotonic() - self._thread.since > SLICE:
            self._leave()
            self._enter()

    def _is_inside(self) -> bool:
        return getattr(self._thread, "inside", False)

    def _enter(self, on_wait: Callable[[int], None] = ignore, *, first: bool = False) -> None:
        turn = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                turn.set()
            elif first:
                self._queue.appendleft(turn)
            else:
                self._queue.append(turn)
        try:
            patience = PATIENCE
            while not turn.wait(patience):
                patience = REPEAT
                on_wait(self._before(turn))
        except BaseException:
            with self._lock:
                if turn in self._queue:
                    self._queue.remove(turn)
                else:
                    self._let_next_in()
            raise
        self._thread.inside, self._thread.since = True, time.monotonic()

    def _before(self, turn: threading.Event) -> int:
        with self._lock:
            return self._queue.index(turn) if turn in self._queue else 0

    def _leave(self) -> None:
        self._thread.inside = False
        with self._lock:
            self._let_next_in()

    def _let_next_in(self) -> None:
        """Give the place of a thread that leaves to the first thread in the queue."""
        if self._queue:
            self._queue.popleft().set()
        else:
            self._free += 1


class Cache:
    """Results by key. A result that many threads request at the same time is computed once.

    All threads get the same object, so nobody should be able to change it; see `read_only`.
    """

    def __init__(
        self,
        *,
        capacity: int,
        largest: int | None = None,
        size: Callable[[object], int] | None = None,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """
        Args:
            capacity: The limit for all results together, in bytes.
            largest: The limit for one result, in bytes; a larger one is returned and not kept. None: the latest
                result is always kept, even if it is the only one that fits.
            size: Returns the bytes of a result.
            waiting: A context that is entered while another thread computes the result.
        """
        self._capacity, self._largest, self._waiting = capacity, largest, waiting
        self._size_of = size or size_of
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()  # the latest used is the last
        self._pending: dict[Hashable, Future[object]] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """The bytes of all results that are kept."""
        return self._size

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """The result that is kept under `key`, else that of `compute`. All threads that wait get its exception."""
        while True:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return cast(Result, self._kept[key][0])
                others = self._pending.get(key)
                if others is None:
                    self._pending[key] = mine = Future[object]()
            if others is None:
                return self._fulfil(key, mine, compute)
            with self._waiting():
                error = others.exception()
            if error is None:
                return cast(Result, others.result())
            if isinstance(error, Exception):
                raise error
            # The other visitor left, so this thread computes the result.

    def _fulfil(self, key: Hashable, mine: Future[object], compute: Callable[[], Result]) -> Result:
        try:
            result = compute()
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            mine.set_exception(error)
            raise
        with self._lock:
            self._keep(key, result)
            del self._pending[key]
        mine.set_result(result)
        return result

    def _keep(self, key: Hashable, result: object) -> None:
        size = self._size_of(result) + size_of(key)
        if self._largest is not None and size > self._largest:
            return
        self._kept[key] = result, size
        self._size += size
        while self._size > self._capacity and len(self._kept) > 1:
            _, (_, freed) = self._kept.popitem(last=False)
            self._size -= freed

    def peek(self, key: Hashable) -> object | None:
        """The result that is kept under `key`; None without one."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]


class Times:
    """How long something took: how often at most so many seconds (`limits`), and the sum."""

    def __init__(self) -> None:
        self.limits: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
        self.counts, self.sum = [0] * (len(self.limits) + 1), 0.0
        self._lock = threading.Lock()

    def add(self, seconds: float) -> None:
        with self._lock:
            self.counts[bisect_left(self.limits, seconds)] += 1
            self.sum += seconds


def read_only(value: Result) -> Result:
    """The same value with read-only arrays. An array that is a view of a larger one becomes a copy.

    It also changes arrays inside dataclasses, dictionaries, tuples and lists. All other values stay unchanged.
    """
    kind: Any = type(value)
    given: Any = value
    changed: Any = value
    if kind in ATOMS:
        return value
    if kind is np.ndarray:
        changed = given if given.base is None else given.copy()
        changed.setflags(write=False)
    elif kind is dict:
        changed = {name: read_only(part) for name, part in given.items()}
    elif kind in (tuple, list):
        parts = [part if type(part) in ATOMS else read_only(part) for part in given]
        if any(new is not old for new, old in zip(parts, given, strict=True)):
            changed = kind(parts)
    elif is_dataclass(kind):
        others = [(name, part) for name, part in vars(given).items() if type(part) not in ATOMS]
        new_parts = {name: new for name, old in others if (new := read_only(old)) is not old}
        changed = replace(given, **new_parts) if new_parts else value
    return cast(Result, changed)


def size_of(value: object) -> int:
    """The approximate bytes of a value with everything that it contains."""
    kind: Any = type(value)
    given: Any = value
    own = sys.getsizeof(value)
    if kind in ATOMS:
        return own
    parts: Iterable[object] = ()
    if kind is np.ndarray:
        return own if given.base is None else own + int(given.nbytes)
    if kind is pd.DataFrame:
        return int(given.memory_usage(deep=True).sum()) + 1024
    if kind is dict:
        parts = (*given, *given.values())
    elif kind in (tuple, list, frozenset, set):
        parts = given
    elif is_dataclass(kind):
        parts, own = vars(given).values(), own + sys.getsizeof(vars(given))
    return own + sum(sys.getsizeof(part) if type(part) in ATOMS else size_of(part) for part in parts)


MEGABYTE = 1 << 20
MAX_CHARACTERS = 20_000  # of a text; the rest is cut off first of all
CORES = cores()
GATE = Gate(CORES)
PAGE_TIMES = Times()
JOBS = Jobs(
    {
        "training": Lane(width=CORES, seconds=1800, each=1),  # own processes with a low priority
        "importance": Lane(width=1, seconds=600),
        "effects": Lane(width=1, seconds=1200),
        "run": Lane(width=CORES, seconds=300),
        "search": Lane(width=1, seconds=120),
        "patching": Lane(width=1, seconds=120),
        "circuits": Lane(width=1, seconds=600),
        "alignment": Lane(width=1, seconds=300),
        "snapshots": Lane(width=16, seconds=120),
        "lessons": Lane(width=1, seconds=300),
        "atlas": Lane(width=1, seconds=1800, each=1),  # an own process with a low priority
    }
)
MODELS_SHARE = memory() // 6  # a visitor's model may be a hundred times as large as ours
# The longest text of a bundled checkpoint makes 19 MB of maps. 440 tokens in a GPT-2 of 12 × 12 heads make 111 MB, and
# take 3 s. The limit of `longest_text` is 400 MB. Such a result is kept, because each click needs it again.
RESULTS_SHARE = min(memory() // 16, 1024 * MEGABYTE)
RESULTS = Cache(capacity=RESULTS_SHARE, largest=RESULTS_SHARE * 7 // 8, waiting=GATE.outside)
# What only this run of a page keeps, such as results that are too large: it asks for the same one in several places.
THIS_RUN: ContextVar[dict[Hashable, object] | None] = ContextVar("THIS_RUN", default=None)
limit_heaps()
return_memory = throttled(10)(return_freed_memory)


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

            kept = THIS_RUN.get()
            if kept and key in kept:
                return cast(Result, kept[key])
            result = RESULTS.get(key, compute)
            if kept is not None and RESULTS.peek(key) is None:
                kept[key] = result
            return result

        return ask

    return decorate


def once_per_run(function: Callable[[], Result]) -> Callable[[], Result]:
    """Call a function once in each run of a page. Outside a run of a page, each call is a call."""

    @wraps(function)
    def ask() -> Result:
        kept = THIS_RUN.get()
        if kept is None:
            return function()
        if function not in kept:
            kept[function] = function()
        return cast(Result, kept[function])

    return ask


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
def waiting(message: str) -> Iterator[None]:
    """Show a spinner with this message if the work takes long.

    `st.spinner` sends its end to the browser even if it was never visible, and then the browser draws the page again.
    So the spinner starts after a moment, in another thread. It becomes visible half a second later.
    """
    if not has_page():
        yield
        return
    spinner, lock = ExitStack(), threading.Lock()
    done = False

    def start() -> None:
        with lock:
            if not done:
                spinner.enter_context(st.spinner(message))

    timer = threading.Timer(MOMENT, copy_context().run, args=(start,))
    join_page(timer)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            done = True
        spinner.close()


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

    kept, began = THIS_RUN.set({}), time.monotonic()
    try:
        with GATE.inside(show_queue):
            if waited:
                place.empty()
            yield
    finally:  # a page may end early, and new input may stop it
        THIS_RUN.reset(kept)
        PAGE_TIMES.add(time.monotonic() - began)
        return_memory()
        freeze_imports()
