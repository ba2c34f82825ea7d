"""What a training run needs to go on: one safetensors file, replaced as a whole, and the weights of the last epochs."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from model.checkpoint import save_tensors
from model.config import ConfigError

__all__ = ["Progress", "average_epochs", "copy_weights", "load_state", "save_epoch", "save_state"]


@dataclass(kw_only=True)
class Progress:
    """Where a run stands; saved with the weights."""

    step: int = 0
    epoch: int = 1
    batches_done: int = 0  # in this epoch
    epoch_loss: float = 0.0  # summed over the items of this epoch, in nats
    epoch_items: int = 0
    epoch_seconds: float = 0.0
    seconds: float = 0.0
    best: float = -1.0  # quality on the validation split, see `Task.quality`
    stale_epochs: int = 0
    history: list[dict[str, float]] = field(default_factory=list)


def copy_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Overwrite the model's parameters; raises KeyError or RuntimeError where names or shapes differ."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def save_state(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Write weights, optimizer, random numbers and progress."""
    tensors = {f"model.{name}": p.detach() for name, p in model.named_parameters()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"adam.{key}.{name}"] = value
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    save_tensors(path, tensors, metadata={"progress": json.dumps(asdict(progress))})


def load_state(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
    """Read what `save_state` wrote into the model, the optimizer and the random number generators.

    Raises:
        ConfigError: the file is damaged, or was written by a run of another recipe.
    """
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.offset_keys()}
            progress = Progress(**json.loads(file.metadata()["progress"]))
        copy_weights(model, {name: tensors[f"model.{name}"] for name, _ in model.named_parameters()})
    except (SafetensorError, KeyError, RuntimeError, TypeError) as error:
        raise ConfigError(f"{path} does not fit this recipe or is damaged: {error}") from error
    for name, parameter in model.named_parameters():
        entries = {key: tensors.get(f"adam.{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = {
            key: value.to(parameter.device) for key, value in entries.items() if value is not None
        }
    torch.set_rng_state(tensors["random.cpu"])
    if torch.cuda.is_available() and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"])
    return progress


def save_epoch(folder: Path, weights: Mapping[str, Tensor], *, epoch: int, keep: int) -> None:
    """Keep the weights of an epoch, and of the `keep` latest ones only."""
    save_tensors(folder / f"epoch-{epoch:04d}.safetensors", weights)
    for old in epoch_files(folder)[:-keep]:
        old.unlink()


def average_epochs(folder: Path) -> dict[str, Tensor]:
    """The mean of the kept epochs, name by name ("Attention Is All You Need", section 6.1)."""
    files = epoch_files(folder)
    total: dict[str, Tensor] = {}
    for path in files:
        with safe_open(path, framework="pt") as file:
            for name in file.offset_keys():
                tensor = file.get_tensor(name)
                total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(files) for name, tensor in total.items()}


def epoch_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("epoch-*.safetensors"))
