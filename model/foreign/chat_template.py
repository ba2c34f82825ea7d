"""The chat template of a model: what it adds before and after a text.

A template is a program in a file from outside. The library renders it in its sandbox, and here also in a process of its
own, because the sandbox limits neither time nor memory.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint
from model.config.foreign import ChatFrame, ForeignConfig
from model.config.section import ConfigError, require
from model.messages import N_
from model.text.encoding import Encoding, Tokenizer

__all__ = ["frame_of", "template_of", "with_chat"]

REFUSED = {  # by the process that renders it
    "memory": N_("it needs too much memory."),
    "long": N_("it adds {added} characters to a text. The limit is {limit}."),
    "half": N_("it writes half a character (a surrogate of UTF-16), which no tokenizer can read."),
}
RENDERER = Path(__file__).with_name("render_chat.py")
SECONDS, MAX_ADDED, MAX_TEMPLATE = 10, 20_000, 200_000  # of the process; characters
TEXT = "headlight7text3"  # stands for the visitor's text while the template is rendered; no template contains it


class ChatTokenizer:
    """A tokenizer that adds what a chat template adds. The tokens of the template are tokens of the text."""

    def __init__(self, tokenizer: Tokenizer, frame: ChatFrame) -> None:
        """Wrap a tokenizer of the source.

        Args:
            tokenizer: It reads the marks of the template as special tokens.
            frame: What to add.
        """
        self._tokenizer, self._frame = tokenizer, frame
        self.decode, self.tokens, self.words = tokenizer.decode, tokenizer.tokens, tokenizer.words

    @property
    def size(self) -> int:
        return self._tokenizer.size

    def encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(self._frame.before + text + self._frame.after)


def template_of(tokenizer: object) -> str:
    """The usual chat template of a tokenizer; "" if it has none."""
    found = getattr(tokenizer, "chat_template", None)
    if isinstance(found, Mapping):
        found = found.get("default")
    return found if isinstance(found, str) else ""


def frame_of(config: ForeignConfig, name: str) -> ChatFrame:
    """Render the chat template of a model for one message of a user, with the mark of the answer after it.

    Args:
        config: Of the loaded model.
        name: Of the checkpoint.

    Raises:
        ConfigError: there is no template, or it cannot be used. The message says why.
    """
    require(bool(config.tokenizer.chat_template), "{name} has no chat template.", name=name)
    try:
        before, _, after = rendered(config).partition(TEXT)
    except ConfigError as error:
        raise ConfigError("The chat template of {name} cannot be used: {error}", name=name, error=error) from error
    return ChatFrame(before=before, after=after)


def rendered(config: ForeignConfig) -> str:
    """The template around `TEXT`. Raises ConfigError if it cannot be used. The message is a part of a sentence."""
    template = config.tokenizer.chat_template
    require(
        len(template) <= MAX_TEMPLATE,
        "it has {size} characters. The limit is {limit}.",
        size=f"{len(template):,}",
        limit=f"{MAX_TEMPLATE:,}",
    )
    tokens = dict(config.tokenizer.special_tokens)
    request = {"template": template, "text": TEXT, "tokens": tokens, "most_added": MAX_ADDED}
    chat = rendered_alone(json.dumps(request))
    require(chat.count(TEXT) == 1, "it writes the text {times} times and not once.", times=chat.count(TEXT))
    return chat


def rendered_alone(request: str) -> str:
    """Render a template in a process of its own; see `render_chat`. Raises ConfigError if it fails."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(RENDERER)],
            input=request.encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConfigError("it did not end within {seconds} seconds.", seconds=SECONDS) from None
    except OSError as error:
        raise ConfigError("no process could be started ({error}).", error=error.strerror) from error
    try:
        answer = json.loads(done.stdout)
    except ValueError:  # the process was ended by a limit
        raise ConfigError("it needs too much time or memory.") from None
    if "refused" in answer:
        limit = json.loads(request)["most_added"]
        raise ConfigError(REFUSED[answer["refused"]], added=answer.get("added"), limit=f"{limit:,}")
    if "error" in answer:
        raise ConfigError(answer["error"])  # in the words of the template or the library
    return str(answer["text"])


def with_chat(checkpoint: Checkpoint, frame: ChatFrame) -> Checkpoint:
    """The same model, which reads each text inside its chat template.

    Args:
        checkpoint: A language model.
        frame: Of its template.
    """
    pair, config = checkpoint.tokenizers, checkpoint.config
    assert isinstance(config, ForeignConfig)
    specials = replace(pair.specials, before=())  # the template writes the first token itself
    return replace(
        checkpoint,
        tokenizers=replace(pair, source=ChatTokenizer(pair.source, frame), specials=specials),
        config=replace(config, tokenizer=replace(config.tokenizer, chat=frame)),
    )
