"""The page Atlas, and the links from heads and cells to it."""

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from model.atlas.atlas import open_atlas
from model.atlas.corpus import open_corpus
from model.atlas.work import make_atlas
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute
from model.interventions import Head
from tests.conftest import BUNDLED
from tests.viz_app.conftest import component_data, components, in_url, maps
from tests.viz_app.server.test_gate import until
from viz_app.sections.atlas import FILES, zipped
from viz_app.sections.heads.head_measures import role_in_the_corpus
from viz_app.server.atlas_jobs import OWN, latest_atlas, own_atlas
from viz_app.server.jobs import StoppedError
from viz_app.server.presence import Visitor
from viz_app.services import atlases
from viz_app.services.listing import list_one

OpenApp = Callable[..., AppTest]
NAME = "copied"
LINES = [
    f"The {one} sees the {other}, and the {one} runs." for one in ("cat", "dog", "boy") for other in ("tree", "car")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_app: OpenApp) -> Path:
    """A language model without an atlas, and no other checkpoint."""
    shutil.copytree(BUNDLED / "tiny-gpt-en", tmp_path / "models" / NAME, ignore=shutil.ignore_patterns("atlas"))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "models"))
    return tmp_path / "models" / NAME


@pytest.fixture
def atlas(folder: Path) -> Path:
    (folder.parent.parent / "texts.txt").write_text("\n".join(LINES))
    make_atlas(open_checkpoint(folder), open_corpus(folder.parent.parent / "texts.txt"), folder / "atlas")
    return folder / "atlas"


def press(app: AppTest, label: str) -> AppTest:
    (button,) = [button for button in app.button if button.label == label]
    return button.click().run()


def test_the_page_shows_the_atlas_of_the_checkpoint(open_app: OpenApp, atlas: Path) -> None:
    app = open_app("atlas", checkpoint=NAME, atlas_rule="previous > 0.2", atlas_head="decoder.2.3")
    table, shown = component_data(app, "atlas_heads"), component_data(app, "atlas_head")
    assert (table["rule"], table["head"], table["texts"]) == ("previous > 0.2", "decoder.2.3", len(LINES))
    opened = open_atlas(atlas)
    (head,) = shown["heads"]
    assert (head["layer"], head["head"]) == (1, 2)
    places = opened.places(Head("decoder", 1, 2))
    assert [(one["line"], one["row"], one["keys"]) for one in head["places"]] == [
        (place.line, place.row, list(place.keys)) for place in places
    ]
    assert {text["text"] for text in head["texts"].values()} <= set(LINES)
    assert in_url(app, "atlas_rule") == "previous > 0.2"


def test_two_heads_stand_beside_each_other_also_on_a_sentence(open_app: OpenApp, atlas: Path) -> None:
    text = "The cat sees the dog."
    app = open_app("atlas", checkpoint=NAME, atlas_head="decoder.1.1", atlas_second="decoder.4.2", text=text)
    assert [(head["layer"], head["head"]) for head in component_data(app, "atlas_head")["heads"]] == [(0, 0), (3, 1)]
    whole = compute(open_checkpoint(atlas.parent), Run(text=text)).maps["decoder"]  # (L, H, T, S)
    for shown, (layer, head) in zip(maps(app), [(0, 0), (3, 1)], strict=True):
        np.testing.assert_allclose(np.nan_to_num(shown), whole[layer, head], atol=1e-5)


def test_a_head_of_the_atlas_leads_to_what_it_reads_and_writes(open_app: OpenApp, atlas: Path) -> None:
    app = press(
        open_app("atlas", checkpoint=NAME, atlas_head="decoder.2.3"),
        "What it reads and writes: decoder self, masked, layer 2, head 3",
    )
    chosen = {name: app.session_state[name] for name in ("kind", "layer", "head", "heads_tab")}
    assert chosen == {"kind": "decoder", "layer": "2", "head": "3", "heads_tab": "circuits"}


def test_a_wrong_head_and_a_damaged_atlas_get_a_sentence(open_app: OpenApp, atlas: Path) -> None:
    app = open_app("atlas", checkpoint=NAME, atlas_head="cross.9.1")
    assert any("This model has no head" in caption.value for caption in app.caption)
    facts = json.loads((atlas / "atlas.json").read_text())
    (atlas / "atlas.json").write_text(json.dumps(facts | {"format": 99}))
    (error,) = open_app("atlas", checkpoint=NAME).error
    assert "Make it again" in error.value
    (atlas / "atlas.json").write_text(json.dumps(facts))
    (atlas / "places.npy").write_bytes(b"x")
    (error,) = open_app("atlas", checkpoint=NAME).error
    assert "damaged" in error.value


def test_a_damaged_atlas_does_not_hide_what_needs_none_of_it(open_app: OpenApp, atlas: Path) -> None:
    damaged = atlas.parent.with_name("another") / "atlas"
    shutil.copytree(atlas.parent, damaged.parent)
    (damaged / "places.npy").write_bytes(b"x")
    app = open_app("atlas", checkpoint=NAME, atlas_head="decoder.2.3", atlas_beside="another")
    assert component_data(app, "atlas_head")["heads"]
    assert any("Similar heads in another are missing" in caption.value for caption in app.caption)
    app = open_app("heads", checkpoint="another", heads_tab="roles")
    assert any("damaged" in caption.value for caption in app.caption)
    assert "suggested role" in app.dataframe[0].value


