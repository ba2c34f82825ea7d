import io
import stat
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from model.atlas.atlas import open_atlas
from model.atlas.store import ATLAS_FOLDER
from model.checkpoints.checkpoint import CheckpointError
from tests.conftest import BUNDLED
from viz_app.server.temporary import DiskSpace
from viz_app.server.uploads import unpack as unpack_up_to

unpack = partial(unpack_up_to, most_mb=1)

CONFIG = ("config.json", b"{}")


def archive(*members: tuple[str, bytes], change: Callable[[zipfile.ZipInfo], None] | None = None) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as whole:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            if change:
                change(info)
            whole.writestr(info, content)
    file.seek(0)
    return file


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_atlas_of_a_checkpoint_arrives_whole(tmp_path: Path) -> None:
    home = BUNDLED / "tiny-gpt-en"
    atlas = [(f"mine/atlas/{path.name}", path.read_bytes()) for path in (home / ATLAS_FOLDER).iterdir()]
    others = [("mine/atlas/run.py", b"x"), ("mine/atlas/inner/atlas.json", b"x"), ("mine/other/atlas/places.npy", b"x")]
    found = unpack_up_to([("a.zip", archive(*mine(), *atlas, *others))], tmp_path, most_mb=20)
    assert open_atlas(tmp_path / ATLAS_FOLDER).heads == open_atlas(home / ATLAS_FOLDER).heads
    assert sorted(found) == ["atlas/inner/atlas.json", "atlas/run.py", "other/atlas/places.npy"]


def mine() -> list[tuple[str, bytes]]:
    return [("mine/config.json", b"{}"), ("mine/model.safetensors", b"weights")]


def test_a_folder_and_an_archive_of_it_arrive_flat(tmp_path: Path) -> None:
    members = (
        *(CONFIG, ("model.safetensors", b"weights"), ("chat_template.jinja", b"hi"), ("history.csv", b"step")),
        *(("run.py", b"code"), ("optimizer.pt", b"state"), ("1_Pooling/config.json", b"other")),
    )
    plain, zipped, bare = (tmp_path / name for name in ("plain", "zipped", "bare"))
    for folder in (plain, zipped, bare):
        folder.mkdir()
    found = [
        unpack([(f"mine/{name}", io.BytesIO(content)) for name, content in members], plain),
        unpack([("mine.zip", archive(*((f"mine/{name}", content) for name, content in members)))], zipped),
        unpack([("MINE.ZIP", archive(*members))], bare),
    ]
    for folder, unpacked in zip((plain, zipped, bare), found, strict=True):
        assert names(folder) == ["chat_template.jinja", "config.json", "history.csv", "model.safetensors"]
        assert unpacked == ("run.py", "optimizer.pt", "1_Pooling/config.json")
        assert (folder / "config.json").read_bytes() == b"{}"


@pytest.mark.parametrize(
    "name", ["../config.json", "mine/../../x.json", "/etc/x.json", "..\\x.json", "C:\\x.json", "a\0.json"]
)
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(CheckpointError, match="outside the folder"):
        unpack([config_file(), (name, io.BytesIO(b"x"))], inside)
    if "\0" not in name:  # an archive ends a name there
        with pytest.raises(CheckpointError, match="outside the folder"):
            unpack([("a.zip", archive(CONFIG, (name, b"x")))], inside)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def config_file() -> tuple[str, io.BytesIO]:
    return CONFIG[0], io.BytesIO(CONFIG[1])


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    def link(info: zipfile.ZipInfo) -> None:
        info.create_system = 3
        info.external_attr = (stat.S_IFLNK | 0o777) << 16

    with pytest.raises(CheckpointError, match="is a link"):
        unpack([("a.zip", archive(("config.json", b"/etc/passwd"), change=link))], tmp_path)


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_fills_the_disk(
    tmp_path: Path,
) -> None:
    bomb = archive(CONFIG, ("model.safetensors", bytes(50 << 20)))
    assert len(bomb.getvalue()) < 1 << 20
    with pytest.raises(CheckpointError, match="52 MB"):
        unpack([("a.zip", bomb)], tmp_path)
    # One that lies about its size is found out while it is read.
    honest = bomb.getvalue()
    size = (50 << 20).to_bytes(4, "little")
    assert honest.count(size) == 2
    with pytest.raises(CheckpointError, match=r"larger than|damaged|not a .zip"):
        unpack([("a.zip", io.BytesIO(honest.replace(size, (1000).to_bytes(4, "little"))))], tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) <= 2 << 20
    with pytest.raises(CheckpointError, match="larger than"):
        unpack([config_file(), ("model.safetensors", io.BytesIO(bytes(3 << 20)))], tmp_path)


