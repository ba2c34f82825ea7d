"""A whole atlas: in one run or in several, by one process or three, and what its folder says."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from model.atlas import work
from model.atlas.atlas import Atlas, open_atlas
from model.atlas.corpus import BLOCK, Corpus, open_corpus
from model.atlas.measuring import tally_of
from model.atlas.places import SIZES
from model.atlas.settings import settings_of
from model.atlas.tally import add
from model.atlas.work import make_atlas, merge, unfinished_folder
from model.checkpoints.checkpoint import Loaded
from model.cli.main import main
from model.config.section import ConfigError
from model.inference.opening import open_checkpoint
from model.inference.run import Result, Run
from model.inference.translate import compute
from model.interventions import Head
from tests.conftest import BUNDLED, PATIENCE
from tests.copies import places, program, start

MODEL = BUNDLED / "everyday-en-de"
SUBJECTS = ("The dog", "My sister", "Tom", "An unbelievable station", "Nobody")
VERBS = ("sees", "likes", "doesn't know", "is looking for")
OBJECTS = ("12 cats", "the train", "Tom and the dog", "a house, a tree and a house", "you")
LINES = [f"{s} {v} {o}{end}" for v in VERBS for o in OBJECTS for s, end in zip(SUBJECTS, ".?!..", strict=True)]


def write_corpus(folder: Path, lines: Sequence[str]) -> Path:
    path = folder / "corpus.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def checkpoint() -> Loaded:
    return open_checkpoint(MODEL)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Two blocks of lines, and a short third one; most lines are empty, and two have a translation."""
    empty = [""] * (BLOCK - 20)
    last = ["Two dogs.\tZwei Hunde.", "", "I see.\tIch sehe.", *LINES[40:42]]
    return open_corpus(
        write_corpus(tmp_path_factory.mktemp("corpus"), [*LINES[:20], *empty, *LINES[20:40], *empty, *last])
    )


