"""`publish --atlas`: what a site and a single file have of an atlas, and what is refused."""

import base64
import gzip
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from headlight.command import main
from model.atlas.atlas import open_atlas
from model.inference.opening import open_checkpoint
from tests.conftest import BUNDLED
from tests.live.conftest import PUBLISHED
from tests.live.test_publish import data_of, found
from viz_app.components.atlas import head_data, table_data

OTHER = "gru-de-en"  # without an atlas
MOST_CODE_OF_ATLAS = 27_000  # bytes of the script and of its style sheet


@pytest.fixture(scope="module")
def expected(measured: Path) -> dict[str, Any]:
    """The parts of the atlas, as the app has them."""
    checkpoint = open_checkpoint(measured)
    atlas, text_of = open_atlas(measured / "atlas"), checkpoint.tokenizers.source.decode
    heads = {head.code: head_data(atlas, head, text_of=text_of, others={}) for head in atlas.heads}
    return json.loads(json.dumps({"table": table_data(atlas), **heads}))


def listed_in(page: str) -> dict[str, Any]:
    return {one["name"]: one for one in json.loads(data_of(page, "site"))["checkpoints"]}


def without_atlas(folder: Path) -> Path:
    """A copy of another checkpoint that nobody has measured."""
    return Path(shutil.copytree(BUNDLED / OTHER, folder, ignore=shutil.ignore_patterns("atlas")))


def selectors_of(sheet: str) -> list[str]:
    rules = re.findall(r"([^{}@]+)\{[^{}]*\}", sheet)
    return [one for rule in rules for one in re.split(r",(?![^(]*\))", rule)]


def test_a_site_has_the_table_and_each_head_as_a_file(measured: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    out, other = tmp_path / "site", without_atlas(tmp_path / OTHER)
    assert main(["publish", str(measured), str(other), "--atlas", "--out", str(out)]) == 0
    listed = listed_in((out / "index.html").read_text(encoding="utf-8"))
    assert listed[OTHER]["atlas"] == ""
    table = json.loads((out / listed[PUBLISHED]["atlas"]).read_text(encoding="utf-8"))
    parts = table.pop("parts")
    assert {name: json.loads((out / path).read_text(encoding="utf-8")) for name, path in parts.items()} == {
        name: part for name, part in expected.items() if name != "table"
    }
    assert table == expected["table"]
    sheet = found(out, "parts/atlas.*.css").read_text(encoding="utf-8")
    strange = [one for one in selectors_of(sheet) if not one.startswith(".atlas ")]
    assert strange == [], "other parts keep their looks"
    assert found(out, "atlas.*.js").stat().st_size + len(sheet) < MOST_CODE_OF_ATLAS


def test_a_single_file_holds_the_same(measured: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "one.html"
    assert main(["publish", str(measured), "--atlas", "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")

    def block(name: str) -> Any:
        return json.loads(gzip.decompress(base64.b64decode(data_of(page, name))))

    table = block(listed_in(page)[PUBLISHED]["atlas"])
    parts = table.pop("parts")
    assert {"table": table, **{name: block(where) for name, where in parts.items()}} == expected


def test_a_package_has_the_atlas_too(measured: Path, tmp_path: Path) -> None:
    out = tmp_path / "course.zip"
    assert main(["publish", str(measured), "--atlas", "--scorm", "--out", str(out)]) == 0
    with zipfile.ZipFile(out) as package:
        listed = listed_in(package.read("index.html").decode())
        table = json.loads(package.read(listed[PUBLISHED]["atlas"]))
        assert set(table["parts"].values()) <= set(package.namelist())


def test_a_head_names_similar_heads_of_the_other_checkpoints_of_the_site(measured: Path, tmp_path: Path) -> None:
    shutil.copytree(measured, tmp_path / "copy")
    out = tmp_path / "site"
    assert main(["publish", str(measured), str(tmp_path / "copy"), "--atlas", "--out", str(out)]) == 0
    listed = listed_in((out / "index.html").read_text(encoding="utf-8"))
    parts = json.loads((out / listed[PUBLISHED]["atlas"]).read_text(encoding="utf-8"))["parts"]
    head = json.loads((out / parts["encoder.2.3"]).read_text(encoding="utf-8"))
    (like,) = (one["heads"] for one in head["like"] if one["checkpoint"] == "copy")
    assert (like[0]["layer"], like[0]["head"], round(like[0]["value"], 3)) == (1, 2, 1)  # the same head of the copy


def test_without_the_option_a_site_has_nothing_of_an_atlas(measured: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    assert main(["publish", str(measured), "--out", str(out)]) == 0
    assert not [path for path in out.rglob("*") if "atlas" in path.name]


def test_an_atlas_that_is_missing_or_of_other_weights_is_refused(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, other = ["--atlas", "--out", str(tmp_path / "site")], without_atlas(tmp_path / OTHER)
    assert main(["publish", str(other), *out]) == 1
    assert f"python -m model atlas {other} --corpus" in capsys.readouterr().err
    shutil.copytree(measured / "atlas", other / "atlas")
    assert main(["publish", str(other), *out]) == 1
    assert "other weights" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
