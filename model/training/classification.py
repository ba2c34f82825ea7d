"""The tasks of a classifier: to label texts, or as preparation to predict hidden words."""

import math
import random
from pathlib import Path
from typing import Generic, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.config.model import ClassifierConfig
from model.config.recipe import Recipe
from model.corpora.batch import Batch, ClassificationBatch, MaskedBatch
from model.corpora.batching import Batches
from model.corpora.examples import Example, Examples, LabelledText, LabelledTexts, labelled_texts
from model.corpora.reviews import read_reviews
from model.inference.classify import classify_lines
from model.network.classifier import Classifier
from model.network.loss import projected_cross_entropy
from model.network.masks import padding_mask
from model.text.tokenizers import load_pair, train_single
from model.text.vocab import EOS_ID, PAD_ID, UNK_ID
from model.training.evaluate import accuracy

__all__ = ["ClassificationLoss", "ClassificationTask", "HiddenWordTask"]

AnyBatch = TypeVar("AnyBatch", bound=Batch)


class TextTask(Generic[AnyBatch]):
    """What both tasks of a classifier have: the labelled texts, the tokenizer, the batches and the model."""

    def __init__(self, recipe: Recipe, *, data_root: Path, folder: Path | None, device: torch.device):
        config = recipe.train
        texts = read_reviews(data_root, config.corpus, "train")
        self.valid_texts = read_reviews(data_root, config.corpus, "val")
        self.tokenizers = (
            load_pair(recipe.tokenizer, folder) if folder else train_single(recipe.tokenizer, [t for t, _ in texts])
        )
        self.model_config = recipe.model_config(vocab_size=self.tokenizers.source.size)
        self.left_out = 0
        self._word_dropout, self._batch_tokens, self._device = config.word_dropout, config.batch_tokens, device
        train, valid = (
            labelled_texts(t, self.tokenizers.source, max_length=self.model_config.max_length)
            for t in (texts, self.valid_texts)
        )
        self._batches, self.valid_batches = self._training_batches(train), self._validation_batches(valid)

    def _training_batches(self, texts: LabelledTexts) -> Batches[AnyBatch]:
        raise NotImplementedError

    def _validation_batches(self, texts: LabelledTexts) -> Batches[AnyBatch]:
        raise NotImplementedError

    def batches_of(self, epoch: int) -> Batches[AnyBatch]:
        return self._batches

    def new_model(self) -> Classifier:
        assert isinstance(self.model_config, ClassifierConfig)
        return Classifier(self.model_config, pad_id=PAD_ID)

    def loss_of(self, model: Classifier, smoothing: float) -> nn.Module:
        raise NotImplementedError

    @torch.inference_mode()
    def valid_loss(self, model: Classifier) -> float:
        loss = self.loss_of(model, 0.0)
        batches = list(self.valid_batches.in_order())
        return sum(float(loss(batch)) for batch in batches) / sum(batch.items for batch in batches)


class ClassificationLoss(nn.Module):
    def __init__(self, model: Classifier, smoothing: float) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(self, batch: ClassificationBatch) -> Tensor:
        logits = self.model(batch.source).float()  # (B, C)
        return F.cross_entropy(logits, batch.shares, label_smoothing=self.smoothing, reduction="sum")


class ClassificationTask(TextTask[ClassificationBatch]):
    """Classification of texts, measured by the share of right labels."""

    unit = "texts"
    quality = "valid_accuracy"

    def _training_batches(self, texts: LabelledTexts) -> Batches[ClassificationBatch]:
        vary = self._drop_words if self._word_dropout else None
        return Batches(texts, ClassificationBatch.of, batch_tokens=self._batch_tokens, device=self._device, vary=vary)

    def _validation_batches(self, texts: LabelledTexts) -> Batches[ClassificationBatch]:
        return Batches(texts, ClassificationBatch.of, batch_tokens=self._batch_tokens, device=self._device)

    def _drop_words(self, example: LabelledText, draws: random.Random) -> LabelledText:
        """Replace random words by the unknown word, so that no single word decides (Iyyer et al. 2015, section 3.2)."""
        (*words, end), share = example
        return [*(UNK_ID if draws.random() < self._word_dropout else word for word in words), end], share

    def loss_of(self, model: Classifier, smoothing: float) -> ClassificationLoss:
        return ClassificationLoss(model, smoothing)

    def measure(self, model: Classifier, loss: float) -> dict[str, float]:
        texts, labels = zip(*self.valid_texts, strict=True)
        found = classify_lines(model, self.tokenizers, texts)
        return {"valid_accuracy": round(accuracy(found, labels), 2)}


class HiddenWordLoss(nn.Module):
    """Predict the hidden words. Each word of the vocabulary is scored by its embedding (Press and Wolf 2017)."""

    def __init__(self, model: Classifier, smoothing: float) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(self, batch: MaskedBatch) -> Tensor:
        is_hidden = batch.hidden != PAD_ID  # (B, S)
        words = self.model.encoder.embedding.tokens.weight  # (V, D)
        states = self.model.encoder(batch.source, mask=padding_mask(batch.source, PAD_ID))  # (B, S, D)
        loss = projected_cross_entropy(states[is_hidden], words, batch.hidden[is_hidden], self.smoothing)
        # The classifier's head gets a gradient of zeros: Adam and several processes expect one for every parameter.
        head = (*self.model.pooling.parameters(), *self.model.output_projection.parameters())
        return loss + 0.0 * sum(parameter.sum() for parameter in head)


class HiddenWordTask(TextTask[MaskedBatch]):
    """Predict the words that word dropout hides from the words around them (Devlin et al. 2019, section 3.1).

    Labels alone rarely teach a small encoder to attend to a word's neighbours. The classifier's head learns nothing
    here.
    """

    unit = "words"
    quality = "valid_probability"

    def _training_batches(self, texts: LabelledTexts) -> Batches[MaskedBatch]:
        words = without_labels(texts)
        return Batches(words, MaskedBatch.of, batch_tokens=self._batch_tokens, device=self._device, vary=self._hide)

    def _validation_batches(self, texts: LabelledTexts) -> Batches[MaskedBatch]:
        words = without_labels(texts)
        hidden = Examples(self._hide(words[i], random.Random(i)) for i in range(len(words)))
        return Batches(hidden, MaskedBatch.of, batch_tokens=self._batch_tokens, device=self._device)

    def _hide(self, example: Example, draws: random.Random) -> Example:
        """From a text twice to the text with gaps, and the words that belong into the gaps."""
        words, _ = example
        hidden = [word not in (UNK_ID, EOS_ID) and draws.random() < self._word_dropout for word in words]
        read = [UNK_ID if gap else word for word, gap in zip(words, hidden, strict=True)]
        return read, [word if gap else PAD_ID for word, gap in zip(words, hidden, strict=True)]

    def loss_of(self, model: Classifier, smoothing: float) -> HiddenWordLoss:
        return HiddenWordLoss(model, smoothing)

    def measure(self, model: Classifier, loss: float) -> dict[str, float]:
        """The geometric mean of the probabilities of the hidden words, in percent."""
        return {"valid_perplexity": round(math.exp(loss), 4), self.quality: round(100 * math.exp(-loss), 4)}


def without_labels(texts: LabelledTexts) -> Examples:
    """Each text twice: what is read, and what hidden words are taken from."""
    return Examples((texts.texts[i], texts.texts[i]) for i in range(len(texts)))
