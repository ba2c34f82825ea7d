"""The sentences about a text that is too long for a page."""

import pytest

from model.inference.run import Result, Token
from viz_app.widgets.text_notes import length_remedy

LIMIT = 20


def run(*, source: int = 0, prompt: int = 0, written: int) -> Result:
    """A run with these numbers of tokens. A language model has no source, and it does not write its first token."""
    token = Token(text="dog", id=9, word=0)
    rest = prompt - 1 if prompt else 0
    tokens = (token,) * (rest + written)
    return Result(
        text="",
        source=(token,) * source,
        read=tokens,
        written=tokens,
        maps={},
        finished=True,
        dropped=0,
        prompt_length=rest,
    )


@pytest.mark.parametrize(
    ("long", "remedy"),
    [
        (run(source=21, written=2), "The text has 21 tokens. Shorten it."),
        (run(source=3, written=21), "The model writes 21 tokens for this text. Try another text."),
        (run(prompt=21, written=2), "The text has 21 tokens. Shorten it."),
        (run(prompt=1, written=21), "The model writes 21 tokens. Choose a smaller number"),
        (run(prompt=15, written=12), "The text and its continuation have 26 tokens. Shorten the text, or choose"),
    ],
)
def test_the_remedy_names_what_is_too_long(long: Result, remedy: str) -> None:
    assert length_remedy(long, LIMIT).startswith(remedy)
