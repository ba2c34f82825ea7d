"""Small untrained checkpoints of the architectures that no bundled checkpoint has."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch

from model.config.model import ModelConfig, RecurrentConfig
from model.files import save_tensors
from model.network.translators import make_translator
from model.text.vocab import PAD_ID
from tests.conftest import BUNDLED

LIKE = BUNDLED / "multi30k-en-de"  # its tokenizer has 3,500 tokens
SIZES = {"d_model": 20, "source_vocab_size": 3500, "target_vocab_size": 3500, "max_length": 40}  # 20: not all in eights
LAYERS = {"num_heads": 2, "d_ff": 28, "num_encoder_layers": 2, "num_decoder_layers": 1}
VARIANTS: tuple[dict[str, str | int | float], ...] = (
    {"norm": "pre", "activation": "gelu", "positional": "learned", "tie_embeddings": "none", "numbers": "F32"},
    {"norm": "post", "attention": "additive", "tie_embeddings": "target", "numbers": "BF16"},
    {"norm": "pre", "positional": "rotary", "numbers": "F32"},
    {"norm": "pre", "positional": "alibi", "num_kv_heads": 1, "attention_sinks": True, "numbers": "F32"},
    {"positional": "relative", "score_cap": 2.0, "num_heads": 4, "num_kv_heads": 2, "numbers": "F32"},
    {"positional": "none", "attention_sinks": True, "attention": "additive", "numbers": "F32"},
    {"architecture": "recurrent", "tie_embeddings": "none", "numbers": "F32"},
)
NUMBERS = {"F32": torch.float32, "BF16": torch.bfloat16}


def write_checkpoint(folder: Path, settings: Mapping[str, str | int | float]) -> None:
    """Write a checkpoint with random weights, biases and norms.

    Args:
        folder: Where it goes.
        settings: Of the model, and the type of its `numbers`.
    """
    torch.manual_seed(3)
    given = {name: value for name, value in settings.items() if name != "numbers"}
    recurrent = "architecture" in given
    kind = RecurrentConfig if recurrent else ModelConfig
    config = kind.from_dict({**SIZES, **({"d_hidden": 12} if recurrent else LAYERS), **given})
    model = make_translator(config, pad_id=PAD_ID)
    weights = {name: p.detach() + 0.2 * torch.randn_like(p) for name, p in model.named_parameters()}
    save_tensors(
        folder / "model.safetensors", {name: w.to(NUMBERS[str(settings["numbers"])]) for name, w in weights.items()}
    )
    values = json.loads((LIKE / "config.json").read_text(encoding="utf-8")) | {"model": config.to_dict()}
    (folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    shutil.copy(LIKE / "tokenizer.json", folder)
