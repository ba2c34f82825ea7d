"""The two tiny models in `checkpoints/`: they open, know our stories, and show the library's own weights."""

import re
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import torch

from model.checkpoints.checkpoint import Checkpoint, CheckpointError
from model.foreign.architecture import read_foreign_config
from model.foreign.known_config import read_known_config
from model.inference.opening import open_checkpoint
from model.inference.translate import translate
from tests.conftest import BUNDLED, ROOT
from viz_app.content.examples import STORY_BEGINNINGS, STORY_MASKED, knows_stories
from weights.tiny.figures import PROBES, SENTENCES, open_tiny, probes, share_right

GPT, BERT = "tiny-gpt-en", "tiny-bert-en"
NAMES = (GPT, BERT)
CARDS = {name: (BUNDLED / name / "README.md").read_text(encoding="utf-8") for name in NAMES}


@cache
def opened(name: str) -> Checkpoint:
    found = open_checkpoint(BUNDLED / name)
    assert isinstance(found, Checkpoint)
    return found


@pytest.mark.parametrize(
    ("beginning", "next_word"),
    [
        ("The dogs in front of the house", "are"),
        ("The dog near the houses", "is"),
        ("When Tom and Anna went to the park, Tom gave a ball to", "Anna"),
        ("When Tom and Anna went to the park, Anna gave a ball to", "Tom"),
        ('Paul says: "moon river stone apple king." Eva says it again: "moon river', "stone"),
    ],
)
def test_the_language_model_continues_a_text(beginning: str, next_word: str) -> None:
    found = translate(opened(GPT), beginning)
    assert found.text.removeprefix(beginning).split()[0].strip('.,"') == next_word
    assert found.finished


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The dogs near the tree [MASK] hungry.", "are"),
        ("The dog near the trees [MASK] hungry.", "is"),
        ("The horse went back to its [MASK].", "stable"),
        ("Paul lost a [MASK]. He looked under the bed, but the key was not there.", "key"),  # what comes later decides
    ],
)
def test_the_masked_model_fills_a_gap(text: str, word: str) -> None:
    (guess,) = (token for token in translate(opened(BERT), text).source if token.candidates)
    assert guess.candidates[0].token == word


@pytest.mark.parametrize(("name", "kind"), [(GPT, "decoder"), (BERT, "encoder")])
def test_the_maps_are_those_of_the_library(name: str, kind: str) -> None:
    text = STORY_BEGINNINGS[0] if name == GPT else STORY_MASKED[0].format("[MASK]")
    found = translate(opened(name), text)
    tokens = found.read if name == GPT else found.source
    theirs = open_tiny(BUNDLED / name).read([token.id for token in tokens])
    np.testing.assert_allclose(found.maps[kind], theirs.weights.numpy(), atol=1e-5)
    ahead = torch.ones(theirs.weights.shape[-2:]).triu(1).bool()
    assert bool(theirs.weights[..., ahead].any()) == (name == BERT)  # only GPT has a causal mask


@pytest.mark.parametrize("name", NAMES)
def test_the_card_states_what_the_stored_weights_do(name: str) -> None:
    tiny, card = open_tiny(BUNDLED / name), CARDS[name]
    for kind in PROBES:
        assert f"| {100 * share_right(tiny, probes(kind, SENTENCES)):.1f} % |" in card
    assert f"python -m weights tiny {name}" in card
    row = next(
        line
        for line in (ROOT / "docs" / "checkpoints.md").read_text(encoding="utf-8").splitlines()
        if f"| {name} |" in line
    )
    (figure,) = re.findall(r"(?:perplexity|hidden words) (\d+\.\d+)", row)
    assert f" {figure} " in card


@pytest.mark.parametrize("name", NAMES)
def test_it_is_small(name: str) -> None:
    files = [path for path in (BUNDLED / name).rglob("*") if path.is_file() and "training" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 3e6
    assert (BUNDLED / name / "model.safetensors").stat().st_size < 2.3e6  # half precision


@pytest.mark.parametrize("name", NAMES)
def test_its_description_without_the_library_is_that_of_the_library(name: str) -> None:
    ours, theirs = read_known_config(BUNDLED / name), read_foreign_config(BUNDLED / name)
    assert ours is not None
    assert (ours.family, ours.task, ours.model, ours.tokenizer) == (
        theirs.family,
        theirs.task,
        theirs.model,
        theirs.tokenizer,
    )
    assert knows_stories(ours)
    assert knows_stories(opened(name).config)


def test_a_list_of_the_bundled_checkpoints_does_not_load_the_library() -> None:
    code = (
        "import sys; from pathlib import Path; from model.inference.opening import read_any_config\n"
        f"print(len([read_any_config(p.parent) for p in Path({str(BUNDLED)!r}).glob('*/config.json')]))\n"
        "print('transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == [str(len(list(BUNDLED.glob("*/config.json")))), "False"]


def test_without_the_library_a_sentence_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("model.foreign.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(CheckpointError) as raised:
        open_checkpoint(BUNDLED / GPT)
    remedy = "tiny-gpt-en needs the package transformers, which is not installed. Run `pip install transformers`."
    assert str(raised.value) == remedy
