"""Where nginx sends a visitor. The processes of these tests only answer with their names."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from benchmarks.server import free_port
from deploy.serve import nginx
from tests.deploy.helpers import require_nginx, run


@pytest.fixture(autouse=True)
def at_hand() -> None:
    require_nginx()


class Process:
    """Answers websockets and plain requests with its name, at a port that it keeps when it is started again."""

    def __init__(self, name: str) -> None:
        self.name, self.port = name, free_port()
        self.server: Server | None = None

    async def start(self) -> None:
        async def hold(socket: ServerConnection) -> None:
            await socket.send(self.name)
            await socket.wait_closed()

        def plain(connection: ServerConnection, request: Request) -> Response | None:
            return None if "Upgrade" in request.headers else connection.respond(200, self.name)

        self.server = await serve(hold, "127.0.0.1", self.port, process_request=plain)

    async def die(self) -> None:
        assert self.server is not None
        self.server.close()
        await self.server.wait_closed()


class Visitor:
    """Knows one cookie."""

    def __init__(self, listen: str) -> None:
        self.listen, self.cookie = listen, ""
        self.socket: ClientConnection | None = None

    async def open(self) -> str:
        headers = {"Cookie": self.cookie} if self.cookie else None
        self.socket = await connect(f"ws://{self.listen}/_stcore/stream", additional_headers=headers, proxy=None)
        self.cookie = self.socket.response.headers["Set-Cookie"].partition(";")[0]
        return str(await self.socket.recv())

    async def get(self, path: str = "/media/picture.svg") -> tuple[int, str]:
        reader, writer = await asyncio.open_connection(*self.listen.split(":"))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nCookie: {self.cookie}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        writer.close()
        return int(head.split()[1]), body


@asynccontextmanager
async def processes(count: int) -> AsyncIterator[tuple[list[Process], str]]:
    """So many of them, named p1, p2 …, and where nginx listens before them."""
    found = [Process(f"p{number}") for number in range(1, count + 1)]
    for process in found:
        await process.start()
    listen = f"127.0.0.1:{free_port()}"
    with nginx([f"127.0.0.1:{process.port}" for process in found], listen):
        yield found, listen
        for process in found:
            await process.die()


def test_new_visitors_are_spread_evenly() -> None:
    async def scenario() -> None:
        async with processes(3) as (_, listen):
            homes = [await Visitor(listen).open() for _ in range(12)]
            assert Counter(homes) == {"p1": 4, "p2": 4, "p3": 4}

    run(scenario())


def test_everything_of_a_visitor_reaches_the_process_of_their_websocket() -> None:
    async def scenario() -> None:
        async with processes(3) as (_, listen):
            for _ in range(6):
                visitor = Visitor(listen)
                home = await visitor.open()
                assert {await visitor.get() for _ in range(3)} == {(200, home)}
                assert await visitor.open() == home

    run(scenario())


def test_a_visitor_who_moved_stays_when_the_process_is_back() -> None:
    async def scenario() -> None:
        async with processes(2) as (found, listen):
            visitor = Visitor(listen)
            home = await visitor.open()
            theirs, other = sorted(found, key=lambda process: process.name != home)
            await theirs.die()
            assert await visitor.get() == (200, other.name)
            assert await visitor.open() == other.name
            await theirs.start()
            assert await visitor.get() == (200, other.name)
            assert await visitor.open() == other.name

    run(scenario())


@pytest.mark.parametrize("cookie", ["headlight=p9", "headlight=127.0.0.1:22", "headlight=", "headlight=evil.example"])
def test_a_cookie_leads_only_to_our_processes(cookie: str) -> None:
    async def scenario() -> None:
        async with processes(1) as (_, listen):
            visitor = Visitor(listen)
            visitor.cookie = cookie
            assert await visitor.get() == (200, "p1")
            assert await visitor.open() == "p1"
            assert visitor.cookie == "headlight=p1"

    run(scenario())


def test_the_health_of_the_server_is_that_of_any_process() -> None:
    async def scenario() -> None:
        async with processes(2) as (found, listen):
            await found[0].die()
            assert await Visitor(listen).get("/healthz") == (200, "p2")

    run(scenario())


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/script-health-check"])
def test_pages_for_the_operator_are_not_public(path: str) -> None:
    async def scenario() -> None:
        async with processes(1) as (_, listen):
            assert (await Visitor(listen).get(path))[0] == 404

    run(scenario())
