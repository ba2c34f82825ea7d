"""What to compute, as a key, as JSON, and as a result of a model of each task."""

import json

import numpy as np
import pytest

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint, load_checkpoint
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.inference.classify import Classification, classify, record_classification
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute, record_run, translate
from model.interventions import Head, Intervention, PaintedCell
from model.text.pair import TextPair
from tests.conftest import BUNDLED

SILENCED = Intervention(ablated=frozenset({Head("encoder", 0, 1)}))
RUNS = (
    Run(text="Ein Hund läuft."),
    Run(text=TextPair("A dog.", "A cat."), forced=((0, 5), (2, 7))),
    Run(text="", search=SearchConfig(method="beam", beam_size=3)),
    Run(
        text="</s>",
        changes=Intervention(painted=frozenset({PaintedCell(Head("cross", 2, 0), 1, 3, 0.25)}), positions=False),
    ),
)


@pytest.mark.parametrize("run", RUNS)
def test_json_and_back_is_the_same_run_with_the_same_hash(run: Run) -> None:
    again = Run.from_json(json.loads(json.dumps(run.to_json())))
    assert again == run
    assert hash(again) == hash(run)


def test_json_leaves_out_what_is_usual() -> None:
    assert RUNS[0].to_json() == {"text": "Ein Hund läuft."}
    assert RUNS[2].to_json() == {"text": "", "search": {"method": "beam", "beam_size": 3}}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"text": 1},
        {"text": "a", "forced": [[1]]},
        {"text": "a", "forced": [[0, True]]},
        {"text": "a", "forced": 3},
        {"text": "a", "more": 1},
        {"text": "a", "search": {"method": "beam", "beam": 3}},
        {"text": "a", "search": {"temperature": 0}},
        {"text": "a", "changes": "all"},
    ],
)
def test_other_json_is_no_run(parts: dict[str, object]) -> None:
    with pytest.raises((ValueError, ConfigError)):
        Run.from_json(parts)


def test_a_shortened_run_has_the_first_characters_of_each_text() -> None:
    assert RUNS[0].shortened(3).text == "Ein"
    assert RUNS[1].shortened(3).text == TextPair("A d", "A c")
    assert RUNS[1].shortened(3).forced == RUNS[1].forced


def test_the_usual_run_only_keeps_the_text() -> None:
    assert RUNS[1].usual == Run(text=RUNS[1].text)


def test_a_translator_computes_every_part_of_a_run() -> None:
    checkpoint = load_checkpoint(BUNDLED / "everyday-de-en")
    run = Run(text="Ein Hund läuft.", forced=((0, 50),), changes=SILENCED)
    found = compute(checkpoint, run)
    expected = translate(checkpoint, run.text, forced={0: 50}, edits=SILENCED.edits())
    assert found.written == expected.written
    assert found.written[0].id == 50
    assert not found.maps["encoder"][0, 1].any()
    beam = SearchConfig(method="beam", beam_size=2)
    found = compute(checkpoint, Run(text=run.text, search=beam))
    assert found.written == translate(checkpoint, run.text, search=beam).written


def test_a_classification_is_a_result_as_any_other() -> None:
    checkpoint = open_checkpoint(BUNDLED / "imdb-sentiment")
    assert isinstance(checkpoint, ClassifierCheckpoint)
    assert not isinstance(checkpoint, Checkpoint)
    run = Run(text="A dull film.")
    found, recording = record_run(checkpoint, run, record=("encoder.layers.0.self_attention.values",))
    assert isinstance(found, Classification)
    assert found.text == found.label == max(found.probabilities, key=lambda label: found.probabilities[label])
    assert [token.text for token in found.source] == [*found.tokens]
    assert found.source[-1].special
    assert (found.read, found.written, found.as_forced) == ((), (), {})
    assert found.maps["encoder"] is found.encoder
    np.testing.assert_array_equal(found.mask_of("encoder"), found.allowed)
    again, others = record_classification(checkpoint, run.text, record=("encoder.layers.0.self_attention.values",))
    name = "encoder.layers.0.self_attention.values"
    np.testing.assert_array_equal(recording.array(name), others.array(name))
    assert again.probabilities == found.probabilities
    changed = compute(checkpoint, Run(text=run.text, changes=SILENCED))
    assert isinstance(changed, Classification)
    assert changed.probabilities == classify(checkpoint, run.text, edits=SILENCED.edits()).probabilities
    assert changed.probabilities != found.probabilities
