"""The engine in the browser computes what PyTorch computes: at every hook point, with every kind of change."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.silencing import silence_each_head
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint, load_classifier
from model.inference.classify import record_classification
from model.inference.run import Recording, Result
from model.inference.translate import record_translation
from model.interventions import Head, Intervention, PaintedCell
from model.trace import Edit, hook_name
from tests.conftest import BUNDLED
from tests.live.engine import run_engine
from tests.live.variants import VARIANTS, write_checkpoint
from tests.model.analysis.follow import follow

SENTENCES = {
    "de": "Ein alter Mann und zwei Kinder spielen im Park.",
    "en": "An old man and two children are playing in the park.",
    "zh": "一个老人和两个孩子在公园里玩。",
}
TRANSLATORS = (
    *("everyday-en-de", "everyday-zh-en", "multi30k-en-de"),  # test_engine_texts.py has the other two of everyday
    *("gru-de-en", "gru-de-en-plain"),
)
TOLERANCE = 1e-5  # of the largest number in a tensor, or of 1


@cache
def loaded(name: str) -> Checkpoint:
    return load_checkpoint(BUNDLED / name)


def sentence_of(checkpoint: Checkpoint) -> str:
    return SENTENCES[checkpoint.config.tokenizer.source_language]


def assert_same(name: str, ours: NDArray[np.float32], theirs: NDArray[np.float32]) -> None:
    """The same shape and numbers, where masked cells are equal."""
    ours = ours.reshape(theirs.shape) if ours.size == theirs.size else ours  # a vector, or a tensor with one row
    assert ours.shape == theirs.shape, name
    finite = np.isfinite(ours)
    np.testing.assert_array_equal(ours[~finite], theirs[~finite], err_msg=name)
    largest = max(1.0, float(np.abs(ours[finite]).max(initial=0)))
    np.testing.assert_allclose(theirs[finite], ours[finite], rtol=0, atol=TOLERANCE * largest, err_msg=name)


def all_arrays(translation: Result, recording: Recording) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Every recorded tensor of a run in Python, with its maps."""
    yield from recording.arrays().arrays.items()
    for kind, maps in translation.maps.items():
        yield from ((hook_name(kind, layer, "weights"), layer_maps) for layer, layer_maps in enumerate(maps))


def assert_same_run(translation: Result, recording: Recording, found: Mapping[str, Any]) -> None:
    """The same tokens with the same probabilities, and the same numbers at the same hook points."""
    assert found["text"] == translation.text
    for tokens in ("source", "read", "written"):
        ours = [(token.text, token.id, token.word) for token in getattr(translation, tokens)]
        assert [(token["text"], token["id"], token["word"]) for token in found[tokens]] == ours
    for ours, theirs in zip(translation.written, found["written"], strict=True):
        assert theirs["probability"] == pytest.approx(ours.probability, abs=1e-5)
        assert theirs["entropy"] == pytest.approx(ours.entropy, abs=1e-4)
        assert [c["id"] for c in theirs["candidates"][:3]] == [c.id for c in ours.candidates[:3]]
    for kind, maps in translation.maps.items():
        assert_same(kind, maps, found["maps"][kind])
    arrays = dict(all_arrays(translation, recording))
    assert arrays.keys() == found["recorded"].keys()
    for name, array in arrays.items():
        assert_same(name, array, found["recorded"][name])


def run_both(
    folder: Path, checkpoint: Checkpoint, changes: Mapping[str, object], edits: Mapping[str, Edit], **options: Any
) -> None:
    """Translate in Python and in the engine, and compare everything."""
    text = sentence_of(checkpoint)
    forced = options.get("forced", {})
    job = {"job": "translate", "text": text, "record": ["*"], "changes": changes, "forced": list(forced.items())}
    translation, recording = record_translation(checkpoint, text, record=("*",), edits=edits, **options)
    assert_same_run(translation, recording, run_engine(folder, [job])[0])


@pytest.mark.parametrize("name", TRANSLATORS)
def test_every_hook_point_of_a_bundled_translator(name: str) -> None:
    run_both(BUNDLED / name, loaded(name), {}, {})


@pytest.mark.parametrize("settings", VARIANTS, ids=lambda settings: "-".join(map(str, settings.values())))
def test_every_hook_point_of_other_architectures(settings: Mapping[str, str | int | float], tmp_path: Path) -> None:
    write_checkpoint(tmp_path, settings)
    run_both(tmp_path, load_checkpoint(tmp_path), {}, {})


def test_every_hook_point_of_the_classifier() -> None:
    """Its words need spaCy, so the engine gets the ids."""
    checkpoint = load_classifier(BUNDLED / "imdb-sentiment")
    head = Head("encoder", 0, 1)
    for changes, edits in (
        ({}, {}),
        ({"ablated": [vars(head)]}, Intervention(ablated=frozenset({head})).edits()),
    ):
        text = "A dull film, but its ending is warm and clever."
        ours, recording = record_classification(checkpoint, text, record=("*",), edits=edits)
        job = {"job": "classify", "ids": list(ours.ids), "record": ["*"], "changes": changes}
        (found,) = run_engine(checkpoint.path, [job])
        assert found["text"] == ours.label
        assert_same(
            "probabilities",
            np.array(list(ours.probabilities.values())),
            np.array([share for _, share in found["probabilities"]]),
        )
        assert_same("pooling", ours.pooling, found["recorded"]["pooling.attention.weights"])
        weights = "encoder.layers.0.self_attention.weights"  # a result has them as maps
        assert {weights, *recording.trace.names} == set(found["recorded"])
        assert_same(weights, ours.maps["encoder"], found["recorded"][weights])
        for name in recording.trace.names:
            assert_same(name, recording.trace.passes(name)[0].numpy(), found["recorded"][name])