@pytest.fixture(scope="module")
def folder(checkpoint: Loaded, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The atlas of the corpus, made in one run."""
    out = tmp_path_factory.mktemp("atlas") / "whole"
    make_atlas(checkpoint, corpus, out)
    return out


@pytest.fixture(scope="module")
def atlas(folder: Path) -> Atlas:
    return open_atlas(folder)


@pytest.fixture(scope="module")
def results(checkpoint: Loaded, corpus: Corpus) -> dict[int, Result]:
    """One run for each line without a translation, as a visitor sees it."""
    lines = [line for i in range(corpus.blocks) for line in corpus.block(i) if not line.second]
    return {line.number: compute(checkpoint, Run(text=line.text)) for line in lines}


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_number_is_the_mean_over_the_rows_of_single_runs(results: dict[int, Result], atlas: Atlas) -> None:
    maps = [result.maps["encoder"][1, 3] for result in results.values()]
    previous = [row[t - 1] for one in maps for t, row in enumerate(one) if t]
    at = atlas.heads.index(Head("encoder", 1, 3))
    found = atlas.numbers("previous", "previous_low", "previous_high")
    # The two lines with a translation have six of about 400 such rows.
    assert found["previous"][at] == pytest.approx(np.mean(previous), abs=0.01)
    assert found["previous_low"][at] < found["previous"][at] < found["previous_high"][at]


def test_the_facts_count_everything_that_was_left_out_or_forced(atlas: Atlas) -> None:
    assert atlas.facts["left_out_lines"] == 89
    assert atlas.facts["facts"] == {"texts": 44, "forced_texts": 2, "cut_texts": 0, "cut_tokens": 0}
    cross, encoder = atlas.facts["kinds"]["cross"], atlas.facts["kinds"]["encoder"]
    assert cross["special_rows"] == encoder["special_rows"] == 44  # one </s> each
    assert cross["forced_rows"] == len(["Zwei", "Hunde", ".", "</s>", "Ich", "sehe", ".", "</s>"])
    assert encoder["forced_rows"] == 0
    assert encoder["padded_rows"] > 0
    assert encoder["rows_of"]["previous"] == encoder["rows"] - 44
    assert encoder["rows_of"]["alignment"] == 0 < cross["rows_of"]["alignment"] < cross["rows"]


def test_a_place_shows_the_weights_of_its_row(results: dict[int, Result], atlas: Atlas) -> None:
    head = Head("cross", 2, 1)
    places = atlas.places(head)
    texts = atlas.texts([place.line for place in places])
    groups = np.bincount([place.group for place in places], minlength=len(SIZES))
    assert (groups <= SIZES).all()
    assert groups[-1] == SIZES[-1]
    for place in places[::9]:
        text = texts[place.line]
        if text.forced:
            assert place.forced
            continue
        result = results[place.line]
        assert tuple(token.text for token in result.written) == text.written.tokens
        assert place.special == result.written[place.row].special
        row = result.maps["cross"][head.layer, head.head, place.row]
        order = np.argsort(-row, kind="stable")[:8]
        assert place.keys == tuple(s for s in order if row[s] >= 0.005)
        np.testing.assert_allclose(place.weights, row[list(place.keys)], atol=1e-3)
        assert place.group in (min(int(row.max() * 10), 9), 10)


def test_the_strongest_rows_are_those_of_the_whole_corpus(results: dict[int, Result], atlas: Atlas) -> None:
    every = np.sort(np.concatenate([result.maps["decoder"][0, 2].max(axis=-1) for result in results.values()]))[::-1]
    strongest = [place.weights[0] for place in atlas.places(Head("decoder", 0, 2)) if place.group == 10]
    np.testing.assert_allclose(strongest, every[: len(strongest)], atol=1e-3)


def test_a_head_is_like_itself_in_another_atlas_and_not_listed_beside_itself(atlas: Atlas) -> None:
    head = Head("encoder", 2, 5)
    assert head not in [one for one, _ in atlas.most_similar(head)]
    best, value = atlas.most_similar(head, atlas)[0]
    assert (best, round(value, 5)) == (head, 1.0)
    assert [len(atlas.most_similar(head, by=by)) for by in ("profile", "writes")] == [23, 23]


def test_any_order_of_blocks_gives_the_same_bytes(checkpoint: Loaded, corpus: Corpus) -> None:
    settings = replace(settings_of(checkpoint, corpus), replicates=20)
    tallies = [tally_of(checkpoint, corpus, i, settings) for i in (0, 1, 2)]
    one, other = add(tallies, 3), add([tallies[2], tallies[1] + tallies[0]], 3)
    assert one.to_bytes({}) == other.to_bytes({})
    saved_twice = add([tallies[1], tallies[0] + tallies[1], tallies[2]], 3)  # by a run that ended just then
    assert saved_twice.to_bytes({}) == one.to_bytes({})
    with pytest.raises(ConfigError, match="have the same lines"):
        one + tallies[1]


def test_shares_merge_to_the_same_bytes(checkpoint: Loaded, corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    """Also where two cores measure one share."""
    halves = [tmp_path / "second", tmp_path / "first"]
    cores = torch.get_num_threads()
    make_atlas(checkpoint, corpus, halves[0], share=(2, 2))
    torch.set_num_threads(2)
    try:
        make_atlas(checkpoint, corpus, halves[1], share=(1, 2))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(cores)
    with pytest.raises(ConfigError, match="1 of 3 blocks of lines are missing"):
        merge(halves[1:], tmp_path / "whole")
    with pytest.raises(ConfigError, match="is a part of an atlas"):
        open_atlas(halves[0])
    shares = [str(half) for half in halves]
    assert main(["atlas", str(MODEL), "--merge", *shares, "--out", str(tmp_path / "whole")]) == 0
    assert bytes_of(tmp_path / "whole") == bytes_of(folder)


class StoppedError(Exception):
    """Somebody stops the run."""


def test_a_run_that_was_stopped_continues(checkpoint: Loaded, corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    out, done = tmp_path / "whole", []

    def stop(lines: int, of: int) -> None:
        done.append((lines, of))
        if lines == 64:
            raise StoppedError

    with pytest.raises(StoppedError):
        make_atlas(checkpoint, corpus, out, report=stop)
    assert not out.exists()
    with pytest.raises(ConfigError, match="does not fit: its seed is another one"):
        make_atlas(checkpoint, corpus, out, seed=1)
    make_atlas(checkpoint, corpus, out, report=stop_at(done))
    assert done == [(0, 133), (64, 133), (0, 69), (64, 69), (69, 69)]
    assert bytes_of(out) == bytes_of(folder)
    assert not unfinished_folder(out).exists()


def stop_at(done: list[tuple[int, int]]) -> "object":
    return lambda lines, of: done.append((lines, of))


def test_three_processes_make_the_same_atlas_as_one(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    arguments = ["atlas", str(MODEL), "--corpus", str(corpus.path), "--out", str(tmp_path / "whole"), "--device", "cpu"]
    team = [start(program, arguments, tmp_path / "said", **place) for place in places(3)]
    for one in team:
        one.join(PATIENCE)
    assert [one.exitcode for one in team] == [0, 0, 0]
    assert bytes_of(tmp_path / "whole") == bytes_of(folder)


def test_a_process_that_is_killed_loses_no_finished_block(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "whole"
    killed = start(killed_after_one_block, corpus.path, out)
    killed.join(PATIENCE)
    assert killed.exitcode == -9
    again: list[int] = []
    make_atlas(open_checkpoint(MODEL), corpus, out, report=lambda lines, of: again.append(of))
    assert set(again) == {69}
    assert bytes_of(out) == bytes_of(folder)


def killed_after_one_block(path: Path, out: Path) -> None:
    torch.set_num_threads(1)

    def kill(lines: int, of: int) -> None:
        if lines > 64:  # the first block is saved, the second is not
            os.kill(os.getpid(), 9)

    work.SAVE_SECONDS = 0
    work.make_atlas(open_checkpoint(MODEL), open_corpus(path), out, report=kill)


def test_a_folder_that_cannot_be_used_gets_a_sentence(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with pytest.raises(ConfigError, match=r"has no atlas\.json, so it is no atlas"):
        open_atlas(tmp_path)
    shutil.copytree(folder, copy)
    with pytest.raises(ConfigError, match="measured with other weights than those of multi30k-en-de"):
        open_atlas(copy, open_checkpoint(BUNDLED / "multi30k-en-de"))
    assert open_atlas(copy, open_checkpoint(MODEL)).heads[0] == Head("cross", 0, 0)
    facts = json.loads((copy / "atlas.json").read_text())
    (copy / "atlas.json").write_text(json.dumps(facts | {"format": 2}))
    with pytest.raises(ConfigError, match=r"is an atlas of version 2\. This version of Headlight reads version 1"):
        open_atlas(copy)
    for damage in ("{", "[]", "{}", json.dumps(facts | {"settings": {}}), json.dumps(facts | {"files": None})):
        (copy / "atlas.json").write_text(damage)
        with pytest.raises(ConfigError, match="of the atlas copy is damaged"):
            open_atlas(copy)


@pytest.mark.parametrize("name", ["heads.parquet", "sentences.parquet", "places.npy", "profile-cross.npy"])
def test_a_damaged_file_gets_a_sentence(folder: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    opened, whole = open_atlas(copy), (copy / name).read_bytes()
    (copy / name).write_bytes(whole[:-100])
    with pytest.raises(ConfigError, match=f"{name} of the atlas copy is damaged"):
        open_atlas(copy)
    (copy / name).write_bytes(b"\0" * len(whole))  # of the right size
    head = opened.heads[0]
    with pytest.raises(ConfigError, match=f"{name} of the atlas copy is damaged"):
        {
            "heads.parquet": lambda: opened.numbers("entropy"),
            "sentences.parquet": lambda: opened.texts([1]),
            "places.npy": lambda: opened.places(head),
            "profile-cross.npy": lambda: opened.most_similar(head),
        }[name]()


@pytest.mark.parametrize("name", ["heads.parquet", "sentences.parquet"])
def test_a_small_file_that_unpacks_to_many_rows_is_not_read(folder: Path, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    pq.write_table(pa.table({"line": np.zeros(1 << 24, dtype=np.int8)}), copy / name)
    size = (copy / name).stat().st_size
    assert size < 1e5
    facts = json.loads((copy / "atlas.json").read_text())
    (copy / "atlas.json").write_text(json.dumps(facts | {"files": {**facts["files"], name: size}}))
    with pytest.raises(ConfigError, match=f"{name} of the atlas copy is damaged .it claims too many rows"):
        open_atlas(copy)


def test_the_command_says_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write_corpus(tmp_path, ["Where is the station?", ""]), tmp_path / "atlas"
    command = ["atlas", str(BUNDLED / "gru-de-en"), "--corpus", str(path), "--out", str(out), "--device", "cpu"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "only one text, so no number has an interval" in said.err
    assert "1 heads in 1 texts" in said.out
    assert "1 empty lines are left out" in said.out
    found = open_atlas(out)
    assert not found.facts["intervals"]
    assert np.isnan(found.numbers("entropy_low")["entropy_low"]).all()
    assert main(command) == 1
    assert f"{out} exists. Choose another folder" in capsys.readouterr().err
    assert main(["atlas", "gru-de-en-plain", *command[2:5], str(tmp_path / "other")]) == 1
    assert "has no attention, so it has no atlas" in capsys.readouterr().err
