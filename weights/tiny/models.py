"""The two tiny models: what each reads, how large it is, and how it is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, PreTrainedModel
from transformers import PreTrainedTokenizerFast as Tokenizer

from model.foreign.sizes import learned_positions
from model.network.positional import sinusoidal_table
from weights.tiny.tokenizers import byte_pairs, word_pieces

__all__ = ["POSITIONS", "TINY", "TinyModel", "make_model"]

POSITIONS, WIDTH, LAYERS, HEADS = 128, 128, 4, 4
WAVE_BASE = 500.0  # the longest waves are about as long as a text
CORPUS = "stories"  # the app offers sentences that this model knows


@dataclass(frozen=True, kw_only=True)
class TinyModel:
    """How to make one of the models."""

    make_tokenizer: Callable[[], Tokenizer]
    make_model: Callable[[Tokenizer], PreTrainedModel]
    masked: bool  # it predicts hidden tokens from both sides
    learning_rate: float
    rounds: int  # of the training of our checkpoint


def gpt(tokenizer: Tokenizer) -> PreTrainedModel:
    """A GPT-2 (Radford et al. 2019)."""
    end = tokenizer.eos_token_id
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_positions=POSITIONS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
            activation_function="gelu_pytorch_tanh", embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0,
            bos_token_id=end, eos_token_id=end, pad_token_id=end,
        )
    )  # fmt: skip


def bert(tokenizer: Tokenizer) -> PreTrainedModel:
    """A BERT (Devlin et al. 2019)."""
    return BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer), max_position_embeddings=POSITIONS, hidden_size=WIDTH, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, intermediate_size=4 * WIDTH, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0, pad_token_id=tokenizer.pad_token_id,
        )
    )  # fmt: skip


def make_model(tiny: TinyModel, tokenizer: Tokenizer, *, seed: int = 1) -> PreTrainedModel:
    """A model before its training.

    Its learned positions begin as waves as large as the vectors of the tokens, so that it soon finds close neighbours.
    Its `config.json` names the corpus.
    """
    torch.manual_seed(seed)
    model = tiny.make_model(tokenizer)
    model.config.corpus = CORPUS
    table = learned_positions(model)
    assert table is not None
    table.copy_(2**0.5 * model.config.initializer_range * sinusoidal_table(*table.shape, base=WAVE_BASE))
    return model


TINY: Mapping[str, TinyModel] = {
    "tiny-gpt-en": TinyModel(
        make_tokenizer=lambda: byte_pairs(1800), make_model=gpt, masked=False, learning_rate=2e-3, rounds=190
    ),
    "tiny-bert-en": TinyModel(
        make_tokenizer=lambda: word_pieces(1500), make_model=bert, masked=True, learning_rate=2e-3, rounds=520
    ),
}