def test_the_whole_atlas_is_a_file_that_opens(atlas: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(zipped(atlas))).extractall(tmp_path / "unpacked")
    back, opened = open_atlas(tmp_path / "unpacked" / "atlas", open_checkpoint(atlas.parent)), open_atlas(atlas)
    pd.testing.assert_frame_equal(back.table().to_pandas(), opened.table().to_pandas())
    assert back.places(back.heads[0]) == opened.places(opened.heads[0])


def test_a_visitor_measures_an_atlas_that_nobody_else_sees(open_app: OpenApp, folder: Path) -> None:
    app = open_app("atlas", checkpoint=NAME, sentences_from="pasted", pasted="\n".join(LINES))
    assert not components(app, "atlas_heads")
    app = press(app, "Measure the heads")
    assert component_data(app, "atlas_heads")["texts"] == len(LINES)
    visitor = app.session_state["visitor"]
    assert latest_atlas(visitor, folder, list_one(folder).key.version) is not None
    other = open_app("atlas", checkpoint=NAME, sentences_from="pasted", pasted="\n".join(LINES))
    assert not components(other, "atlas_heads")
    app.session_state["measure_other"] = True
    for i in range(3):
        app.session_state["pasted"] = f"Another text {i}."
        app.run()
    assert component_data(app, "atlas_heads")["texts"] == len(LINES)
    assert len(OWN[visitor]) == 1


def test_a_stopped_measurement_continues(folder: Path) -> None:
    visitor, lines = Visitor(), "".join(f"{line}\n" for line in LINES * 20)
    own = own_atlas(visitor, folder, "version", lines, ())

    def stop(done: int, steps: int) -> None:
        if done:
            raise StoppedError

    with pytest.raises(StoppedError):
        own.measure(stop)
    assert own.begun
    assert not own.folder.exists()
    assert own_atlas(visitor, folder, "version", lines, ()) is own
    assert own.measure(lambda done, steps: None)
    assert open_atlas(own.folder, open_checkpoint(folder)).facts["facts"]["texts"] == len(LINES) * 20
    data = own.data
    for i in range(2):
        own_atlas(visitor, folder, "version", f"another {i}\n", ())
    del own
    until(lambda: not data.exists())
    assert len(OWN[visitor]) == 2


def test_files_have_the_numbers_of_the_atlas(atlas: Path) -> None:
    key = list_one(atlas.parent).key
    found = atlases.atlas_of(key)
    assert found is not None
    table, opened = atlases.numbers_of(found), open_atlas(atlas)
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        back = read(io.BytesIO(FILES[ending](table)))
        assert back[["kind", "layer", "head"]].values.tolist() == [
            [head.kind, head.layer + 1, head.head + 1] for head in opened.heads
        ]
        for column in ("previous", "previous_low", "importance_high"):
            np.testing.assert_allclose(back[column], opened.numbers(column)[column], rtol=1e-6)
    head = Head("decoder", 0, 1)
    rows, places = atlases.places_of(found, head), opened.places(head)
    assert rows["weight"].tolist() == [weight for place in places for weight in place.weights]


def test_a_head_leads_to_the_atlas(open_app: OpenApp, atlas: Path) -> None:
    for page in ("inside", "masks"):
        app = press(open_app(page, checkpoint=NAME, layer="1", head="2"), "In the atlas")
        assert component_data(app, "atlas_heads")["head"] == "decoder.1.2"


@pytest.mark.parametrize(("low", "sure"), [(0.52, True), (0.48, False), (np.nan, False)])
def test_a_role_holds_where_the_whole_interval_is_above_one_half(low: float, sure: bool) -> None:
    row = {"previous": 0.55, "previous_low": low, "same": 0.1, "same_low": 0.1, "next": np.nan, "end": 0.3}
    assert role_in_the_corpus(row) == ("previous", sure)


def test_roles_have_the_interval_of_the_corpus(open_app: OpenApp, atlas: Path) -> None:
    app = open_app("heads", checkpoint=NAME, heads_tab="roles")
    shown = app.dataframe[0].value
    numbers = atlases.numbers_of(atlases.atlas_of(list_one(atlas.parent).key))  # type: ignore[arg-type]
    surely = numbers[["previous_low", "same_low", "next_low", "end_low"]].max(axis=1) > 0.5
    in_corpus = shown[shown["role"] != "no single role"]
    assert len(in_corpus) == surely.sum() > 0
    first = in_corpus.iloc[0]
    row = numbers[(numbers["layer"] == first["layer"]) & (numbers["head"] == first["head"])].iloc[0]
    name = {"previous token": "previous", "same token": "same", "special token": "end"}[first["role"]]
    assert first["95\u00a0% interval"] == f"{row[f'{name}_low']:.2f} – {row[f'{name}_high']:.2f}"
    app = press(app, "All heads that attend to the previous token, in the atlas")
    assert component_data(app, "atlas_heads")["rule"] == "previous_low > 0.5"
