"""Classifiers of other families: the probabilities of the library's own pipeline, and what the class is read off."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TextClassificationPipeline

from model.checkpoints.checkpoint import CheckpointError, ClassifierCheckpoint
from model.inference.classify import classify
from model.inference.opening import open_checkpoint
from tools.foreign_families import family_named
from tools.small_models import make_family

TEXT = "The cat sat on the mat."
CLASSIFIERS = (
    "BERT classifier, several labels",
    "RoBERTa classifier",
    "ModernBERT classifier",
    "ModernBERT classifier, mean",
    "EuroBERT classifier, mean",
)


def share_of_each_token(library: Any, ids: Tensor) -> np.ndarray:
    """How much of the logits depends on the last vector of each token, (S,), as shares."""
    kept: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: object, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state.detach().requires_grad_()
        kept.append(output.last_hidden_state)
        return output

    library.base_model.register_forward_hook(keep)
    library(input_ids=ids, return_dict=True).logits[0, 0].backward()
    assert kept[0].grad is not None
    lengths = kept[0].grad[0].norm(dim=-1).numpy()
    return np.asarray(lengths / lengths.sum())


@pytest.mark.parametrize("title", CLASSIFIERS)
def test_a_class_equals_that_of_the_pipeline_and_is_read_at_the_named_position(tmp_path: Path, title: str) -> None:
    folder = make_family(tmp_path / "model", family_named(title))
    library: Any = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folder), open_checkpoint(folder)
    assert isinstance(checkpoint, ClassifierCheckpoint)
    found = classify(checkpoint, TEXT)
    expected = TextClassificationPipeline(model=library, tokenizer=tokenizer)([TEXT], top_k=None)[0]
    assert found.probabilities == pytest.approx({one["label"]: one["score"] for one in expected}, abs=1e-5)
    assert found.several_labels == (abs(sum(found.probabilities.values()) - 1) > 1e-5)
    if title.startswith(("ModernBERT", "EuroBERT")):  # BERT and similar models have a pooler after the last vectors
        shares = share_of_each_token(library, tokenizer(TEXT, return_tensors="pt")["input_ids"])
        shown = np.full(len(shares), 1 / len(shares)) if found.pooling is None else found.pooling.mean(axis=0)
        assert (found.pooled_by == "mean") == title.endswith("mean")
        np.testing.assert_allclose(np.sign(shares), np.sign(shown))


def test_a_regression_model_is_refused(tmp_path: Path) -> None:
    folder = make_family(tmp_path / "model", family_named("BERT classifier"))
    config = folder / "config.json"
    config.write_text(config.read_text().replace("{", '{"problem_type": "regression",', 1))
    with pytest.raises(CheckpointError, match="gives a text a number"):
        open_checkpoint(folder)
