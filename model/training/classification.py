"""What a classifier learns: labelled texts, the loss of its judgements, and the share of them that is right."""

import random
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.config import ClassifierConfig
from model.corpora.batching import Batch, Batches
from model.corpora.examples import Example, labelled_texts
from model.corpora.reviews import read_reviews
from model.inference.classify import classify_lines
from model.network.classifier import Classifier
from model.recipe import Recipe
from model.text.tokenizers import load_pair, train_single
from model.text.vocab import PAD_ID, UNK_ID
from model.training.evaluate import accuracy

__all__ = ["ClassificationLoss", "ClassificationTask"]


class ClassificationLoss(nn.Module):
    def __init__(self, model: Classifier, smoothing: float) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits = self.model(source).float()  # (B, C)
        shares = target / target.sum(dim=1, keepdim=True)  # (B, C)
        return F.cross_entropy(logits, shares, label_smoothing=self.smoothing, reduction="sum")


class ClassificationTask:
    """Labelled texts, judged by the share that is labelled rightly."""

    unit = "texts"
    quality = "valid_accuracy"

    def __init__(self, recipe: Recipe, *, data_root: Path, folder: Path | None, device: torch.device):
        config = recipe.train
        texts = read_reviews(data_root, config.corpus, "train")
        self.valid_texts = read_reviews(data_root, config.corpus, "val")
        self.tokenizers = (
            load_pair(recipe.tokenizer, folder) if folder else train_single(recipe.tokenizer, [t for t, _ in texts])
        )
        self.model_config = recipe.model_config(vocab_size=self.tokenizers.source.size)
        examples, valid = (
            labelled_texts(t, self.tokenizers.source, max_length=self.model_config.max_length)
            for t in (texts, self.valid_texts)
        )
        self.left_out = 0
        self._word_dropout = config.word_dropout
        vary = self._without_some_words if config.word_dropout else None
        self._batches = Batches(examples, batch_tokens=config.batch_tokens, device=device, vary=vary)
        self.valid_batches = Batches(valid, batch_tokens=config.batch_tokens, device=device)

    def _without_some_words(self, example: Example, draws: random.Random) -> Example:
        """No one word decides then (Iyyer et al. 2015, section 3.2)."""
        (*words, end), label = example
        return [*(UNK_ID if draws.random() < self._word_dropout else word for word in words), end], label

    def batches_of(self, epoch: int) -> Batches:
        return self._batches

    def new_model(self) -> Classifier:
        assert isinstance(self.model_config, ClassifierConfig)
        return Classifier(self.model_config, pad_id=PAD_ID)

    def loss_of(self, model: Classifier, smoothing: float) -> ClassificationLoss:
        return ClassificationLoss(model, smoothing)

    def items(self, batch: Batch) -> int:
        return batch.source.size(0)

    @torch.inference_mode()
    def valid_loss(self, model: Classifier) -> float:
        loss = self.loss_of(model, 0.0)
        total = sum(float(loss(batch.source, batch.target)) for batch in self.valid_batches.in_order())
        return total / len(self.valid_batches)

    def measure(self, model: Classifier, loss: float) -> dict[str, float]:
        texts, labels = zip(*self.valid_texts, strict=True)
        found = classify_lines(model, self.tokenizers, texts)
        return {"valid_accuracy": round(accuracy(found, labels), 2)}
