"""One small checkpoint of every kind that can be opened, for `tests/model/analysis/test_agreement.py`.

To add a kind, add a line to `CASES`: how it is opened, what it does with a text, and which checks it refuses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import nn

from model.checkpoints.checkpoint import Checkpoint, CheckpointConfig, ClassifierCheckpoint, ready
from model.config.model import AnyModelConfig, ClassifierConfig, ModelConfig, RecurrentConfig
from model.config.run import TrainConfig
from model.config.tokenizer import TokenizerConfig
from model.inference.opening import open_checkpoint, open_translator
from model.network.classifier import Classifier
from model.network.translators import make_translator
from model.text.tokenizers import TokenizerPair
from model.text.vocab import OURS, PAD_ID, SPECIAL_TOKENS, UNK_ID
from model.text.vocabulary_list import ListedTokenizer
from tests.model.checkpoints.test_state_dict import TOML, annotated, tutorial, write
from tools.foreign_families import WINDOW, family_named
from tools.small_models import make_family

__all__ = ["CASES", "AnyCheckpoint", "Case"]

AnyCheckpoint = Checkpoint | ClassifierCheckpoint
TEXT = "the small dog sees a zebra"
SHORT = "a red house"
TYPED = "the red dog sees a cat and " * 4 + "runs"  # longer than a search would write for `TEXT`
WORDS = (*SPECIAL_TOKENS, *["a", "small", "dog", "cat", "sees", "the", "red", "house", "and", "runs"])


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kind of checkpoint and the inputs of its analyses."""

    open: Callable[[Path], AnyCheckpoint]  # given a folder that does not exist yet
    task: str = "translation"
    text: str = TEXT
    short: str = SHORT  # of another length, for a batch with `text`
    typed: str = TYPED  # for a model to write
    refuses: Mapping[str, str] = field(default_factory=dict)  # check → part of the sentence that says why


def randomized(model: nn.Module, *, sharper: float = 2.0) -> nn.Module:
    """Every weight random, biases and norms too, and attention that is not flat: no shortcut through zeros passes."""
    torch.manual_seed(4)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1 or name.endswith("positions.table"):
                parameter.add_(0.3 * torch.randn_like(parameter))
            elif "query_projection" in name or "key_projection" in name:
                parameter.mul_(sharper)
    return model


def tokenizers() -> TokenizerPair:
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    words = ListedTokenizer(vocabulary, kind="words", unknown=UNK_ID, marks=OURS.marks)
    return TokenizerPair(source=words, target=words)


def config_of(sizes: AnyModelConfig, task: str) -> CheckpointConfig:
    texts = TokenizerConfig(
        kind="words", source_language="en", target_language="" if task == "classification" else "de"
    )
    return CheckpointConfig(recipe="case", model=sizes, tokenizer=texts, train=TrainConfig(corpus="toy"), task=task)


SMALL = {"d_model": 32, "num_heads": 4, "d_ff": 48, "num_encoder_layers": 2, "dropout": 0.1, "max_length": 64}
VOCABULARIES = {"source_vocab_size": len(WORDS), "target_vocab_size": len(WORDS)}


def ours(**changes: object) -> Case:
    def opened(folder: Path) -> Checkpoint:
        torch.manual_seed(0)
        sizes = ModelConfig.from_dict(SMALL | VOCABULARIES | {"num_decoder_layers": 2} | changes)
        model = ready(randomized(make_translator(sizes, pad_id=PAD_ID)), "cpu")
        return Checkpoint(path=folder, config=config_of(sizes, "translation"), model=model, tokenizers=tokenizers())

    return Case(open=opened, refuses=NO_PRODUCTS if changes.get("attention") == "additive" else {})


def recurrent(attention: str) -> Case:
    def opened(folder: Path) -> Checkpoint:
        torch.manual_seed(0)
        sizes = RecurrentConfig.from_dict({"d_model": 32, "d_hidden": 24, "attention": attention} | VOCABULARIES)
        model = ready(randomized(make_translator(sizes, pad_id=PAD_ID)), "cpu")
        return Checkpoint(path=folder, config=config_of(sizes, "translation"), model=model, tokenizers=tokenizers())

    return Case(open=opened, refuses=RECURRENT | (NO_PRODUCTS if attention == "additive" else NO_ATTENTION))


def classifier(**changes: object) -> Case:
    def opened(folder: Path) -> ClassifierCheckpoint:
        torch.manual_seed(0)
        own = {"vocab_size": len(WORDS), "labels": ("dull", "so-so", "fine")}
        sizes = ClassifierConfig.from_dict(SMALL | own | changes)
        model = ready(randomized(Classifier(sizes, pad_id=PAD_ID)), "cpu")
        config = config_of(sizes, "classification")
        return ClassifierCheckpoint(path=folder, config=config, model=model, tokenizers=tokenizers())

    return Case(open=opened, task="classification")


