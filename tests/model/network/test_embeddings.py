"""Padding has no meaning: its vector is zero before training and after it."""

import pytest
import torch
from torch import nn

from model.config.model import ClassifierConfig, ModelConfig, RecurrentConfig
from model.corpora.batch import TranslationBatch
from model.network.classifier import Classifier
from model.network.translators import make_translator
from model.training.tasks import TranslationLoss

PAD = 3


@pytest.mark.parametrize("tie", ["none", "target"])
def test_the_vector_of_padding_is_zero_and_stays_zero(tie: str) -> None:
    sizes = {"source_vocab_size": 9, "target_vocab_size": 9, "d_model": 8, "tie_embeddings": tie}
    transformer = ModelConfig.from_dict(sizes | {"num_heads": 2, "d_ff": 8})
    for config in (transformer, RecurrentConfig.from_dict(sizes | {"d_hidden": 8})):
        model = make_translator(config, pad_id=PAD)
        tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
        assert len(tables) == 2
        assert all(not table.weight[PAD].any() and table.weight[0].any() for table in tables)
        batch = TranslationBatch(source=torch.tensor([[4, 5, PAD]]), target=torch.tensor([[1, 6, 2]]), items=2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        TranslationLoss(model, 0.0)(batch).backward()
        optimizer.step()
        if tie == "none":  # a matrix that is also the output projection learns that padding is not written
            assert not tables[0].weight[PAD].any()


def test_a_classifier_starts_with_no_vector_for_padding() -> None:
    config = ClassifierConfig(vocab_size=9, labels=("bad", "good"), d_model=8, num_heads=2, d_ff=8)
    table = Classifier(config, pad_id=PAD).encoder.embedding.tokens.weight
    assert not table[PAD].any()
    assert table[0].any()
