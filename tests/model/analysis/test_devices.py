"""Everything is computed where the weights are.

Tests have no second device. So here every tensor that is made without a device lands on "meta", where nothing has a
value, while the weights stay on the CPU: what forgets to ask where the weights are fails.
"""

from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

from model.analysis.anatomy import anatomy, value_norms
from model.analysis.importance import gradient_importance, loss_changes, make_examples
from model.analysis.mask_bugs import BUGS, bug_weights, mask_bug
from model.analysis.padded_batch import layer_stages, padded_batch
from model.checkpoints.checkpoint import Checkpoint, load_classifier
from model.config.search import SearchConfig
from model.inference import passes
from model.inference.classify import classify, classify_lines
from model.inference.translate import translate
from tests.conftest import BUNDLED
from tests.model.analysis.follow import follow

TEXTS = ("the dog runs .", "the small dog sees a red house .")
ANALYSES: dict[str, Callable[[Checkpoint], object]] = {
    "greedy": lambda toy: translate(toy, TEXTS[0]),
    "beam": lambda toy: translate(toy, TEXTS[0], search=SearchConfig(method="beam", beam_size=3)),
    "anatomy": lambda toy: anatomy(follow(toy, TEXTS[0]), "cross", 0),
    "norms": lambda toy: value_norms(follow(toy, TEXTS[0])),
    "batch": lambda toy: padded_batch(toy, TEXTS),
    "stages": lambda toy: layer_stages(toy, padded_batch(toy, TEXTS), "cross", 0),
    "mistaken": lambda toy: bug_weights(toy, padded_batch(toy, TEXTS), "fill", "cross", 0),
    "losses": lambda toy: next(loss_changes(toy.model, [make_examples(toy, [(TEXTS[0], ""), (TEXTS[1], "ein Haus")])])),
    "gradients": lambda toy: gradient_importance(toy, [(TEXTS[0], "")]),
    **{f"mask {name or 'right'}": lambda toy, name=name: mask_bug(toy, TEXTS, name) for name in ("", *BUGS)},
}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the default device were not that of the weights."""

    def pad(ids: Sequence[Sequence[int]], *, pad_id: int, device: torch.device | None = None) -> Tensor:
        rows = [torch.tensor(row, device=device) for row in ids]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)

    monkeypatch.setattr(passes, "pad", pad)
    with torch.device("meta"):
        yield


@pytest.mark.parametrize("name", ANALYSES)
def test_a_translator_is_analysed_on_its_own_device(toy: Checkpoint, elsewhere: None, name: str) -> None:
    ANALYSES[name](toy)


def test_a_classifier_runs_on_its_own_device(request: pytest.FixtureRequest) -> None:
    checkpoint = load_classifier(BUNDLED / "imdb-sentiment")
    request.getfixturevalue("elsewhere")
    assert classify(checkpoint, "A splendid film, warm and clever.").label == "positive"
    assert classify_lines(checkpoint.model, checkpoint.tokenizers, ["Dull and clumsy.", "Splendid and warm."]) == [0, 1]
