"""The data, the model, the loss and the measure of quality of each task: to translate, to label, to predict words."""

import math
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.config.model import AnyModelConfig, ClassifierConfig
from model.config.recipe import Recipe
from model.config.section import ConfigError
from model.corpora.batch import Batch, Batches, ClassificationBatch, MaskedBatch, Rows, TranslationBatch
from model.corpora.corpora import SentencePairs, read_pairs
from model.corpora.examples import LONG, SHARE, Example, Examples, id_type, labelled_texts, sentence_pairs
from model.corpora.reviews import read_reviews
from model.inference.classify import classify_lines
from model.inference.translate import translate_lines
from model.network.classifier import Classifier
from model.network.loss import projected_cross_entropy
from model.network.masks import padding_mask
from model.network.team import ALONE, Team
from model.network.translators import OurTranslator, make_translator
from model.text.tokenizers import LearnedPair, load_pair, train_pair
from model.text.vocab import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from model.training.evaluate import accuracy, corpus_bleu, mean_loss, shared_lines
from model.training.tokenized import hashes, open_tokenized, require_same_files, write_tokenized

__all__ = ["ClassificationLoss", "Task", "TranslationTask", "make_task"]

IDS, EARLY = "ids", "early-ids"  # folders of the tokenized corpora


class Task:
    """The data and the model of a recipe, without any training state. `Any` is the kind of model that it makes."""

    unit: str  # name of the items over which the loss is averaged
    quality: str  # name of the result of `measure` that decides; higher is better
    loss: type["TaskLoss"]  # makes the module that is trained: from a batch to the loss, summed over its items
    tokenizers: LearnedPair
    model_config: AnyModelConfig
    left_out = 0  # number of training examples that were too long
    files: Mapping[str, str] = {}  # the files of the training corpus whose ids are in the folder of the run: SHA-256
    valid_batches: Batches[Any]

    def __init__(self, recipe: Recipe, device: torch.device) -> None:
        self.recipe, self.device = recipe, device

    def open_training(self, folder: Path, *, first: bool = True, resume: bool = False) -> None:
        """Prepare the training examples, in the folder of the run if there may be many.

        Args:
            folder: `training/` of the run.
            first: Whether this is the first process. It writes; the others wait for it, and then open what it wrote.
            resume: Use what the run has written before.

        Raises:
            ConfigError: all examples are too long.
            CorpusError: the corpus cannot be read, it changed after the run began, or what is in the folder is damaged.
            CheckpointError: the folder cannot be written.
        """

    def batches(self, examples: Examples, make: Callable[..., Batch], vary: Any = None) -> Batches[Batch]:
        return Batches(examples, make, batch_tokens=self.recipe.train.batch_tokens, device=self.device, vary=vary)

    def batches_of(self, epoch: int) -> Batches[Batch]:
        """The training batches of an epoch, counted from 1."""
        raise NotImplementedError

    def new_model(self) -> Any:
        raise NotImplementedError

    @torch.inference_mode()
    def valid_loss(self, model: Any, team: Team = ALONE) -> float:
        """The loss on the validation split, per item. The processes divide the batches, and all get the result."""
        loss = self.loss(model, 0.0)

        def loss_and_items(rows: Rows) -> tuple[float, int]:
            batch = self.valid_batches.load(rows)
            return float(loss(batch)), batch.items

        total, items = map(sum, zip(*team.shared(loss_and_items, self.valid_batches.sorted()), strict=True))
        return total / items

    def measure(self, model: Any, loss: float, team: Team = ALONE) -> Mapping[str, float]:
        """Results on the validation split. They become columns of `history.csv`."""
        raise NotImplementedError


class TaskLoss(nn.Module):
    """The loss of a batch, summed over its items."""

    def __init__(self, model: nn.Module, smoothing: float) -> None:
        super().__init__()
        self.model: Any = model
        self.smoothing = smoothing


class TranslationLoss(TaskLoss):
    """The loss with teacher forcing. Padding is removed before the largest matrix product and not after it."""

    def forward(self, batch: TranslationBatch) -> Tensor:
        labels = batch.target[:, 1:]  # (B, T)
        kept = labels != PAD_ID
        states = self.model.target_states(batch.target[:, :-1], *self.model.encode(batch.source))  # (B, T, D)
        weight = self.model.output_projection.weight
        return projected_cross_entropy(states[kept], weight, labels[kept], self.smoothing)


