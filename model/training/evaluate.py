"""Measures a checkpoint: BLEU and chrF of its translations with sacreBLEU, loss and perplexity of the references."""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeVar

import sacrebleu
import torch
import torch.nn.functional as F

from model.corpora.batch import Batches, Rows, TranslationBatch
from model.corpora.examples import batched
from model.network.own_model import Translator
from model.network.team import ALONE, Team

__all__ = ["accuracy", "bleu_by_length", "corpus_bleu", "mean_loss", "moses_tokens", "score", "shared_lines"]

T = TypeVar("T")
GROUP = 64  # lines that a model reads together
LENGTHS = (8, 12, 16, 20)  # words of a source


@torch.inference_mode()
def mean_loss(model: Translator, batches: Batches[TranslationBatch], team: Team = ALONE) -> float:
    """Cross-entropy of the references without label smoothing, in nats per token. The processes divide the batches.

    Raises:
        ValueError: there is no batch.
    """

    def loss_of(rows: Rows) -> tuple[float, int]:
        batch = batches.load(rows)
        states = model.target_states(batch.target[:, :-1], *model.encode(batch.source))  # (B, T, D)
        labels = batch.target[:, 1:]  # (B, T)
        kept = labels != model.target_pad_id
        loss = F.cross_entropy(model.project(states[kept]).float(), labels[kept], reduction="sum")
        return float(loss), batch.items

    losses = team.shared(loss_of, batches.sorted())
    if not losses:
        raise ValueError("A loss needs at least one sentence.")
    total, tokens = map(sum, zip(*losses, strict=True))
    return total / tokens


def shared_lines(answer: Callable[[list[str]], Sequence[T]], lines: Sequence[str], team: Team = ALONE) -> list[T]:
    """What a model answers to each line. The processes divide groups of similar length among themselves.

    The groups are the same for any number of processes, and so are the answers, bit by bit.
    """
    groups = list(batched(sorted(range(len(lines)), key=lambda i: len(lines[i])), GROUP))

    def answers(group: list[int]) -> list[tuple[int, T]]:
        return list(zip(group, answer([lines[i] for i in group]), strict=True))

    found = dict(chain.from_iterable(team.shared(answers, groups)))
    return [found[i] for i in range(len(lines))]


def score(
    hypotheses: Sequence[str], references: Sequence[str], *, loss: float, language: str
) -> dict[str, float | str | None]:
    """Compare translations with references.

    Args:
        hypotheses: The model's translations.
        references: Translations by people.
        loss: From `mean_loss`, in nats per target token, including `</s>`.
        language: The target language.

    Returns:
        BLEU and chrF in percent with their signatures, the loss and the perplexity. `bleu_tokenized` is of lower-cased
        Moses tokens, as in the Multi30k papers; None for Chinese.
    """
    cased, lowercased = (
        corpus_bleu(hypotheses, references, language=language, lowercase=lowercase) for lowercase in (False, True)
    )
    return {
        "sentences": len(references),
        "bleu": cased[0],
        "bleu_signature": cased[1],
        "bleu_lowercased": lowercased[0],
        "bleu_lowercased_signature": lowercased[1],
        "bleu_tokenized": None if language == "zh" else tokenized_bleu(hypotheses, references, language),
        "chrf": sacrebleu.CHRF().corpus_score(hypotheses, [references]).score,
        "loss": loss,
        "perplexity": math.exp(loss),
    }


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, language: str, lowercase: bool
) -> tuple[float, str]:
    """BLEU in percent, and its signature. Chinese is split into characters, other languages by the 13a rules."""
    metric = sacrebleu.BLEU(tokenize="zh" if language == "zh" else "13a", lowercase=lowercase)
    return metric.corpus_score(hypotheses, [references]).score, str(metric.get_signature())


def bleu_by_length(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], *, language: str
) -> list[tuple[str, int, float]]:
    """Lower-cased BLEU for short and for long sources, as in figure 2 of Bahdanau et al. 2015.

    Returns:
        Rows with the length of the source in words, the number of sentences, and their BLEU in percent. Lengths without
        a sentence are left out.
    """
    rows, longest_of = [], [*LENGTHS, math.inf]
    for shorter, longest in zip([0, *LENGTHS], longest_of, strict=True):
        chosen = [i for i, source in enumerate(sources) if shorter < len(source.split()) <= longest]
        if chosen:
            name = f"{shorter + 1} to {longest}" if longest < math.inf else f"{shorter + 1} and more"
            kept = ([lines[i] for i in chosen] for lines in (hypotheses, references))
            rows.append((name, len(chosen), corpus_bleu(*kept, language=language, lowercase=True)[0]))
    return rows


def accuracy(found: Sequence[object], labels: Sequence[object]) -> float:
    """The share of labels or sentences that are right, in percent."""
    return 100 * sum(a == b for a, b in zip(found, labels, strict=True)) / len(labels)


def moses_tokens(lines: Sequence[str], language: str) -> list[str]:
    """Lower-case, normalize the punctuation and tokenize like the scripts of Moses (Koehn et al. 2007)."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer  # reads its tables when it is imported

    normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
    return [tokenizer.tokenize(normalizer.normalize(line.lower()), return_str=True) for line in lines]


def tokenized_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    metric = sacrebleu.BLEU(tokenize="none", force=True)
    tokenized = [moses_tokens(lines, language) for lines in (hypotheses, references)]
    return metric.corpus_score(tokenized[0], [tokenized[1]]).score
