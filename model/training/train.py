"""Trains a recipe into a checkpoint folder, on one device or, under `torchrun` or `accelerate launch`, on several.

Everything a run needs to go on lies in `<checkpoint>/training/` as one safetensors file, replaced as a whole at the end
of each epoch and when the run is stopped: a resumed run computes the same losses as one that was never stopped.
Hugging Face Accelerate places the model, keeps the short number formats and exchanges gradients.
"""

import csv
import io
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from torch import Tensor
from tqdm import tqdm

from model.checkpoint import (
    WEIGHTS,
    CheckpointConfig,
    load_weights,
    remove_leftovers,
    save_weights,
    snapshot_path,
    write_beside,
    write_config,
)
from model.config import ConfigError, Recipe
from model.corpora.batching import Batch
from model.training.run_state import Progress, average_epochs, copy_weights, load_state, save_epoch, save_state
from model.training.runtime import make_accelerator, pick_device, stop_on_signal
from model.training.tasks import make_task
from model.training.warm_start import check_start

__all__ = ["DivergedError", "Trainer", "inverse_square_root", "train"]


class DivergedError(ArithmeticError):
    """The loss or its gradient is no longer a number. The message says when, what is kept and what to change."""


def inverse_square_root(step: int, *, peak: float, warmup_steps: int) -> float:
    """Linear warm-up to `peak`, then decay with 1/√step ("Attention Is All You Need", equation 3).

    Args:
        step: Counted from 1.
        peak: The highest learning rate, reached at `warmup_steps`.
        warmup_steps: Length of the warm-up.
    """
    return peak * min(step / warmup_steps, (warmup_steps / step) ** 0.5)


