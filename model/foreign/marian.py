"""Write a checkpoint as a folder that Hugging Face's `transformers` opens: a Marian model and its tokenizer.

Marian (Junczys-Dowmunt et al. 2018) is the Transformer of the paper, like ours, with one difference. We put sine and
cosine of a wavelength side by side; Marian puts all sines first. The same permutation of d_model in every weight turns
our model into a Marian model.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import tokenizers
import torch
from torch import Tensor
from transformers import GenerationConfig, MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.layouts import LAYER, Layout
from model.config.model import ModelConfig
from model.config.section import ConfigError
from model.network.transformer import Transformer
from model.text.cleaning import as_normalizer
from model.text.tokenizers import LearnedPair
from model.text.vocab import BOS, BOS_ID, EOS, EOS_ID, PAD, PAD_ID, UNK, UNK_ID

__all__ = ["to_fast_tokenizer", "to_marian", "write_marian"]

CARD = "README.md"
HAN = "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"  # as `is_han` of our own tokenizer


def write_marian(checkpoint: Checkpoint, folder: Path) -> None:
    """Write weights, configuration, tokenizer and card.

    Raises:
        ConfigError: the folder exists or cannot be written, or Marian does not have this architecture.
    """
    folder = Path(os.path.abspath(folder))
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"{folder} exists already. Choose a new folder.")
    model, tokenizer = to_marian(checkpoint), to_fast_tokenizer(checkpoint)
    try:
        write_beside_and_rename(model, tokenizer, checkpoint.path / CARD, folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error}") from error


def write_beside_and_rename(model: MarianMTModel, tokenizer: PreTrainedTokenizerFast, card: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".export-") as beside:
        whole = Path(beside) / folder.name
        model.save_pretrained(whole)
        tokenizer.save_pretrained(whole)
        if card.exists():
            shutil.copyfile(card, whole / CARD)
        whole.replace(folder)


MARIAN = Layout(
    names={
        "source_embedding": "model.encoder.embed_tokens",
        "target_embedding": "model.decoder.embed_tokens",
        "output": "lm_head",
    },
    layer="model.{stack}.layers.{i}",
    attention=("q_proj", "k_proj", "v_proj", "out_proj"),
    feed_forward=("fc1", "fc2"),
    encoder=("self_attn", "self_attn_layer_norm", "final_layer_norm"),
    decoder=("self_attn", "self_attn_layer_norm", "encoder_attn", "encoder_attn_layer_norm", "final_layer_norm"),
)
WRITE = (
    "attention.output_projection",
    ".contract",
    ".norm",
)  # modules that return d_model numbers
NEEDED: Mapping[str, object] = {  # setting → its value in every Marian model
    "norm": "post",
    "positional": "sinusoidal",
    "attention": "scaled_dot_product",
    "score_cap": 0.0,
    "attention_sinks": False,
}


@torch.no_grad()
def to_marian(checkpoint: Checkpoint) -> MarianMTModel:
    """A Marian model that computes the same as the checkpoint.

    Raises:
        ConfigError: Marian has no such architecture.
    """
    ours, config = checkpoint.model, checkpoint.config.model
    if not isinstance(ours, Transformer) or not isinstance(config, ModelConfig):
        raise ConfigError(f"{checkpoint.name} is not a Transformer, so it cannot be written as a Marian model.")
    for name, needed in (*NEEDED.items(), ("num_kv_heads", config.num_heads)):
        own = getattr(config, name) or needed  # 0 shared keys are as many as heads
        if own != needed:
            raise ConfigError(f"{checkpoint.name} has {name} = {own!r}. Marian has only {needed!r}.")
    model = MarianMTModel(marian_config(config)).eval()
    weights = dict(named_parameters(ours, torch.tensor([*range(0, config.d_model, 2), *range(1, config.d_model, 2)])))
    missing, surplus = model.load_state_dict(weights, strict=False)
    # Marian computes its positions, and tied weights have only one of their names.
    missing = [name for name in missing if "embed_positions" not in name and name != "final_logits_bias"]
    if surplus:  # of the model of a tutorial
        raise ConfigError(f"{checkpoint.name} has weights that Marian lacks, such as {surplus[0]}.")
    assert set(missing) <= set(model.all_tied_weights_keys)
    model.tie_weights()
    model.generation_config = GenerationConfig(
        decoder_start_token_id=BOS_ID,
        pad_token_id=PAD_ID,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        bad_words_ids=[[PAD_ID], [UNK_ID], [BOS_ID]],
        max_length=config.max_length,
        num_beams=5,
        early_stopping=True,  # as in our own beam search
    )
    return model


def marian_config(config: ModelConfig) -> MarianConfig:
    return MarianConfig(
        vocab_size=config.source_vocab_size,
        decoder_vocab_size=config.target_vocab_size,
        share_encoder_decoder_embeddings=config.tie_embeddings == "all",
        tie_word_embeddings=config.tie_embeddings != "none",
        d_model=config.d_model,
        encoder_layers=config.num_encoder_layers,
        decoder_layers=config.num_decoder_layers,
        encoder_attention_heads=config.num_heads,
        decoder_attention_heads=config.num_heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        activation_function=config.activation,
        dropout=config.dropout,
        max_position_embeddings=config.max_length,
        scale_embedding=True,
        pad_token_id=PAD_ID,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        forced_eos_token_id=None,
        decoder_start_token_id=BOS_ID,
    )


def named_parameters(ours: Transformer, order: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Name and value of each weight in Marian. `order` is the permutation of d_model."""
    modules = MARIAN.modules_in({})
    for name, weight in ours.named_parameters(remove_duplicate=False):
        module, _, part = name.rpartition(".")
        number = LAYER.search(module)
        theirs = modules[LAYER.sub(".layers.{i}.", module)].replace("{i}", number[1] if number else "")
        if module.endswith(WRITE):
            yield f"{theirs}.{part}", weight[order]
        else:
            yield f"{theirs}.{part}", weight[..., order] if part == "weight" else weight
    if ours.config.tie_embeddings == "all":
        yield "model.shared.weight", ours.encoder.embedding.tokens.weight[:, order]


