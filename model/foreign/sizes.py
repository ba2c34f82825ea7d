"""How large a model of Hugging Face's `transformers` is, as far as the rest of the program asks."""

from collections import Counter
from collections.abc import Sequence

from torch import nn
from transformers import PreTrainedModel

from model.config import ConfigError
from model.foreign_config import ForeignSizes

__all__ = ["positions_of", "sizes_of"]

UNLIMITED = 512  # tokens, of a model whose positions never end


def positions_of(model: PreTrainedModel) -> int:
    """How many tokens the model can tell apart by their place."""
    length = int(getattr(model.config, "max_position_embeddings", None) or UNLIMITED)
    for name, module in model.named_modules():
        # RoBERTa and its kin count positions from the row after that of padding.
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return module.num_embeddings - module.padding_idx - 1
    return length


def sizes_of(model: PreTrainedModel, kinds: Sequence[str], *, needed: Sequence[str]) -> ForeignSizes:
    """The sizes of a model whose attention has been found.

    Args:
        model: Of the library.
        kinds: That of each attention that was found.
        needed: The kinds that a model of this task has.

    Raises:
        ConfigError: one of them is not seen, or stacks have different numbers of heads.
    """
    config = model.config
    if missing := set(needed) - set(kinds):
        raise ConfigError(f"{config.model_type} hides its attention ({', '.join(sorted(missing))}) from its library.")
    heads = {getattr(config, f"{side}_attention_heads", config.num_attention_heads) for side in ("encoder", "decoder")}
    if len(heads) > 1:
        raise ConfigError(
            f"Encoder and decoder have {' and '.join(map(str, sorted(heads)))} heads; we show one number."
        )
    source, target = model.get_input_embeddings(), model.get_output_embeddings()
    assert isinstance(source, nn.Embedding)
    return ForeignSizes(
        d_model=int(config.hidden_size),
        num_heads=int(heads.pop()),
        layers=Counter(kinds),
        max_length=positions_of(model),
        source_vocab_size=source.num_embeddings,
        target_vocab_size=target.out_features if isinstance(target, nn.Linear) else source.num_embeddings,
    )