class Trainer:
    """One run: the model, the optimizer and the data, moved forward step by step."""

    def __init__(
        self,
        *,
        recipe: Recipe,
        data_root: Path,
        out: Path,
        device: torch.device,
        resume: bool,
        init: Path | None = None,
        tensorboard: bool = False,
        report: Callable[[str], None] = print,
    ) -> None:
        self.recipe, self.out, self.config, self.state_folder = recipe, out, recipe.train, out / "training"
        self.progress, self.stop_requested = Progress(), False
        if resume and not self.state_file.is_file():
            raise ConfigError(f"There is no run to resume in {out}; leave out --resume.")
        if not resume and self.state_file.is_file():
            raise ConfigError(f"{out} holds a run already: continue it with --resume, or choose another --out.")
        if not resume and (out / WEIGHTS).is_file():
            raise ConfigError(f"{out} holds a trained checkpoint already; choose another --out.")
        if init:
            check_start(init, recipe)
        self.accelerator = make_accelerator(
            self.config, device, log_folder=self.state_folder / "tensorboard" if tensorboard else None
        )
        self.accelerator.init_trackers("")
        self.report = report if self.main else lambda _sentence: None
        with self.accelerator.main_process_first():
            # The first process learns the vocabulary, the others read it.
            self.task = make_task(
                recipe,
                data_root=data_root,
                folder=out if resume or not self.main else init,
                device=self.accelerator.device,
                share=self._shared,
            )
            if self.main:
                self._prepare_folder()
        torch.manual_seed(self.config.seed)
        self.model = self.task.new_model().to(self.accelerator.device)
        if init:
            load_weights(init / WEIGHTS, self.model)
        optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=self.config.learning_rate,
            betas=(self.config.adam_beta1, self.config.adam_beta2),
            eps=1e-9,
            fused=self.accelerator.device.type in ("cpu", "cuda"),
        )
        loss = self.task.loss_of(self.model, self.config.label_smoothing)
        self.loss, self.optimizer = self.accelerator.prepare(loss, optimizer)
        if resume:
            self.progress = load_state(self.state_file, self.model, self.optimizer)
        if not self.main:  # its own dropout
            torch.manual_seed(self.config.seed + 1000 * self.accelerator.process_index + self.progress.step)
        if self.task.left_out:
            self.report(f"{self.task.left_out} pairs are longer than max_length and are left out.")

    @property
    def main(self) -> bool:
        return bool(self.accelerator.is_main_process)

    @property
    def state_file(self) -> Path:
        return self.state_folder / "state.safetensors"

    def run(self) -> None:
        """Train until the epochs or steps are used up, validation stops improving, or a stop is requested.

        Raises:
            DivergedError: the loss is not finite; what was saved before is kept.
        """
        progress, config = self.progress, self.config
        bar = tqdm(
            initial=progress.step, total=self._steps_expected(), unit="step", smoothing=0.05, disable=not self.main
        )
        with bar, stop_on_signal(self.accelerator):
            self._keep_snapshot()
            while not self._over():
                for batches in self._remaining_steps():
                    self._step(batches, bar)
                    self._keep_snapshot()
                    self.stop_requested = bool(self.accelerator.check_trigger())
                    if self.stop_requested or progress.step >= config.max_steps:
                        break
                else:
                    self._end_epoch()
                if self.stop_requested:
                    break
        if self.main:
            self._finish()
        self.accelerator.wait_for_everyone()
        # What holds the process group goes first: its threads must end before Python does.
        self.loss, self.optimizer = self.accelerator.free_memory(self.loss, self.optimizer)
        self.accelerator.end_training()

    def _finish(self) -> None:
        self._save_state()
        if not self.progress.history:
            self._save_model()
        if self.config.snapshot_steps and not self.stop_requested:
            save_weights(snapshot_path(self.out, self.progress.step), self._weights())
        self.report(f"{'Stopped' if self.stop_requested else 'Finished'} at step {self.progress.step}: {self.out}")

    def _over(self) -> bool:
        progress, config = self.progress, self.config
        return (
            progress.epoch > config.max_epochs
            or progress.step >= config.max_steps
            or progress.stale_epochs >= config.patience
        )

    @property
    def _batches_a_step(self) -> int:
        return self.config.accumulate * int(self.accelerator.num_processes)

    def _steps_expected(self) -> int:
        config = self.config

        def steps(epoch: int) -> int:
            batches = self.task.batches_of(epoch).count(seed=config.seed, number=epoch)
            return math.ceil(batches / self._batches_a_step)

        early = min(config.pretrain_epochs, config.max_epochs)
        whole = early * steps(1) + (config.max_epochs - early) * steps(config.max_epochs)
        return min(whole, config.max_steps)

    def _remaining_steps(self) -> Iterator[list[Batch]]:
        """The batches of one optimizer step after the other; every process sees the same."""
        number = self.progress.epoch
        batches = self.task.batches_of(number).epoch(seed=self.config.seed, number=number)
        for _ in islice(batches, self.progress.batches_done):
            pass
        return iter(lambda: list(islice(batches, self._batches_a_step)), [])

    def _step(self, batches: Sequence[Batch], bar: "tqdm[Any]") -> None:
        progress, config, accelerator = self.progress, self.config, self.accelerator
        started = time.perf_counter()
        rate = inverse_square_root(progress.step + 1, peak=config.learning_rate, warmup_steps=config.warmup_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        items = sum(self.task.items(batch) for batch in batches)
        loss = self._backward(batches, items)
        norm = accelerator.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        # In fp16 a gradient may overflow: that step is left out and the loss scaled down.
        if not math.isfinite(loss) or (config.precision != "fp16" and not math.isfinite(norm)):
            raise DivergedError(self._divergence(loss, rate))
        self.optimizer.step()
        taken = time.perf_counter() - started
        progress.step += 1
        progress.batches_done += len(batches)
        progress.epoch_loss += loss
        progress.epoch_items += items
        progress.epoch_seconds += taken
        progress.seconds += taken
        bar.update()
        mean, speed = progress.epoch_loss / progress.epoch_items, progress.epoch_items / progress.epoch_seconds
        bar.set_postfix_str(f"epoch {progress.epoch}, loss {mean:.3f}, {speed:,.0f} {self.task.unit}/s", refresh=False)

    def _backward(self, batches: Sequence[Batch], items: int) -> float:
        """Add up the gradients of all processes' batches, and return the loss of all, summed."""
        accelerator = self.accelerator
        own = [(batch, 1.0) for batch in batches[accelerator.process_index :: accelerator.num_processes]]
        own = own or [(batches[0], 0.0)]  # the last step of an epoch may have too few; all must take part
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=accelerator.device)
        for number, (batch, share) in enumerate(own, start=1):
            # Gradients are exchanged, as their mean over the processes, once a step.
            with nullcontext() if number == len(own) else accelerator.no_sync(self.loss):
                loss = share * self.loss(batch.source, batch.target)
                accelerator.backward(loss * (accelerator.num_processes / items))
            total += loss.detach()
        summed: Tensor = accelerator.reduce(total, "sum")
        return float(summed)

    def _divergence(self, loss: float, rate: float) -> str:
        history = self.progress.history
        kept = f"the checkpoint of step {history[-1]['step']:.0f}" if history else "nothing yet"
        return (
            f"At step {self.progress.step + 1} the loss ({loss}) or its gradient is not finite, so it was not taken. "
            f"Kept in {self.out}: {kept}. Lower learning_rate (now {rate:.2g}), raise warmup_steps "
            f"({self.config.warmup_steps}) or use --precision fp32; train in another folder, or go on with --resume."
        )

    def _keep_snapshot(self) -> None:
        if self.main and self.progress.step in self.config.snapshot_steps:
            save_weights(snapshot_path(self.out, self.progress.step), self._weights())

    def _end_epoch(self) -> None:
        progress = self.progress
        figures = self._shared(self._validate() if self.main else {})
        quality = figures[self.task.quality]
        progress.stale_epochs = 0 if quality > progress.best else progress.stale_epochs + 1
        progress.best = max(quality, progress.best)
        self.accelerator.log(figures, step=progress.step)
        progress.epoch += 1
        progress.batches_done, progress.epoch_loss = 0, 0.0
        progress.epoch_items, progress.epoch_seconds = 0, 0.0
        if self.main:
            self._save_state()

    def _validate(self) -> dict[str, float]:
        """Judge the better of this epoch's weights and the mean of the last; keep it if it is the best so far."""
        progress = self.progress
        weights = self._weights()
        save_epoch(self.state_folder, weights, epoch=progress.epoch, keep=self.config.average_epochs)
        loss = self._use_better_of_average_and_last(weights)
        measured = self.task.measure(self.model.eval(), loss)
        figures = self._history_row(loss, measured)
        progress.history.append(figures)
        quality = figures[self.task.quality]
        if quality > progress.best:
            self._save_model()
        copy_weights(self.model, weights)
        name = self.task.quality.removeprefix("valid_")
        self.report(f"epoch {progress.epoch}: validation loss {loss:.3f}, {name} {quality:.2f}")
        return figures

    def _weights(self) -> dict[str, Tensor]:
        return {name: p.detach().clone() for name, p in self.model.named_parameters()}

    def _use_better_of_average_and_last(self, last_weights: dict[str, Tensor]) -> float:
        """The mean of the last epochs is the better model once training has settled, and the worse one before."""
        last = self.task.valid_loss(self.model.eval())
        copy_weights(self.model, average_epochs(self.state_folder))
        averaged = self.task.valid_loss(self.model)
        if averaged > last:
            copy_weights(self.model, last_weights)
        return min(averaged, last)

    def _history_row(self, loss: float, measured: Mapping[str, float]) -> dict[str, float]:
        progress = self.progress
        return {
            "epoch": progress.epoch,
            "step": progress.step,
            "train_loss": round(progress.epoch_loss / progress.epoch_items, 5),
            "valid_loss": round(loss, 5),
            **measured,
            "learning_rate": round(self.optimizer.param_groups[0]["lr"], 8),
            f"{self.task.unit}_per_second": round(progress.epoch_items / progress.epoch_seconds),
            "seconds": round(progress.seconds, 1),
        }

    def _save_model(self) -> None:
        save_weights(self.out / WEIGHTS, dict(self.model.named_parameters()))
        write_config(self.out, self._checkpoint_config())

    def _checkpoint_config(self) -> CheckpointConfig:
        name = self.task.quality
        best = max((row[name] for row in self.progress.history), default=None)
        return CheckpointConfig(
            recipe=self.recipe.name,
            task=self.recipe.task,
            model=self.task.model_config,
            tokenizer=self.recipe.tokenizer,
            train=self.config,
            figures={} if best is None else {name: best},
        )

    def _prepare_folder(self) -> None:
        self.state_folder.mkdir(parents=True, exist_ok=True)
        for folder in (self.out, self.state_folder, self.out / "snapshots"):
            remove_leftovers(folder)
        for name, content in self.task.tokenizers.files().items():
            write_beside(self.out / name, content)
        if not (self.out / WEIGHTS).is_file():
            write_config(self.out, self._checkpoint_config())

    def _save_state(self) -> None:
        save_state(self.state_file, self.model, self.optimizer, self.progress)
        self._write_history()

    def _write_history(self) -> None:
        text = io.StringIO()
        if self.progress.history:
            writer = csv.DictWriter(text, list(self.progress.history[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.progress.history)
        write_beside(self.out / "history.csv", text.getvalue())

    def _shared(self, value: Any) -> Any:
        """What the first process has, on every process."""
        return broadcast_object_list([value])[0]


def train(
    recipe: Recipe,
    *,
    data_root: Path,
    out: Path,
    device: str = "auto",
    resume: bool = False,
    init: Path | None = None,
    tensorboard: bool = False,
) -> None:
    """Train `recipe` into the folder `out`, from random weights or from those of the checkpoint `init`.

    Raises:
        ConfigError: the recipe, the device or the folder cannot be used.
        CorpusError: the corpus cannot be read.
        CheckpointError: a file cannot be written.
        DivergedError: the loss is not finite.
    """
    place = pick_device(device)
    Trainer(
        recipe=recipe, data_root=data_root, out=out, device=place, resume=resume, init=init, tensorboard=tensorboard
    ).run()
