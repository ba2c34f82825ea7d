"""Every page with a model that can only be read: its maps are shown, and no page offers a change."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.conftest import charts, maps
from tools.foreign_families import family_named
from tools.small_models import make_family

OpenApp = Callable[..., AppTest]
READ_ONLY = "Nothing can be changed in this model"
SHOWN: list[tuple[str, dict[str, str]]] = [
    ("translate", {"norms": "true"}),
    ("steps", {}),
    ("heads", {"heads_tab": "roles"}),
    ("inside", {"inside_tab": "stations"}),
    ("inside", {"inside_tab": "layers"}),
]
NOT_OFFERED: list[tuple[str, str, dict[str, str]]] = [
    ("bloom", "heads", {}),
    ("prophetnet", "heads", {"heads_tab": "importance"}),
    ("prophetnet", "heads", {"heads_tab": "paste", "intervention": "off.decoder.1.1"}),
    ("bloom", "compare", {"compare": "changed", "intervention": "off.decoder.1.1"}),
    ("bloom", "masks", {}),
    ("bloom", "inside", {}),
    ("bloom", "inside", {"inside_tab": "why"}),
    ("bloom", "inside", {"inside_tab": "read"}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("others")
    for name, title in {"bloom": "BLOOM", "prophetnet": "ProphetNet"}.items():
        make_family(root / f"small-{name}", family_named(title))
    return root


@pytest.fixture
def open_with(open_app: OpenApp, folder: Path, monkeypatch: pytest.MonkeyPatch) -> OpenApp:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))

    def open_page(page: str, family: str, **query: str) -> AppTest:
        return open_app(page, checkpoint=f"small-{family}", text="The cat sat on the mat.", **query)

    return open_page


@pytest.mark.parametrize(("page", "query"), SHOWN)
def test_the_maps_and_the_stream_of_a_read_only_model_are_shown(
    open_with: OpenApp, page: str, query: dict[str, str]
) -> None:
    app = open_with(page, "bloom", **query)
    assert READ_ONLY not in " ".join(element.value for element in app.info)
    assert page == "steps" or charts(app) or maps(app)
    if query.get("inside_tab") == "stations":
        assert "only rounding" in app.success[0].value


@pytest.mark.parametrize(("family", "page", "query"), NOT_OFFERED)
def test_a_read_only_model_offers_no_change_and_says_why(
    open_with: OpenApp, family: str, page: str, query: dict[str, str]
) -> None:
    app = open_with(page, family, **query)
    assert READ_ONLY in " ".join(element.value for element in app.info)
    assert not {"Silence all heads", "Donor sentence"} & {one.label for one in (*app.button, *app.text_input)}