def to_fast_tokenizer(checkpoint: Checkpoint) -> PreTrainedTokenizerFast:
    """A tokenizer of the library that splits a text like ours and adds `</s>`.

    Raises:
        ConfigError: the checkpoint uses whole words.
    """
    pair = checkpoint.tokenizers
    if not isinstance(pair, LearnedPair) or checkpoint.config.tokenizer.kind != "bpe":
        raise ConfigError(
            f"{checkpoint.name} splits texts with spaCy's rules, which the library's tokenizers do not have."
        )
    fast = tokenizers.Tokenizer.from_str(pair.source.to_json())
    # With a space before the text, its first word is the same token as inside a sentence.
    before_chinese = tokenizers.normalizers.Replace(tokenizers.Regex(rf"\A (?=[{HAN}])"), "")
    steps = [as_normalizer(), tokenizers.normalizers.Strip(), tokenizers.normalizers.Prepend(" "), before_chinese]
    fast.normalizer = tokenizers.normalizers.Sequence(steps)
    fast.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"$A {EOS}", pair=f"$A $B {EOS}", special_tokens=[(EOS, EOS_ID)]
    )
    strip = tokenizers.decoders.Strip(content=" ", left=1, right=0)
    fast.decoder = tokenizers.decoders.Sequence([tokenizers.decoders.ByteLevel(), tokenizers.decoders.Fuse(), strip])
    return PreTrainedTokenizerFast(
        tokenizer_object=fast,
        pad_token=PAD,
        unk_token=UNK,
        bos_token=BOS,
        eos_token=EOS,
        model_max_length=checkpoint.config.model.max_length,
        clean_up_tokenization_spaces=False,
        split_special_tokens=True,
    )
