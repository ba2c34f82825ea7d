"""One reader for all text files from outside: byte order marks, line ends of Windows, and UTF-16."""

import codecs
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import read_config
from model.config.recipe import RECIPES, load_recipe
from model.corpora.aligned import read_aligned
from model.corpora.class_list import read_class_list
from model.corpora.corpora import read_lines
from model.safety.json_files import decoded
from model.text.vocabulary_list import read_vocabulary
from tests.conftest import BUNDLED
from viz_app.services.listing import list_one, model_card, training_history

NAME = "everyday-en-de"
ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "mark": lambda text: codecs.BOM_UTF8 + text,
    "windows": lambda text: text.replace(b"\n", b"\r\n"),
    "both": lambda text: codecs.BOM_UTF8 + text.replace(b"\n", b"\r\n"),
}
READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "vocab.txt": ("<pad>\nein\nhund\n", read_vocabulary),
    "vocab.json": ('{"<pad>": 0,\n"hund": 1}', read_vocabulary),
    "train.de": ("Ein Hund.\nEine Katze.\n", read_lines),
    "en-de.tsv": ("# Pets\nA dog.\tEin Hund.\n", lambda path: read_class_list("en", "de", folder=path.parent)),
    "de-en.tsv": ("Ein Hund\ta dog\t0-0 1-1\n", lambda path: read_aligned("de", "en", path.parent)),
    "toy.toml": ((RECIPES / "toy.toml").read_text(), lambda path: load_recipe(str(path))),
    "config.json": ((BUNDLED / NAME / "config.json").read_text(), lambda path: read_config(path.parent)),
    "README.md": ("---\na: 1\n---\n# Name\nOne card.\n", lambda path: model_card(list_one(path.parent).key, "en").text),
}


@pytest.mark.parametrize("how", ENCODINGS)
@pytest.mark.parametrize("name", READERS)
def test_the_encoding_of_a_text_file_does_not_change_its_content(tmp_path: Path, name: str, how: str) -> None:
    text, read = READERS[name]
    for folder in ("as-it-was", "changed"):
        (tmp_path / folder).mkdir()
    expected, changed = tmp_path / "as-it-was" / name, tmp_path / "changed" / name
    expected.write_bytes(text.encode())
    changed.write_bytes(ENCODINGS[how](text.encode()))
    assert read(changed) == read(expected)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "latin-1"])
@pytest.mark.parametrize("name", READERS)
def test_another_encoding_gets_a_sentence_with_the_remedy(tmp_path: Path, name: str, encoding: str) -> None:
    text, read = READERS[name]
    (tmp_path / name).write_bytes(text.replace("n", "ñ").encode(encoding))
    with pytest.raises(ValueError, match=rf"{name}.*Save it as UTF-8|No sentences of de and en") as caught:
        read(tmp_path / name)
    assert ("UTF-16" in str(caught.value)) == encoding.startswith("utf-16") or name == "de-en.tsv"


def test_a_text_begins_after_its_mark_and_keeps_its_other_characters() -> None:
    assert decoded("\ufeffä\r\n\ufeffb\rc\u2028".encode(), "a.txt") == "ä\n\ufeffb\rc\u2028"


def test_curves_are_drawn_from_a_table_that_another_program_has_saved(tmp_path: Path) -> None:
    folder = shutil.copytree(BUNDLED / NAME, tmp_path / NAME)
    expected = training_history(list_one(folder).key, "valid_bleu")
    table = folder / "history.csv"
    table.write_bytes(ENCODINGS["both"](table.read_bytes()))
    found = training_history(list_one(folder).key, "valid_bleu")
    assert found is not None
    assert found.equals(expected)
