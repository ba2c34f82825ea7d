"""What a training run needs to continue: one safetensors file, replaced as a whole, and the weights of recent epochs.

The file holds the weights, the optimizer, the progress, the random numbers of each process, and the scale of an fp16
loss.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from model.config.section import ConfigError
from model.files import save_tensors

__all__ = [
    "Progress",
    "average_epochs",
    "copy_weights",
    "epoch_files",
    "load_state",
    "random_state",
    "save_epoch",
    "save_state",
]


@dataclass(kw_only=True)
class Progress:
    """How far a run has come. It is saved with the weights."""

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

    def count_step(self, *, batches: int, loss: float, items: int, seconds: float) -> None:
        """Add one step of the optimizer; `loss` is summed over the `items`."""
        self.step += 1
        self.batches_done += batches
        self.epoch_loss += loss
        self.epoch_items += items
        self.epoch_seconds += seconds
        self.seconds += seconds

    def begin_epoch(self) -> None:
        self.epoch += 1
        self.batches_done, self.epoch_items = 0, 0
        self.epoch_loss, self.epoch_seconds = 0.0, 0.0

    def row(self, measured: Mapping[str, float], *, rate: float, unit: str) -> dict[str, float]:
        """The line of this epoch in `history.csv`."""
        return {
            "epoch": self.epoch,
            "step": self.step,
            "train_loss": round(self.epoch_loss / self.epoch_items, 5),
            **measured,
            "learning_rate": round(rate, 8),
            f"{unit}_per_second": round(self.epoch_items / self.epoch_seconds),
            "seconds": round(self.seconds, 1),
        }


def copy_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Overwrite the model's parameters. Raises KeyError or RuntimeError if names or shapes differ."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def random_state(device: torch.device) -> dict[str, Tensor]:
    """The state of the random number generators of this process: of the CPU, and of its device."""
    states = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        states[device.type] = torch.get_device_module(device).get_rng_state()
    return states


def save_state(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    *,
    random_states: Sequence[Mapping[str, Tensor]],
    scaler: torch.amp.GradScaler | None = None,
) -> None:
    """Write all that the run needs to continue.

    Args:
        path: The file to replace.
        model: Its parameters are saved in full precision.
        optimizer: Of these parameters.
        progress: How far the run has come.
        random_states: The `random_state` of each process, in the order of their ranks.
        scaler: Scales the loss in fp16.
    """
    tensors = {f"model.{name}": p.detach() for name, p in model.named_parameters()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"adam.{key}.{name}"] = value
    for rank, states in enumerate(random_states):
        tensors |= {f"random.{rank}.{kind}": state for kind, state in states.items()}
    metadata = {"progress": json.dumps(asdict(progress))}
    if scaler is not None:
        metadata["scaler"] = json.dumps(scaler.state_dict())
    save_tensors(path, tensors, metadata=metadata)


def load_state(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    rank: int = 0,
    scaler: torch.amp.GradScaler | None = None,
) -> Progress:
    """Read the file of `save_state` into the model, the optimizer, the random numbers of this process and the scaler.

    A process that is new in the run keeps its own random numbers.

    Raises:
        ConfigError: the file is damaged, or belongs to a run of another recipe.
    """
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.offset_keys()}
            metadata = file.metadata()
        progress = Progress(**json.loads(metadata["progress"]))
        random_states = {name: tensors.pop(name) for name in list(tensors) if name.startswith("random.")}
        copy_weights(model, {name: tensors.pop(f"model.{name}") for name, _ in model.named_parameters()})
        for name, parameter in model.named_parameters():
            if progress.step:
                entries = {key: tensors.pop(f"adam.{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
                optimizer.state[parameter] = {key: value.to(parameter.device) for key, value in entries.items()}
    except (SafetensorError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} does not fit this recipe, or it is damaged: {error}") from error
    if tensors:
        raise ConfigError(f"{path} holds the tensor {min(tensors)}, which this recipe does not have.")
    for kind in ("cpu", "cuda", "mps"):
        state = random_states.get(f"random.{rank}.{kind}")
        if state is not None and kind == "cpu":
            torch.set_rng_state(state)
        elif state is not None and kind == next(model.parameters()).device.type:
            torch.get_device_module(kind).set_rng_state(state)
    if scaler is not None and "scaler" in metadata:
        scaler.load_state_dict(json.loads(metadata["scaler"]))
    return progress


def save_epoch(folder: Path, weights: Mapping[str, Tensor], *, epoch: int, keep: int) -> None:
    """Save the weights of an epoch, and delete all but the `keep` latest epochs."""
    save_tensors(folder / f"epoch-{epoch:04d}.safetensors", weights)
    for old in epoch_files(folder)[:-keep]:
        old.unlink()


def average_epochs(folder: Path) -> dict[str, Tensor]:
    """The mean of the saved epochs, parameter by parameter ("Attention Is All You Need", section 6.1)."""
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
