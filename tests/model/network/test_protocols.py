"""What a model can do: the answer of each class of model to the protocols."""

from typing import Any

import pytest
import torch

from model.config.model import ClassifierConfig, ModelConfig, RecurrentConfig
from model.network.classifier import Classifier
from model.network.protocols import PredictsMasked, Writes
from model.network.recurrent import RecurrentTranslator
from model.network.transformer import Transformer

SIZES: dict[str, Any] = {"source_vocab_size": 20, "target_vocab_size": 20, "d_model": 16, "max_length": 12}
TRANSLATORS = [Transformer(ModelConfig(**SIZES)), RecurrentTranslator(RecurrentConfig(**SIZES))]
CLASSIFIER = Classifier(ClassifierConfig(vocab_size=20, labels=("bad", "good"), d_model=16))


def test_translators_write_and_classifiers_do_not() -> None:
    assert [isinstance(model, Writes) for model in (*TRANSLATORS, CLASSIFIER)] == [True, True, False]
    assert not any(isinstance(model, PredictsMasked) for model in (*TRANSLATORS, CLASSIFIER))


@pytest.mark.parametrize("model", TRANSLATORS, ids=["transformer", "recurrent"])
def test_logits_from_a_position_on_are_the_last_of_all_logits(model: Transformer | RecurrentTranslator) -> None:
    source, target = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9, 10]])
    model.eval()
    every = model(source, target)
    for first in (0, 2, -1):
        found = model.decode(target, *model.encode(source), first=first)
        torch.testing.assert_close(found, every[:, first:])


def test_the_states_before_the_projection_become_the_logits() -> None:
    model = TRANSLATORS[0].eval()
    source, target = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9, 10]])
    states = model.target_states(target, *model.encode(source))
    torch.testing.assert_close(states @ model.output_projection.weight.T, model(source, target))