def test_too_many_files_and_damaged_archives_get_a_message(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="1,001 files"):
        unpack([("a.zip", archive(CONFIG, *((f"{i}.json", b"") for i in range(1000))))], tmp_path)
    whole = archive(CONFIG, ("vocab.txt", b"words " * 1000)).getvalue()
    at = whole.index(b"vocab.txt") + len("vocab.txt") + 4
    damaged = whole[:at] + bytes(byte ^ 255 for byte in whole[at : at + 4]) + whole[at + 4 :]
    for content in (b"", b"PK\x03\x04", whole[: len(whole) // 2], damaged):
        with pytest.raises(CheckpointError):
            unpack([("a.zip", io.BytesIO(content))], tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        unpack([("notes.txt", io.BytesIO(b"hello"))], empty)


def test_all_uploads_together_have_a_limit_and_release_their_space() -> None:
    space = DiskSpace(100)
    space.reserve(60)
    with pytest.raises(CheckpointError, match="Try again"):
        space.reserve(60)
    space.release(60)
    space.reserve(100)


def test_files_that_a_system_adds_to_an_archive_are_left_out(tmp_path: Path) -> None:
    mine = (("mine/config.json", b"{}"), ("mine/model.safetensors", b"x"))
    unpack([("a.zip", archive(*mine, ("__MACOSX/mine/._config.json", b"x"), (".DS_Store", b"x")))], tmp_path)
    assert names(tmp_path) == ["config.json", "model.safetensors"]


def test_a_configuration_without_weights_is_not_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="The upload has no weights"):
        unpack([("config.json", io.BytesIO(b"{}"))], tmp_path)


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_that_cannot_be_read_in_chunks_are_refused(tmp_path: Path, how: int) -> None:
    def change(info: zipfile.ZipInfo) -> None:
        info.compress_type = how

    with pytest.raises(CheckpointError, match="unusual compression"):
        unpack([("a.zip", archive(CONFIG, change=change))], tmp_path)


def test_strange_names_get_a_message(tmp_path: Path) -> None:
    for name in ("x" * 300 + ".json", "."):
        with pytest.raises(CheckpointError):
            unpack([("a.zip", archive((name, b"x")))], tmp_path)


def test_a_checkpoint_that_is_deeper_opens_if_it_is_the_only_one(tmp_path: Path) -> None:
    def at(*folders: str) -> io.BytesIO:
        return archive(*((f"mine/{one}/{name}", b"{}") for one in folders for name in ("config.json", "model.bin")))

    found = unpack(
        [("a.zip", archive(("mine/bert/config.json", b"{}"), ("mine/bert/a.bin", b"x"), ("mine/b", b"")))], tmp_path
    )
    assert names(tmp_path) == ["a.bin", "config.json"]
    assert found == ("mine/b",)
    with pytest.raises(CheckpointError, match=r"several of its folders have one: mine/a, mine/b\. Choose one"):
        unpack([("a.zip", at("a", "b"))], tmp_path)
    inner = archive(CONFIG, ("model.safetensors", b"x")).getvalue()
    with pytest.raises(CheckpointError, match=r"The archive inner\.zip is inside it\. Unpack it first"):
        unpack([("a.zip", archive(("inner.zip", inner)))], tmp_path)
