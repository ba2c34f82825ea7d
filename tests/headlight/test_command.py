"""The commands of `headlight` that need the screen, besides `publish`."""

import re
from pathlib import Path

import pytest

from headlight.command import main
from viz_app.export.report import MAX_TOKENS


def test_a_text_that_is_too_long_for_one_page_keeps_its_maps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {f"--{name}": str(tmp_path / file) for name, file in {"out": "maps.npz", "html": "page.html"}.items()}
    long = "dog " * (MAX_TOKENS + 5)
    assert main(["attention", "multi30k-en-de", long, *(part for pair in files.items() for part in pair)]) == 1
    said = capsys.readouterr().err
    assert re.search(rf"One HTML file can hold {MAX_TOKENS} tokens .* Try a shorter text\. .* --out", said)
    assert [path.name for path in tmp_path.iterdir()] == ["maps.npz"]