def test_a_long_text_of_a_classifier_keeps_its_beginning_and_its_end() -> None:
    checkpoint = load_classifier(BUNDLED / "imdb-sentiment")
    text = " ".join(f"Part {i} of the film is long." for i in range(120))
    ours, _ = record_classification(checkpoint, text)
    whole = checkpoint.tokenizers.encode(text, checkpoint.config.model.max_length).ids
    assert len(ours.ids) < len(whole)
    (found,) = run_engine(checkpoint.path, [{"job": "classify", "ids": [*whole, ours.ids[-1]]}])
    assert [token["id"] for token in found["source"]] == list(ours.ids)
    assert found["text"] == ours.label


def replaced(head: int, rows: list[list[float]]) -> Edit:
    """As `replacePattern`, for a search with one token per pass."""
    passes = 0

    def edit(weights: Tensor) -> Tensor:  # (B, H, 1, S)
        nonlocal passes
        edited = weights.clone()
        if passes < len(rows):
            edited[:, head, 0] = torch.tensor(rows[passes])[: weights.size(-1)]
        passes += 1
        return edited

    return edit


CROSS, DECODER, ENCODER = Head("cross", 2, 1), Head("decoder", 1, 3), Head("encoder", 0, 5)
ROWS = [[0.0, 0.5, 0.5, *[0.0] * 40], [0.25, 0.0, 0.0, 0.75, *[0.0] * 40]]
CHANGES: dict[str, tuple[dict[str, object], Intervention | dict[str, Edit]]] = {
    "silenced": (
        {"ablated": [vars(head) for head in (CROSS, DECODER, ENCODER)]},
        Intervention(ablated=frozenset({CROSS, DECODER, ENCODER})),
    ),
    "uniform": (
        {"uniform": [vars(head) for head in (CROSS, DECODER, ENCODER)]},
        Intervention(uniform=frozenset({CROSS, DECODER, ENCODER})),
    ),
    "painted": (
        {
            "painted": [
                {**vars(CROSS), "query": 2, "key": 4, "weight": 0.9},
                {**vars(ENCODER), "query": 3, "key": 0, "weight": 1},
                {**vars(DECODER), "query": 0, "key": 0, "weight": 0.3},  # the only key keeps the whole weight
            ]
        },
        Intervention(
            painted=frozenset(
                {PaintedCell(CROSS, 2, 4, 0.9), PaintedCell(ENCODER, 3, 0, 1.0), PaintedCell(DECODER, 0, 0, 0.3)}
            )
        ),
    ),
    "no positions": ({"positions": False}, Intervention(positions=False)),
    "replaced": (
        {"replaced": [{**vars(CROSS), "weights": ROWS}]},
        {hook_name("cross", CROSS.layer, "weights"): replaced(CROSS.head, ROWS)},
    ),
    "several": (
        {
            "uniform": [vars(CROSS)],
            "painted": [{**vars(CROSS), "query": 1, "key": 2, "weight": 0.5}],
            "ablated": [vars(DECODER)],
            "positions": False,
        },
        Intervention(
            uniform=frozenset({CROSS}),
            painted=frozenset({PaintedCell(CROSS, 1, 2, 0.5)}),
            ablated=frozenset({DECODER}),
            positions=False,
        ),
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_change_means_the_same(kind: str) -> None:
    changes, edits = CHANGES[kind]
    run_both(
        BUNDLED / "everyday-en-de",
        loaded("everyday-en-de"),
        changes,
        edits.edits() if isinstance(edits, Intervention) else edits,
    )


def test_a_change_of_the_recurrent_translator_means_the_same() -> None:
    head = Head("cross", 0, 0)
    changes = {"uniform": [vars(head)]}
    run_both(BUNDLED / "gru-de-en", loaded("gru-de-en"), changes, Intervention(uniform=frozenset({head})).edits())


def test_forced_words_are_written_and_the_rest_follows() -> None:
    checkpoint, text = loaded("everyday-en-de"), SENTENCES["en"]
    (unforced,) = run_engine(checkpoint.path, [{"job": "translate", "text": text}])
    word = unforced["written"][1]["candidates"][1]["id"]  # a gap before it, and free choice after it
    translation, _ = record_translation(checkpoint, text, forced={1: word})
    (found,) = run_engine(checkpoint.path, [{"job": "translate", "text": text, "forced": [[1, word]]}])
    assert [token["id"] for token in found["written"]] == [token.id for token in translation.written]
    assert found["written"][1]["id"] == word
    assert found["text"] != unforced["text"]


def test_silencing_each_head_has_the_same_effects() -> None:
    checkpoint, text = loaded("multi30k-en-de"), "Two dogs run."
    ours = silence_each_head(follow(checkpoint, text))
    (effects,) = run_engine(checkpoint.path, [{"job": "silence", "text": text}])
    assert len(effects) == sum(changes.size for changes in ours.changes.values())
    for effect in effects:
        place = effect["layer"], effect["head"]
        assert effect["change"] == pytest.approx(float(ours.changes[effect["kind"]][place]), abs=1e-4)
        assert effect["position"] == ours.positions[effect["kind"]][place]


def test_a_translation_comes_before_the_measurement_of_all_heads() -> None:
    checkpoint = loaded("everyday-en-de")
    ((measured, heads),) = run_engine(checkpoint.path, [{"job": "silence-meanwhile", "text": "The dog sleeps."}])
    assert measured <= 1
    assert heads == 72
