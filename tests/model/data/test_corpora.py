import gzip
from pathlib import Path

import pytest

from model.data.corpora import CorpusError, data_dir, read_pairs


def write(root: Path, name: str, content: bytes) -> None:
    path = root / "tiny" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_plain_and_gzip_files_are_read_alike(tmp_path: Path) -> None:
    write(tmp_path, "train.en", "One\u0085two.\nThree.\n".encode())
    write(tmp_path, "raw/train.de.gz", gzip.compress(b"Eins zwei.\r\nDrei.\r\n"))
    assert read_pairs(tmp_path, "tiny", "train", "en", "de") == [
        ("One\u0085two.", "Eins zwei."),
        ("Three.", "Drei."),
    ]


def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no train\.en .* --data-dir, or run: python -m model download tiny"):
        read_pairs(tmp_path, "tiny", "train", "en", "de")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.de", b"", r"train\.de is empty"),
        ("train.de", b"\n\n", r"train\.de is empty"),
        ("train.de", b"Gut\nSchlecht \xff\n", r"train\.de is not UTF-8: byte 13 is 0xff"),
        ("train.de", b"Eins\n", r"misaligned: 2 lines of en, 1 lines of de"),
        ("train.de.gz", gzip.compress(b"Eins\nZwei\n")[:-6], r"train\.de\.gz cannot be read as gzip"),
        ("train.de.gz", b"Eins\nZwei\n", r"train\.de\.gz cannot be read as gzip"),
    ],
)
def test_unusable_files_get_a_sentence(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    write(tmp_path, "train.en", b"One\nTwo\n")
    write(tmp_path, name, content)
    with pytest.raises(CorpusError, match=message):
        read_pairs(tmp_path, "tiny", "train", "en", "de")


def test_the_folder_comes_from_the_option_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADLIGHT_DATA", raising=False)
    assert data_dir() == Path("data")
    monkeypatch.setenv("HEADLIGHT_DATA", "/corpora")
    assert data_dir() == Path("/corpora")
    assert data_dir("/mine") == Path("/mine")