def of_torch(*, norm_first: bool = False, settings: str = "", refuses: Mapping[str, str] | None = None) -> Case:
    """Weights of `torch.nn.Transformer` with an output bias that decides what is written."""

    def opened(folder: Path) -> Checkpoint:
        model = tutorial(norm_first=norm_first)
        with torch.no_grad():
            model.generator.bias.normal_(std=2)
        text = TOML.replace('norm = "post"', f'norm = "{"pre" if norm_first else "post"}"\n{settings}')
        if "fill" in settings:
            text = TOML.replace('unknown = "<unk>"', f'unknown = "<unk>"\n{settings}')
        return open_translator(write(folder, model, text))

    return Case(open=opened, refuses=refuses or {})


def of_the_annotated_transformer() -> Case:
    def opened(folder: Path) -> Checkpoint:
        names = 'layout = "annotated"\nsource_embedding = "src_embed.0.lut"\ntarget_embedding = "tgt_embed.0.lut"\n'
        text = TOML.partition("[names]")[0].replace('"post"', '"pre"') + f'[names]\n{names}output = "generator.proj"\n'
        return open_translator(write(folder, annotated(), text))

    return Case(open=opened)


def foreign(title: str, **settings: object) -> Case:
    """A small random model of another family of `transformers`."""
    family = family_named(title)
    family = replace(family, settings={**family.settings, **settings})
    typed = "The cat sat on the mat, for it was tired."
    return Case(
        open=lambda folder: open_checkpoint(make_family(folder, family)),
        task=family.task,
        text="A dog sees <mask>." if family.task == "reading" else "A dog sees it.",
        short="a cat",
        typed=f"{typed} {typed}" if family.task == "continuation" else typed,
        refuses={"continuation": ONE_STACK, "reading": ONE_STACK | READS}.get(family.task, {}),
    )


NO_STREAM = dict.fromkeys(
    ("layers", "encoder_layers", "contributions", "influence", "value_zeroing", "stations"),
    "no residual stream that Headlight can follow",
)
NO_PRODUCTS = {"one_head": "no dot products"}
NO_ATTENTION = {"typed_alignment": "no cross-attention"}
ONE_STACK = dict.fromkeys(("typed_alignment", "encoder_layers"), "and does not translate")
READS = {"search_tree": "writes nothing", "importance": "does not translate", "lines": "Only a translator"}
UNMASKED = dict.fromkeys(("no_future", "padding"), "without a padding mask")
RECURRENT = (
    NO_STREAM | dict.fromkeys(("no_future", "padding"), "no causal mask") | {"lengths_of_values": "no value vectors"}
)

CASES: Mapping[str, Case] = {
    "post": ours(),
    "additive": ours(attention="additive"),
    "rotary with shared keys": ours(positional="rotary", num_kv_heads=2),
    "ALiBi with a limit of the scores": ours(positional="alibi", score_cap=1.5, norm="pre"),
    "relative": ours(positional="relative"),
    "sinks": ours(attention_sinks=True, num_kv_heads=1),
    "pre-learned-gelu": ours(norm="pre", positional="learned", activation="gelu"),
    "one layer, untied": ours(num_encoder_layers=1, num_decoder_layers=1, tie_embeddings="none"),
    "more encoder than decoder, tied on the target side": ours(
        num_encoder_layers=3, num_decoder_layers=1, tie_embeddings="target"
    ),
    "recurrent": recurrent("additive"),
    "recurrent without attention": recurrent("none"),
    "classifier": classifier(),
    "rotary classifier": classifier(positional="rotary"),
    "classifier with all variants": classifier(
        positional="relative", num_kv_heads=2, score_cap=1.5, attention_sinks=True
    ),
    "classifier by the mean": classifier(pooling="mean", norm="pre", attention="additive"),
    "torch": of_torch(),
    "torch, norm first": of_torch(norm_first=True),
    "torch, embeddings not scaled": of_torch(settings="scale_embeddings = false"),
    "torch, padding read": of_torch(settings="fill_source = 12", refuses=UNMASKED),
    "Marian, which begins with padding": foreign("Marian", decoder_start_token_id=0, max_position_embeddings=40),
    "mT5 with wide heads": foreign("mT5, wide heads"),
    "GPT-2": foreign("GPT-2"),
    "Qwen 3 with wide heads and a window": foreign("Qwen 3, wide heads", use_sliding_window=True, **WINDOW),
    "BERT": foreign("BERT"),
    "BERT classifier": foreign("BERT classifier"),
    "ModernBERT classifier by the mean, with a window": foreign("ModernBERT classifier, mean"),
    "annotated": of_the_annotated_transformer(),
}
