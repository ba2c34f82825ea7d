"""Each number of each head, against `reference.py`, which reads one text after the other, cell by cell."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from model.analysis.importance import gradient_importance
from model.analysis.statistics import head_metrics
from model.atlas.corpus import Line
from model.atlas.layout import DISTANCES, layout_of
from model.atlas.measures import NUMBERS, PAIRS, counts, layer_sums, real_weights
from model.atlas.measuring import written_vectors
from model.atlas.reading import BatchFound, means_of, read_batch
from model.atlas.texts import Side, TextTokens, read_texts
from model.atlas.token_classes import CLASSES
from model.checkpoints.checkpoint import Loaded
from model.inference.opening import open_checkpoint
from model.inference.run import Result, Run
from model.inference.translate import compute, forced_ids
from model.trace import tracing
from tests.conftest import BUNDLED
from tests.foreign_folders import make_folder
from tests.model.atlas.reference import rows_of
from tools.foreign_families import family_named
from tools.small_models import make_family

TEXTS = (
    "Where is the unbelievable station?",
    "Tom said that Tom has 12 dogs, and that Tom likes dogs.",
    "No!",
    "The dog and the cat.",
)
NAMES = (*NUMBERS, *(f"{row} > {column}" for row, column in PAIRS))


def measured(checkpoint: Loaded, lines: Sequence[Line]) -> tuple[list[TextTokens], dict[str, BatchFound]]:
    texts = read_texts(checkpoint, lines)
    return texts, read_batch(checkpoint, texts, means_of(checkpoint))


def results_of(checkpoint: Loaded, lines: Sequence[Line]) -> list[Result]:
    """One run per text, as a visitor sees it."""
    return [
        compute(
            checkpoint,
            Run(
                text=line.text,
                forced=tuple(forced_ids(checkpoint.tokenizers, line.second).items()) if line.second else (),
            ),
        )
        for line in lines
    ]


@pytest.mark.parametrize(
    "name", ["everyday-en-de", "multi30k-de-en-words", "gru-de-en", "imdb-sentiment", "tiny-bert-en"]
)
def test_every_number_is_that_of_single_runs(name: str) -> None:
    checkpoint = open_checkpoint(BUNDLED / name)
    second = "Der Hund und die Katze." if checkpoint.config.task == "translation" else ""
    lines = [Line(number=i, text=text) for i, text in enumerate(TEXTS, start=1)]
    lines[-1] = Line(number=len(lines), text=TEXTS[-1], second=second)
    _, found = measured(checkpoint, lines)
    results = results_of(checkpoint, lines)
    assert tuple(found) == checkpoint.model.config.kinds
    for kind, of_kind in found.items():
        sums, rows = of_kind.numbers()
        for i, result in enumerate(results):
            for layer in range(sums.shape[1]):
                for head in range(sums.shape[2]):
                    compare(rows_of(result, kind, layer, head), sums[i, layer, head], rows[i])


def compare(expected: dict[str, list[float]], sums: np.ndarray, rows: np.ndarray) -> None:
    for n, name in enumerate(NAMES):
        if name != "importance":
            assert rows[n] == len(expected.get(name, ())), name
            assert sums[n] == pytest.approx(sum(expected.get(name, ())), abs=2e-4), name


@pytest.mark.parametrize("title", ["SqueezeBERT", "T5", "LED"])
def test_models_of_other_libraries_are_measured_too(tmp_path: Path, title: str) -> None:
    """Of SqueezeBERT and LED only the weights are known, and an LED pads its windows."""
    checkpoint = open_checkpoint(make_family(tmp_path / title, family_named(title)))
    means = means_of(checkpoint)
    assert (means.importance, means.writes) == ((True, True) if title == "T5" else (False, False))
    lines = [Line(number=i, text=text) for i, text in enumerate(TEXTS, start=1)]
    _, found = measured(checkpoint, lines)
    for kind, of_kind in found.items():
        sums, rows = of_kind.numbers()
        for i, result in enumerate(results_of(checkpoint, lines)):
            for layer, head in ((0, 1), (1, 0)):
                expected = rows_of(result, kind, layer, head)
                for name in ("entropy", "confidence", "distance", "previous", "same", "start", "end", "special"):
                    n = NAMES.index(name)
                    assert rows[i, n] == len(expected.get(name, ()))
                    assert sums[i, layer, head, n] == pytest.approx(sum(expected.get(name, ())), abs=1e-3), (kind, name)


def test_a_language_model_reads_the_text_itself() -> None:
    checkpoint = open_checkpoint(BUNDLED / "tiny-gpt-en")
    lines = [Line(number=i, text=text) for i, text in enumerate(TEXTS, start=1)]
    texts, found = measured(checkpoint, lines)
    sums, rows = found["decoder"].numbers()
    for i, text in enumerate(texts):
        # The maps of a continuation, cut to the text.
        result = compute(checkpoint, Run(text=TEXTS[i]))
        length = len(text.read)
        assert tuple(token.id for token in result.read[:length]) == text.read.ids
        metrics = head_metrics(result.maps["decoder"][..., :length, :length], aligned=True, special_key=0)
        for name in ("entropy", "confidence", "distance", "previous", "same", "next", "end"):
            n = NAMES.index(name)
            np.testing.assert_allclose(sums[i, :, :, n], np.nansum(metrics[name], axis=-1), atol=2e-4)
            assert rows[i, n] == length - np.isnan(metrics[name][0, 0]).sum()


@pytest.mark.parametrize("name", ["everyday-en-de", "imdb-sentiment", "tiny-gpt-en"])
def test_importance_is_that_of_the_gradient(name: str) -> None:
    checkpoint = open_checkpoint(BUNDLED / name)
    _, found = measured(checkpoint, [Line(number=i, text=text) for i, text in enumerate(TEXTS, start=1)])
    for i, text in enumerate(TEXTS):
        for kind, expected in gradient_importance(checkpoint, [(text, "")]).items():
            sums, rows = found[kind].numbers()
            np.testing.assert_allclose(sums[i, :, :, NUMBERS.index("importance")], expected[0], atol=1e-4)
            assert rows[i, NUMBERS.index("importance")] == 1


def test_a_text_of_one_token_that_nothing_predicts_has_no_importance(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(make_folder(tmp_path / "gpt2", "gpt2"))
    n, lines = NUMBERS.index("importance"), [Line(number=1, text="The cat sat."), Line(number=2, text="a")]
    texts, found = measured(checkpoint, lines)
    assert [len(text.read) > 1 for text in texts] == [True, False]
    assert found["decoder"].numbers()[1][:, n].tolist() == [1, 0]


def test_padding_changes_no_number() -> None:
    """Weights beyond the last token, even those that are not numbers, count nowhere."""
    side = Side(ids=(5, 6, 5), tokens=("a", "b", "a"), words=(0, 1, 2), classes=(3, 3, 3))
    longer = Side(ids=(5, 6, 5, 7, 2), tokens=(*"abac", "</s>"), words=(0, 1, 2, 3, -1), classes=(3, 3, 3, 3, 0))
    texts = [TextTokens(line=1, source=side), TextTokens(line=2, source=longer)]
    weights = torch.rand(2, 4, 5, 5).softmax(dim=-1)
    weights[0, :, 3:], weights[0, :, :, 3:] = float("nan"), float("nan")
    device = torch.device("cpu")
    both, alone = layout_of(texts, "encoder", device), layout_of(texts[:1], "encoder", device)
    assert torch.equal(counts(both)[:1], counts(alone))
    single = layer_sums(real_weights(weights[:1, :, :3, :3], alone), alone)
    torch.testing.assert_close(layer_sums(real_weights(weights, both), both)[:1], single)


def test_the_profile_sums_the_weight_by_distance_and_class() -> None:
    checkpoint = open_checkpoint(BUNDLED / "everyday-en-de")
    texts, found = measured(checkpoint, [Line(number=1, text=TEXTS[1])])
    result = compute(checkpoint, Run(text=TEXTS[1]))
    weights, tokens = result.maps["encoder"], texts[0].source
    profile = found["encoder"].profiles[2].reshape(1, 8, len(DISTANCES), len(CLASSES))[0]
    expected = np.zeros_like(profile)
    for t in range(len(tokens)):
        for s in range(len(tokens)):
            place = max((i for i, edge in enumerate(DISTANCES) if edge <= s - t), default=0)
            expected[:, place, tokens.classes[s]] += weights[2, :, t, s]
    np.testing.assert_allclose(profile, expected, atol=1e-5)


def test_the_vectors_that_all_heads_write_add_up_to_the_output_of_the_layer() -> None:
    checkpoint = open_checkpoint(BUNDLED / "everyday-en-de")
    texts = read_texts(checkpoint, [Line(number=1, text=TEXTS[1]), Line(number=2, text=TEXTS[2])])
    with tracing(record=["encoder.layers.1.self_attention.output"]) as trace:
        found = read_batch(checkpoint, texts, means_of(checkpoint))
    written = written_vectors(checkpoint, "encoder", found["encoder"])[1]  # (H, C, D)
    output = trace.passes("encoder.layers.1.self_attention.output")[-1].double().numpy()  # (B, S, D)
    bias = checkpoint.model.mixing("encoder", 1).bias.double().numpy()
    for c in range(len(CLASSES)):
        rows = [
            output[i, s] - bias for i, text in enumerate(texts) for s, one in enumerate(text.source.classes) if one == c
        ]
        np.testing.assert_allclose(written[:, c].sum(axis=0), np.sum(rows, axis=0) if rows else 0.0, atol=1e-4)
