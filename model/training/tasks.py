"""The data, the model, the loss and the measure of quality of each task, with one protocol."""

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from model.config.model import AnyModelConfig, ClassifierConfig
from model.config.recipe import Recipe
from model.config.section import ConfigError
from model.corpora.batch import Batch, TranslationBatch
from model.corpora.batching import Batches
from model.corpora.corpora import SentencePairs, read_pairs
from model.corpora.examples import Example, sentence_pairs
from model.inference.translate import translate_lines
from model.network.loss import projected_cross_entropy
from model.network.translators import OurTranslator, make_translator
from model.text.tokenizers import LearnedPair, load_pair, train_pair
from model.text.vocab import BOS_ID, EOS_ID, PAD_ID
from model.training.classification import ClassificationTask, HiddenWordTask
from model.training.evaluate import accuracy, corpus_bleu, mean_loss

__all__ = ["AnyTask", "Task", "TranslationTask", "make_task"]

Model = TypeVar("Model", bound=nn.Module)


class Task(Protocol[Model]):
    """The data and the model of a recipe, without any training state."""

    tokenizers: LearnedPair
    model_config: AnyModelConfig
    left_out: int  # number of training examples that were too long
    unit: str  # name of the items over which the loss is averaged
    quality: str  # name of the result of `measure` that decides; higher is better

    def batches_of(self, epoch: int) -> Batches[Batch]:
        """The training batches of an epoch, counted from 1."""
        ...

    def new_model(self) -> Model: ...

    def loss_of(self, model: Model, smoothing: float) -> nn.Module:
        """The module that is trained: from a batch to the loss, summed over its items."""
        ...

    def valid_loss(self, model: Model) -> float: ...

    def measure(self, model: Model, loss: float) -> Mapping[str, float]:
        """Results on the validation split. They become columns of `history.csv`."""
        ...


# Which kind of model a task has depends on the recipe. It makes the models that it gets.
AnyTask = Task[Any]


class TranslationLoss(nn.Module):
    """The loss with teacher forcing. Padding is removed before the largest matrix product and not after it."""

    def __init__(self, model: OurTranslator, smoothing: float) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(self, batch: TranslationBatch) -> Tensor:
        labels = batch.target[:, 1:]  # (B, T)
        kept = labels != PAD_ID
        states = self.model.target_states(batch.target[:, :-1], *self.model.encode(batch.source))  # (B, T, D)
        weight = self.model.output_projection.weight
        return projected_cross_entropy(states[kept], weight, labels[kept], self.smoothing)


class TranslationTask:
    """Translation of sentence pairs, measured by BLEU."""

    unit = "tokens"
    quality = "valid_bleu"

    def __init__(self, recipe: Recipe, *, data_root: Path, folder: Path | None, device: torch.device):
        self.recipe = recipe
        config, languages = recipe.train, (recipe.tokenizer.source_language, recipe.tokenizer.target_language)
        pairs = SentencePairs(data_root, config.corpus, "train", *languages)
        early = replace(pairs, corpus=config.pretrain_corpus) if config.pretrain_epochs else pairs
        self.valid_pairs = read_pairs(data_root, config.corpus, "val", *languages)
        self.tokenizers = load_pair(recipe.tokenizer, folder) if folder else train_pair(recipe.tokenizer, early)
        sizes = {"source_vocab_size": self.tokenizers.source.size, "target_vocab_size": self.tokenizers.target.size}
        self.model_config = recipe.model_config(**sizes)
        self.left_out = 0
        self._batches = self._training_batches(pairs, device)
        self._early_batches = self._batches if early is pairs else self._training_batches(early, device)
        valid = sentence_pairs(self.valid_pairs, self.tokenizers, max_length=self.model_config.max_length)
        self.valid_batches = Batches(valid, TranslationBatch.of, batch_tokens=config.batch_tokens, device=device)

    def _training_batches(self, pairs: Iterable[tuple[str, str]], device: torch.device) -> Batches[TranslationBatch]:
        config = self.recipe.train
        examples = sentence_pairs(pairs, self.tokenizers, max_length=self.model_config.max_length)
        if not len(examples):
            raise ConfigError(f"max_length is {self.model_config.max_length}. All training pairs are longer. Raise it.")
        self.left_out += examples.left_out
        vary = self._resegment if config.bpe_dropout else None
        return Batches(examples, TranslationBatch.of, batch_tokens=config.batch_tokens, device=device, vary=vary)

    def _resegment(self, example: Example, draws: random.Random) -> Example:
        (*source, _), (_, *target, _) = example
        dropout = self.recipe.train.bpe_dropout
        source = [*self.tokenizers.source.resegment(source, dropout=dropout, draws=draws), EOS_ID]
        target = [BOS_ID, *self.tokenizers.target.resegment(target, dropout=dropout, draws=draws), EOS_ID]
        return (source, target) if max(len(source), len(target)) <= self.model_config.max_length else example

    def batches_of(self, epoch: int) -> Batches[TranslationBatch]:
        return self._early_batches if epoch <= self.recipe.train.pretrain_epochs else self._batches

    def new_model(self) -> OurTranslator:
        assert not isinstance(self.model_config, ClassifierConfig)
        return make_translator(self.model_config, pad_id=PAD_ID)

    def loss_of(self, model: OurTranslator, smoothing: float) -> TranslationLoss:
        return TranslationLoss(model, smoothing)

    def valid_loss(self, model: OurTranslator) -> float:
        return mean_loss(model, self.valid_batches.in_order())

    def measure(self, model: OurTranslator, loss: float) -> dict[str, float]:
        sources, references = zip(*self.valid_pairs, strict=True)
        hypotheses = translate_lines(model, self.tokenizers, sources)
        config = self.recipe.tokenizer
        bleu, _ = corpus_bleu(hypotheses, references, language=config.target_language, lowercase=config.lowercase)
        alike = str.lower if config.lowercase else str
        right = round(accuracy(list(map(alike, hypotheses)), list(map(alike, references))), 2)
        return {"valid_perplexity": round(math.exp(loss), 4), "valid_bleu": round(bleu, 3), "valid_exact": right}


def make_task(recipe: Recipe, *, data_root: Path, folder: Path | None, device: torch.device) -> AnyTask:
    """Read the data of a recipe.

    Args:
        recipe: The recipe.
        data_root: Folder of the corpora.
        folder: An earlier run that has the tokenizers; None to learn new ones.
        device: Where the batches go.

    Raises:
        ConfigError: the recipe cannot be used.
        CorpusError: the corpus cannot be read.
    """
    labels_or_words = HiddenWordTask if recipe.train.fill_gaps else ClassificationTask
    kind = labels_or_words if recipe.task == "classification" else TranslationTask
    return kind(recipe, data_root=data_root, folder=folder, device=device)
