"""Each checkpoint of ours with attention comes with an atlas of its own weights, of sentences that it can read."""

import random
from pathlib import Path

import numpy as np
import pytest

from model.atlas.atlas import open_atlas
from model.atlas.store import ATLAS_FOLDER
from model.inference.opening import open_checkpoint, read_any_config
from model.inference.run import Run
from model.inference.translate import compute
from tests.conftest import BUNDLED
from weights.atlases import FORMS, TEXTS, corpus_of

FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/config.json"))
NUMBERS = {"duplicate", "induction", "word", "alignment", "previous", "content"}
FEWEST = 150  # texts that a number needs, so that its interval is narrow


def test_every_checkpoint_with_attention_has_an_atlas() -> None:
    assert {folder.name for folder in FOLDERS if any(heads_of(folder))} == {*FORMS}
    assert {path.parent.parent.name for path in BUNDLED.glob(f"*/{ATLAS_FOLDER}/atlas.json")} == {*FORMS}


def heads_of(folder: Path) -> tuple[str, ...]:
    return tuple(read_any_config(folder).model.kinds)


@pytest.mark.parametrize("name", FORMS)
def test_an_atlas_is_of_the_weights_beside_it_and_each_number_has_many_rows(name: str) -> None:
    checkpoint = open_checkpoint(BUNDLED / name)
    assert not checkpoint.unused.files
    atlas = open_atlas(BUNDLED / name / ATLAS_FOLDER, checkpoint)
    assert atlas.settings.texts == TEXTS
    assert not atlas.facts["facts"]["cut_texts"]
    for facts in atlas.facts["kinds"].values():
        for number in NUMBERS & {*facts["texts_of"]}:
            assert facts["texts_of"][number] in (0, *range(FEWEST, TEXTS + 1)), number


@pytest.mark.parametrize("name", ["everyday-en-de", "tiny-gpt-en"])
def test_the_kept_rows_are_those_of_single_runs(name: str) -> None:
    checkpoint = open_checkpoint(BUNDLED / name)
    atlas, draw = open_atlas(BUNDLED / name / ATLAS_FOLDER, checkpoint), random.Random(0)
    corpus = corpus_of(name)
    for head in draw.sample(atlas.heads, 10):
        for place in draw.sample(atlas.places(head), 2):
            result = compute(checkpoint, Run(text=corpus[place.line - 1]))
            row = result.maps[head.kind][head.layer, head.head, place.row]
            np.testing.assert_allclose(row[list(place.keys)], place.weights, atol=2e-3)


def test_the_texts_of_an_atlas_are_those_that_the_command_writes() -> None:
    atlas = open_atlas(BUNDLED / "everyday-zh-en" / ATLAS_FOLDER)
    corpus = corpus_of("everyday-zh-en")
    assert corpus == corpus_of("everyday-zh-en")
    assert len({*corpus}) == len(corpus) == TEXTS
    assert corpus != corpus_of("everyday-zh-en", seed=2)
    assert atlas.settings.lines == TEXTS


def test_atlases_stay_small() -> None:
    sizes = {name: sum(path.stat().st_size for path in (BUNDLED / name / ATLAS_FOLDER).iterdir()) for name in FORMS}
    assert max(sizes.values()) < 6e6
    assert sum(sizes.values()) < 20e6
