"""What `config.json` and `tokenizer_config.json` of a folder of `transformers` say, before a model is loaded."""

from dataclasses import replace
from pathlib import Path

from transformers import AutoConfig, PreTrainedConfig

from model.config.foreign import ForeignConfig, ForeignSizes, Task
from model.files import CheckpointError
from model.foreign.architecture import architecture, fills_gaps, require_attention
from model.foreign.known_config import texts_of
from model.foreign.readable import readable
from model.foreign.sizes import claimed_positions, classes_of
from model.messages import Message
from model.safety.errors import first_line
from model.safety.sizes import read_config_json

__all__ = ["describe", "read_foreign_config", "read_library_config"]


def read_foreign_config(folder: Path) -> ForeignConfig:
    """Read `config.json` without loading the model.

    Raises:
        CheckpointError: the library does not know the family, or Headlight cannot show it.
    """
    with readable(folder) as copy:
        return describe(copy, read_library_config(copy))


def describe(folder: Path, config: PreTrainedConfig) -> ForeignConfig:
    """What the files of a `readable` folder say."""
    task, kind = architecture(config, folder)
    require_attention(config, folder.name)
    texts, fills = texts_of(folder), fills_gaps(kind)
    return ForeignConfig(
        family=str(config.model_type),
        task=task,
        model=claimed_sizes(config, task, folder.name),
        tokenizer=texts if fills else replace(texts, mask=""),
        predicts=task != "reading" or fills,
        values=config.to_diff_dict(),
    )


def read_library_config(folder: Path) -> PreTrainedConfig:
    read_config_json(folder)  # checks the sizes before the library uses them
    try:
        found = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the file may contain anything, and the library raises many kinds of errors
        raise CheckpointError(
            "config.json of {folder} cannot be used: {problem}", folder=folder.name, problem=first_line(error)
        ) from error
    assert isinstance(found, PreTrainedConfig)
    return found


def claimed_sizes(config: PreTrainedConfig, task: Task, name: str) -> ForeignSizes:
    """The sizes in `config.json`. When the model is loaded, `sizes_of` counts them."""
    try:
        above = int(config.num_hidden_layers)
        below = int(getattr(config, "decoder_layers", getattr(config, "num_decoder_layers", above)) or above)
        layers = {
            "translation": {"encoder": above, "decoder": below, "cross": below},
            "continuation": {"decoder": above},
            "reading": {"encoder": above},
            "classification": {"encoder": above},
        }[task]
        vocabulary = int(config.vocab_size)
        return ForeignSizes(
            d_model=int(config.hidden_size),
            num_heads=int(config.num_attention_heads),
            layers=layers,
            max_length=claimed_positions(config),
            source_vocab_size=vocabulary,
            target_vocab_size=vocabulary,
            **(classes_of(config) if task == "classification" else {}),
        )
    except AttributeError as error:
        raise CheckpointError(
            "{name} has no {setting} in config.json. Models of the family {model_type} may have no attention heads.",
            name=name,
            setting=error.name or Message("sizes"),
            model_type=config.model_type,
        ) from error
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            "The sizes in config.json of {name} cannot be used: {error}", name=name, error=error
        ) from error
