"""A visitor without a browser: speaks the websocket protocol that Streamlit's own web page speaks.

It opens a page, types, presses buttons and waits until the script has finished, as a browser does; it draws nothing.
It does not check the content of a page: the browser tests do. Messages are `BackMsg` and `ForwardMsg` of
streamlit.proto.
"""

import asyncio
import time
import urllib.request
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Subprotocol

__all__ = ["Answer", "PageError", "Visitor"]

GONE = (ConnectionClosed, InvalidHandshake, OSError)  # errors while the server is away
PATIENCE = 120.0  # seconds until a page counts as frozen


class PageError(Exception):
    """The page showed an error where its content belongs."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The result of one change: the time until the script had finished, and the data received."""

    seconds: float
    size: int  # bytes
    texts: tuple[str, ...]  # of the page's markdown, headings and HTML


class Visitor:
    """One tab: `async with Visitor("http://localhost:8501", page="steps") as visitor: await visitor.type("A dog.")`."""

    def __init__(self, url: str, *, page: str = "", query: str = "", patience: float = PATIENCE) -> None:
        self.address = url.replace("http", "ws", 1) + "/_stcore/stream"
        self.page, self.query, self.patience = page, query, patience
        self.cookies: SimpleCookie = SimpleCookie()
        self.fields: dict[str, str] = {}  # label → widget id, one line or several
        self.buttons: dict[str, str] = {}
        self.options: dict[str, tuple[str, ...]] = {}  # widget id of pills or of a list → what it offers
        self.tables: list[bytes] = []  # of the last answer, in Arrow's format
        self.typed: dict[str, WidgetState] = {}
        self.cached: dict[str, ForwardMsg] = {}  # hash → message that the server need not send again
        self.script_hash = self.session = ""
        self.socket: ClientConnection | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def connect(self) -> None:
        """Open only the connection, with the cookies and the session of an earlier one. Request nothing yet."""
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in self.cookies.items())
        self.socket = await connect(
            self.address,
            subprotocols=[Subprotocol(name) for name in ("streamlit", "no-xsrf", self.session) if name],
            additional_headers={"Cookie": cookies} if cookies else None,
            max_size=None,
            ping_interval=None,  # as a browser: only the server pings
            open_timeout=self.patience,
            proxy=None,
        )
        assert self.socket.response is not None, "the handshake is over"
        for cookie in self.socket.response.headers.get_all("Set-Cookie"):
            self.cookies.load(cookie)

    async def take_cookies(self) -> None:
        """Get the cookies that a browser has before it connects. With them, a reload is the same browser."""
        health = self.address.replace("ws", "http", 1).replace("stream", "health")
        answer = await asyncio.to_thread(urllib.request.urlopen, health, timeout=self.patience)
        with answer:
            for cookie in answer.headers.get_all("Set-Cookie") or ():
                self.cookies.load(cookie)

    async def leave(self) -> None:
        if self.socket:
            await self.socket.close()
            self.socket = None

    async def come_back(self, *, pause: float = 0.5) -> Answer:
        """Do what Streamlit's page does after its connection breaks: reconnect, then request the whole page again."""
        started = time.perf_counter()
        while True:
            try:
                await self.connect()
                answer = await self.look()
                return Answer(seconds=time.perf_counter() - started, size=answer.size, texts=answer.texts)
            except GONE:
                await asyncio.sleep(pause)

    async def look(self) -> Answer:
        """Request the page without a change, as a browser does on a first visit and on a reload."""
        return await self.ask()

    async def type(self, text: str, *, field: int = 0) -> Answer:
        """Type into the text field with that number on the page, and press Enter."""
        if field >= len(self.fields):
            raise PageError(f"The page “{self.page}” has {len(self.fields)} text fields.")
        widget = list(self.fields.values())[field]
        self.typed[widget] = WidgetState(id=widget, string_value=text)
        return await self.ask()

    async def press(self, label: str) -> Answer:
        if label not in self.buttons:
            raise PageError(f"The page “{self.page}” has no button “{label}”. Its buttons: {sorted(self.buttons)}.")
        return await self.ask(WidgetState(id=self.buttons[label], trigger_value=True))

    async def pick(self, key: str, number: int) -> Answer:
        """Press one of the pills of the widget whose key begins so; numbers above their count begin again."""
        widget = self.widget(key)
        options = self.options[widget]
        state = WidgetState(id=widget)
        state.string_array_value.data.append(options[number % len(options)])
        self.typed[widget] = state
        return await self.ask()

    async def choose(self, key: str, option: str) -> Answer:
        """Choose an option of the list whose key begins so."""
        widget = self.widget(key)
        if option not in self.options[widget]:
            raise PageError(f"The list {key} has no option “{option}”.")
        self.typed[widget] = WidgetState(id=widget, string_value=option)
        return await self.ask()

    def widget(self, key: str) -> str:
        """The id of the pills or of the list whose key begins so. Streamlit puts the key at the end of the id."""
        found = [name for name in self.options if name.split("-", 2)[-1].startswith(key)]
        if not found:
            raise PageError(f"The page “{self.page}” has no control {key}.")
        return found[-1]

    async def reload(self, page: str) -> Answer:
        """What a browser does on a reload of a page: a new session with the same cookies and the same address."""
        await self.leave()
        self.page, self.script_hash, self.session = page, "", ""
        self.typed, self.cached, self.options = {}, {}, {}
        await self.connect()
        return await self.look()

    async def ask(self, *pressed: WidgetState) -> Answer:
        """Run the script with the visitor's widgets.

        Raises PageError if the page shows an error, TimeoutError if it is frozen, ConnectionClosed if its server is
        gone.
        """
        assert self.socket is not None, "connect first"
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash = self.query, self.script_hash
        state.page_name = "" if self.script_hash else self.page
        state.widget_states.widgets.extend([*self.typed.values(), *pressed])
        state.cached_message_hashes.extend(self.cached)
        texts: list[str] = []
        self.tables = []
        started, size = time.perf_counter(), 0
        async with asyncio.timeout(self.patience):
            await self.socket.send(message.SerializeToString())
            while True:
                data = await self.socket.recv(decode=False)
                size += len(data)
                if self.read(ForwardMsg.FromString(data), texts):
                    return Answer(seconds=time.perf_counter() - started, size=size, texts=tuple(texts))

    def read(self, message: ForwardMsg, texts: list[str]) -> bool:
        """Read one message. Returns True if the script has finished and will not run again without a change."""
        if message.metadata.cacheable and message.hash:
            self.cached[message.hash] = message
        match message.WhichOneof("type"):
            case "navigation":
                self.script_hash = message.navigation.page_script_hash
            case "new_session":
                self.script_hash = message.new_session.page_script_hash
                self.session = message.new_session.initialize.session_id
            case "page_info_changed":
                self.query = message.page_info_changed.query_string
            case "delta":
                self.see(message.delta, texts)
            case "ref_hash":
                self.see(self.cached[message.ref_hash].delta, texts)
            case "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise PageError("The script does not compile.")
                return message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        return False

    def see(self, delta: Delta, texts: list[str]) -> None:
        element = delta.new_element
        match element.WhichOneof("type"):
            case "text_input":
                self.fields[element.text_input.label] = element.text_input.id
            case "text_area":
                self.fields[element.text_area.label] = element.text_area.id
            case "button":
                self.buttons[element.button.label] = element.button.id
            case "button_group":
                group = element.button_group
                self.options[group.id] = tuple(option.content for option in group.options)
            case "selectbox":
                self.options[element.selectbox.id] = tuple(element.selectbox.options)
            case "dataframe":
                self.tables.append(element.dataframe.arrow_data.data)
            case "heading":
                texts.append(element.heading.body)
            case "markdown":
                texts.append(element.markdown.body)
            case "html":
                texts.append(element.html.body)
            case "exception":
                raise PageError(f"{element.exception.type}: {element.exception.message}")
            case "alert" if element.alert.format == element.alert.ERROR:
                raise PageError(element.alert.body)