class TranslationTask(Task):
    """Translation of sentence pairs, measured by BLEU."""

    unit, quality, loss = "tokens", "valid_bleu", TranslationLoss

    def __init__(self, recipe: Recipe, *, data_root: Path, folder: Path | None, device: torch.device) -> None:
        super().__init__(recipe, device)
        config, languages = recipe.train, (recipe.tokenizer.source_language, recipe.tokenizer.target_language)
        self._pairs = SentencePairs(data_root, config.corpus, "train", *languages)
        early = replace(self._pairs, corpus=config.pretrain_corpus) if config.pretrain_epochs else self._pairs
        self._early_pairs, self.data_root = early, data_root
        self.valid_pairs = read_pairs(data_root, config.corpus, "val", *languages)
        self.tokenizers = load_pair(recipe.tokenizer, folder) if folder else train_pair(recipe.tokenizer, early)
        sizes = {"source_vocab_size": self.tokenizers.source.size, "target_vocab_size": self.tokenizers.target.size}
        self.model_config = recipe.model_config(**sizes)
        self.valid_batches = self.batches(Examples.of(self._encoded(self.valid_pairs)), TranslationBatch.of)

    def _encoded(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Example | None]:
        return sentence_pairs(pairs, self.tokenizers, max_length=self.model_config.max_length)

    def open_training(self, folder: Path, *, first: bool = True, resume: bool = False) -> None:
        self.left_out, self.files = 0, {}
        opened = partial(self._training_batches, first=first, resume=resume)
        self._batches = opened(self._pairs, folder / IDS)
        same = self._early_pairs is self._pairs
        self._early_batches = self._batches if same else opened(self._early_pairs, folder / EARLY)

    def _training_batches(self, pairs: SentencePairs, folder: Path, *, first: bool, resume: bool) -> Batches[Batch]:
        if first:
            files = hashes(self.data_root, pairs.files())
            if not resume:
                shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                ids = id_type(max(self.tokenizers.source.size, self.tokenizers.target.size))
                write_tokenized(folder, self._encoded(pairs), (ids, ids), files=files)
        examples, read = open_tokenized(folder)
        if first:
            require_same_files(read, files, folder=folder.parents[1])
        self.files = {**self.files, **read}
        if not len(examples):
            raise ConfigError(f"max_length is {self.model_config.max_length}. All training pairs are longer. Raise it.")
        self.left_out += examples.left_out
        return self.batches(examples, TranslationBatch.of, self._resegment if self.recipe.train.bpe_dropout else None)

    def _resegment(self, example: Example, draws: random.Random) -> Example:
        (*source, _), (_, *target, _) = example
        dropout = self.recipe.train.bpe_dropout
        source = [*self.tokenizers.source.resegment(source, dropout=dropout, draws=draws), EOS_ID]
        target = [BOS_ID, *self.tokenizers.target.resegment(target, dropout=dropout, draws=draws), EOS_ID]
        return (source, target) if max(len(source), len(target)) <= self.model_config.max_length else example

    def batches_of(self, epoch: int) -> Batches[Batch]:
        return self._early_batches if epoch <= self.recipe.train.pretrain_epochs else self._batches

    def new_model(self) -> OurTranslator:
        assert not isinstance(self.model_config, ClassifierConfig)
        return make_translator(self.model_config, pad_id=PAD_ID)

    def valid_loss(self, model: Any, team: Team = ALONE) -> float:
        return mean_loss(model, self.valid_batches, team)

    def measure(self, model: Any, loss: float, team: Team = ALONE) -> dict[str, float]:
        sources, references = zip(*self.valid_pairs, strict=True)
        hypotheses = shared_lines(partial(translate_lines, model, self.tokenizers), sources, team)
        config = self.recipe.tokenizer
        bleu, _ = corpus_bleu(hypotheses, references, language=config.target_language, lowercase=config.lowercase)
        alike = str.lower if config.lowercase else str
        right = round(accuracy(list(map(alike, hypotheses)), list(map(alike, references))), 2)
        return {"valid_perplexity": round(math.exp(loss), 4), "valid_bleu": round(bleu, 3), "valid_exact": right}


