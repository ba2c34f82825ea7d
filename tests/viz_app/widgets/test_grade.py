"""Each analysis has one line about models with a known answer, with the numbers of `grades.json`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tools.planted import write_folder
from viz_app.content.grades import GRADES

OpenApp = Callable[..., AppTest]
TEXT = "A dog runs."


@pytest.mark.parametrize(
    ("page", "names", "choices"),
    [
        ("translate", ["weights"], {}),
        ("translate", ["value-norms"], {"norms": "true"}),
        ("translate", ["rollout"], {"head": "rollout"}),
        ("heads", ["search"], {}),
        ("heads", ["roles"], {"heads_tab": "roles"}),
        ("heads", ["gradient", "importance"], {"heads_tab": "importance", "sentences_from": "pasted", "pasted": TEXT}),
        ("inside", ["contributions"], {"inside_tab": "why"}),
        ("inside", ["lens"], {"inside_tab": "layers"}),
        ("inside", ["influence", "value-zeroing"], {"inside_tab": "read"}),
        ("sentiment", ["deletion"], {}),
    ],
)
def test_an_analysis_says_what_it_finds(
    page: str, names: list[str], choices: dict[str, str], open_app: OpenApp
) -> None:
    classifies = page == "sentiment"
    app = open_app(page, checkpoint="imdb-sentiment" if classifies else "everyday-en-de", text=TEXT, **choices)
    lines = [one.value for one in app.caption if "a known answer" in one.value]
    expected = [f"this finds {GRADES[name].found} of {len(GRADES[name].models)}." for name in names]
    assert len(lines) == len(names)
    assert all(part in line for part, line in zip(expected, lines, strict=True))
    missed = {model for name in names for model in GRADES[name].missed}
    listed = " ".join(one.value for one in app.markdown if one.value.startswith("Not found:"))
    assert all(f"`{model}`" in listed for model in missed)


def test_the_search_says_that_the_result_depends_on_no_head(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_folder("contains", tmp_path / "contains")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app = open_app("heads", checkpoint="contains", review="pink grey")
    next(one for one in app.button if one.label == "Find what matters").click().run()
    assert not app.exception
    assert any("depends on no head" in one.value for one in app.info)
    assert not app.session_state["intervention"]