class TextTask(Task):
    """What both tasks of a classifier have: the labelled texts, the tokenizer, the batches and the model."""

    make: Callable[..., Batch]

    def __init__(self, recipe: Recipe, *, data_root: Path, folder: Path | None, device: torch.device) -> None:
        super().__init__(recipe, device)
        texts = read_reviews(data_root, recipe.train.corpus, "train")
        self.valid_texts = read_reviews(data_root, recipe.train.corpus, "val")
        alone = [(text,) for text, _ in texts]
        self.tokenizers = load_pair(recipe.tokenizer, folder) if folder else train_pair(recipe.tokenizer, alone)
        self.model_config = recipe.model_config(vocab_size=self.tokenizers.source.size)
        longest = self.model_config.max_length
        train, valid = (
            Examples.of(labelled_texts(t, self.tokenizers.source, max_length=longest), (LONG, SHARE))
            for t in (texts, self.valid_texts)
        )
        self._batches = self.batches(train, self.make, self.varied if recipe.train.word_dropout else None)
        self.valid_batches = self.batches(self.validated(valid), self.make)

    def varied(self, example: Example, draws: random.Random) -> Example:
        """What is trained on in the place of a text, another one each time."""
        raise NotImplementedError

    def validated(self, texts: Examples) -> Examples:
        """What is validated on in the place of the texts."""
        return texts

    def batches_of(self, epoch: int) -> Batches[Batch]:
        return self._batches

    def new_model(self) -> Classifier:
        assert isinstance(self.model_config, ClassifierConfig)
        return Classifier(self.model_config, pad_id=PAD_ID)


class ClassificationLoss(TaskLoss):
    """A label costs what its classes cost, in proportion to their shares."""

    def forward(self, batch: ClassificationBatch) -> Tensor:
        logits = self.model(batch.source).float()  # (B, C)
        return F.cross_entropy(logits, batch.shares, label_smoothing=self.smoothing, reduction="sum")


class ClassificationTask(TextTask):
    """Classification of texts, measured by the share of right labels."""

    unit, quality, loss, make = "texts", "valid_accuracy", ClassificationLoss, ClassificationBatch.of

    def varied(self, example: Example, draws: random.Random) -> Example:
        """Replace random words by the unknown word, so that no single word decides (Iyyer et al. 2015, section 3.2)."""
        (*words, end), shares = example
        dropout = self.recipe.train.word_dropout
        return [*(UNK_ID if draws.random() < dropout else word for word in words), end], shares

    def measure(self, model: Any, loss: float, team: Team = ALONE) -> dict[str, float]:
        texts, labels = zip(*self.valid_texts, strict=True)
        found = shared_lines(partial(classify_lines, model, self.tokenizers), texts, team)
        return {"valid_accuracy": round(accuracy(found, labels), 2)}


class HiddenWordLoss(TaskLoss):
    """Predict the hidden words. Each word of the vocabulary is scored by its embedding (Press and Wolf 2017)."""

    def forward(self, batch: MaskedBatch) -> Tensor:
        is_hidden = batch.hidden != PAD_ID  # (B, S)
        words = self.model.encoder.embedding.tokens.weight  # (V, D)
        states = self.model.encoder(batch.source, mask=padding_mask(batch.source, PAD_ID))  # (B, S, D)
        loss = projected_cross_entropy(states[is_hidden], words, batch.hidden[is_hidden], self.smoothing)
        # The classifier's head gets a gradient of zeros: Adam and several processes expect one for every parameter.
        head = (*self.model.pooling.parameters(), *self.model.output_projection.parameters())
        return loss + 0.0 * sum(parameter.sum() for parameter in head)


class HiddenWordTask(TextTask):
    """Predict the words that word dropout hides from the words around them (Devlin et al. 2019, section 3.1).

    Labels alone rarely teach a small encoder to attend to a word's neighbours. The classifier's head learns nothing
    here.
    """

    unit, quality, loss, make = "words", "valid_probability", HiddenWordLoss, MaskedBatch.of

    def validated(self, texts: Examples) -> Examples:
        return Examples.of(self.varied(texts[i], random.Random(i)) for i in range(len(texts)))

    def varied(self, example: Example, draws: random.Random) -> Example:
        """From a text to the text with gaps, and the words that belong into the gaps."""
        words, _ = example
        dropout = self.recipe.train.word_dropout
        hidden = [word not in (UNK_ID, EOS_ID) and draws.random() < dropout for word in words]
        read = [UNK_ID if gap else word for word, gap in zip(words, hidden, strict=True)]
        return read, [word if gap else PAD_ID for word, gap in zip(words, hidden, strict=True)]

    def measure(self, model: Any, loss: float, team: Team = ALONE) -> dict[str, float]:
        """The geometric mean of the probabilities of the hidden words, in percent."""
        return {"valid_perplexity": round(math.exp(loss), 4), self.quality: round(100 * math.exp(-loss), 4)}


def make_task(recipe: Recipe, *, data_root: Path, folder: Path | None, device: torch.device) -> Task:
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
