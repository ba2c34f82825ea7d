"""Trains a recipe into a checkpoint folder, on one device or, under `torchrun` or `accelerate launch`, on several.

Everything a run needs to go on lies in `<checkpoint>/training/`, from before its first step. It is replaced as a whole
every few minutes, at the end of each epoch and when the run ends: resumed by as many processes on the same kind of
device, the run computes the losses of one that never stopped. Hugging Face Accelerate places the model, keeps the short
number formats and exchanges gradients.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor
from tqdm import tqdm

from model.checkpoints.checkpoint import CheckpointConfig, read_config
from model.config.recipe import Recipe
from model.corpora.batch import Rows
from model.network.device import pick_device
from model.training.run_folder import RunFolder
from model.training.run_state import (
    Progress,
    average_epochs,
    copy_weights,
    epoch_files,
    load_state,
    random_state,
    save_epoch,
    save_state,
)
from model.training.runtime import make_accelerator, stop_on_signal
from model.training.schedule import is_over, learning_rate, parameter_groups, remaining_steps, steps_expected
from model.training.tasks import Task, make_task
from model.training.warm_start import check_start, start_from

__all__ = ["DivergedError", "Trainer", "train"]

SAVE_SECONDS = 300.0  # from one save of the state to the next; a kill loses no more


class DivergedError(ArithmeticError):
    """The loss or its gradient is no longer a number. The message says when, what is kept and what to change."""


class Trainer:
    """One run: the model and the optimizer, moved forward step by step."""

    def __init__(
        self,
        *,
        recipe: Recipe,
        task: Task[Any],
        folder: RunFolder,
        accelerator: Accelerator,
        report: Callable[[str], None] = print,
    ) -> None:
        self.recipe, self.config, self.task, self.folder = recipe, recipe.train, task, folder
        self.accelerator, self.main = accelerator, bool(accelerator.is_main_process)
        self.report = report if self.main else lambda _sentence: None
        self.progress, self.stop_requested = Progress(), False
        self.kept = -1.0  # quality of the checkpoint in the folder
        self.saved_at = time.monotonic()
        torch.manual_seed(self.config.seed)  # the same weights in every process
        self.model = task.new_model().to(accelerator.device)
        optimizer = torch.optim.Adam(
            parameter_groups(self.model, attention_rate=self.config.attention_rate),
            lr=self.config.learning_rate,
            betas=(self.config.adam_beta1, self.config.adam_beta2),
            eps=1e-9,
            fused=accelerator.device.type in ("cpu", "cuda"),
        )
        self.last_step = steps_expected(task, self.config, batches_a_step=self._batches_a_step)
        loss = task.loss_of(self.model, self.config.label_smoothing)
        self.loss, self.optimizer = accelerator.prepare(loss, optimizer)
        if not self.main:  # its own dropout
            torch.manual_seed(self.config.seed + 1000 * accelerator.process_index)

    def resume(self) -> None:
        """Take up the run in the folder.

        Raises:
            ConfigError: its state is damaged or of another model.
        """
        rank, scaler = self.accelerator.process_index, self.accelerator.scaler
        self.progress = load_state(self.folder.state, self.model, self.optimizer, rank=rank, scaler=scaler)
        self.kept = read_config(self.folder.path).figures.get(self.task.quality, self.kept)

    def run(self) -> None:
        """Train until the epochs or steps are used up, validation stops improving, or a stop is requested.

        Raises:
            DivergedError: the loss is not finite; what was saved before is kept.
        """
        with stop_on_signal(self.accelerator):
            if not self.progress.step:
                self._save_state()
            with self._progress_bar() as bar:
                self._keep_snapshot()
                while not self.stop_requested and not is_over(self.progress, self.config):
                    self._train_epoch(bar)
            self._finish()
        self.accelerator.wait_for_everyone()
        # What holds the process group goes first: its threads must end before Python does.
        self.loss, self.optimizer = self.accelerator.free_memory(self.loss, self.optimizer)
        self.accelerator.end_training()

    @property
    def _batches_a_step(self) -> int:
        return self.config.accumulate * int(self.accelerator.num_processes)

    def _progress_bar(self) -> "tqdm[Any]":
        if not self.main:
            return tqdm(disable=True)
        return tqdm(initial=self.progress.step, total=self.last_step, unit="step", smoothing=0.05)

    def _train_epoch(self, bar: "tqdm[Any]") -> None:
        """Go on to the end of the epoch, unless the run is to stop before it."""
        for step in remaining_steps(self.task, self.config, self.progress, batches_a_step=self._batches_a_step):
            self._step(step, bar)
            self._keep_snapshot()
            self._save_now_and_then()
            self.stop_requested = bool(self.accelerator.check_trigger())
            if self.stop_requested or self.progress.step >= self.config.max_steps:
                return
        self._end_epoch()

    def _step(self, step: Sequence[Rows], bar: "tqdm[Any]") -> None:
        progress, config, accelerator = self.progress, self.config, self.accelerator
        started = time.perf_counter()
        rate = learning_rate(progress.step + 1, config, last=self.last_step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["share"]
        loss, items = self._backward(step)
        norm = accelerator.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        # In fp16 a gradient may overflow: that step is left out and the loss scaled down.
        if not math.isfinite(loss) or (config.precision != "fp16" and not math.isfinite(norm)):
            raise DivergedError(self._divergence(loss, rate))
        self.optimizer.step()
        taken = time.perf_counter() - started
        progress.step += 1
        progress.batches_done += len(step)
        progress.epoch_loss += loss
        progress.epoch_items += items
        progress.epoch_seconds += taken
        progress.seconds += taken
        bar.update()
        mean, speed = progress.epoch_loss / progress.epoch_items, progress.epoch_items / progress.epoch_seconds
        bar.set_postfix_str(f"epoch {progress.epoch}, loss {mean:.3f}, {speed:,.0f} {self.task.unit}/s", refresh=False)

    def _backward(self, step: Sequence[Rows]) -> tuple[float, int]:
        """Add up the gradients of all processes' batches; return the loss of all, summed, and their items."""
        accelerator, batches = self.accelerator, self.task.batches_of(self.progress.epoch)
        order = {"seed": self.config.seed, "number": self.progress.epoch}
        own = [batches.load(rows, **order) for rows in step[accelerator.process_index :: accelerator.num_processes]]
        items = int(self._sum(sum(map(self.task.items, own))))
        # The last step of an epoch may have too few batches; all processes must take part.
        shares = [(batch, 1.0) for batch in own] or [(batches.load(step[0], **order), 0.0)]
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=accelerator.device)
        for number, (batch, share) in enumerate(shares, start=1):
            # Gradients are exchanged, as their mean over the processes, once a step.
            with nullcontext() if number == len(shares) else accelerator.no_sync(self.loss):
                loss = share * self.loss(batch.source, batch.target)
                accelerator.backward(loss * (accelerator.num_processes / items))
            total += loss.detach()
        return self._sum(total), items

    def _sum(self, value: Tensor | int) -> float:
        """Over all processes."""
        summed: Tensor = self.accelerator.reduce(torch.as_tensor(value, device=self.accelerator.device), "sum")
        return summed.item()

    def _divergence(self, loss: float, rate: float) -> str:
        history = self.progress.history
        kept = f"the checkpoint of step {history[-1]['step']:.0f}" if history else "nothing yet"
        return (
            f"At step {self.progress.step + 1} the loss ({loss}) or its gradient is not finite, so it was not taken. "
            f"Kept in {self.folder.path}: {kept}. Lower learning_rate (now {rate:.2g}), raise warmup_steps "
            f"({self.config.warmup_steps}) or use --precision fp32; train in another folder, or go on with --resume."
        )

    def _end_epoch(self) -> None:
        progress = self.progress
        row = broadcast_object_list([self._validate() if self.main else {}])[0]
        progress.history.append(row)
        quality = row[self.task.quality]
        progress.stale_epochs = 0 if quality > progress.best else progress.stale_epochs + 1
        progress.best = max(quality, progress.best)
        progress.begin_epoch()
        self._save_state()

    def _validate(self) -> dict[str, float]:
        """Judge the better of this epoch's weights and the mean of the last; keep it if it is the best so far."""
        progress, weights = self.progress, self._weights()
        save_epoch(self.folder.training, weights, epoch=progress.epoch, keep=self.config.average_epochs)
        loss = self._use_better_of_average_and_last(weights)
        measured = {"valid_loss": round(loss, 5), **self.task.measure(self.model, loss)}
        row = progress.row(measured, rate=self.optimizer.param_groups[0]["lr"], unit=self.task.unit)
        quality = row[self.task.quality]
        if quality > self.kept:
            config = checkpoint_config(self.recipe, self.task, {self.task.quality: quality})
            self.folder.save_model(self._weights(), config)
            self.kept = quality
        copy_weights(self.model, weights)
        self.accelerator.log(row, step=progress.step)
        name = self.task.quality.removeprefix("valid_")
        self.report(f"epoch {progress.epoch}: validation loss {loss:.3f}, {name} {quality:.2f}")
        return row

    def _use_better_of_average_and_last(self, last_weights: Mapping[str, Tensor]) -> float:
        """The mean of the last epochs is the better model once training has settled, and the worse one before."""
        last = self.task.valid_loss(self.model.eval())
        if len(epoch_files(self.folder.training)) == 1:
            return last
        copy_weights(self.model, average_epochs(self.folder.training))
        averaged = self.task.valid_loss(self.model)
        if averaged > last:
            copy_weights(self.model, last_weights)
        return min(averaged, last)

    def _finish(self) -> None:
        self._save_state()
        if not self.main:
            return
        if self.progress.epoch_items:
            self._validate_unfinished_epoch()
        if self.config.snapshot_steps and not self.stop_requested:
            self.folder.save_snapshot(self._weights(), step=self.progress.step)
        ending = "Stopped" if self.stop_requested else "Finished"
        self.report(f"{ending} at step {self.progress.step}: {self.folder.path}")

    def _validate_unfinished_epoch(self) -> None:
        """Let the checkpoint have the last steps too; a resumed run goes on as if they had not been validated."""
        self.report(f"Validating the steps of the unfinished epoch {self.progress.epoch}.")
        self.folder.write_history([*self.progress.history, self._validate()])

    def _weights(self) -> dict[str, Tensor]:
        return {name: p.detach().clone() for name, p in self.model.named_parameters()}

    def _keep_snapshot(self) -> None:
        if self.main and self.progress.step in self.config.snapshot_steps:
            self.folder.save_snapshot(self._weights(), step=self.progress.step)

    def _save_now_and_then(self) -> None:
        """All processes save together, when the first one says so."""
        if self._sum(int(self.main and time.monotonic() - self.saved_at >= SAVE_SECONDS)):
            self._save_state()

    def _save_state(self) -> None:
        """Called by all processes, each of which has random numbers of its own; the first one writes."""
        random_states = gather_object([random_state(self.accelerator.device)])
        if self.main:
            state, scaler = self.folder.state, self.accelerator.scaler
            save_state(state, self.model, self.optimizer, self.progress, random_states=random_states, scaler=scaler)
            if self.progress.history:
                self.folder.write_history(self.progress.history)
        self.saved_at = time.monotonic()


def checkpoint_config(recipe: Recipe, task: Task[Any], figures: Mapping[str, float]) -> CheckpointConfig:
    return CheckpointConfig(
        recipe=recipe.name,
        task=recipe.task,
        model=task.model_config,
        tokenizer=recipe.tokenizer,
        train=recipe.train,
        figures=figures,
    )


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
    """Train `recipe` into the folder `out`, from the weights and tokenizers of the checkpoint `init` if there is one.

    Raises:
        ConfigError: the recipe, the device or the folder cannot be used.
        CorpusError: the corpus cannot be read.
        CheckpointError: a file cannot be written.
        DivergedError: the loss is not finite.
    """
    folder = RunFolder(out)
    folder.require_fit_for(recipe, resume=resume)
    if init:
        check_start(init, recipe)
    log_folder = folder.training / "tensorboard" if tensorboard else None
    accelerator = make_accelerator(recipe.train, pick_device(device), log_folder=log_folder)
    with ExitStack() as until_the_end:
        with accelerator.main_process_first():
            # The first process learns the vocabulary, the others read it.
            learn = accelerator.is_main_process and not resume
            task = make_task(recipe, data_root=data_root, folder=init if learn else out, device=accelerator.device)
            if accelerator.is_main_process:
                until_the_end.enter_context(folder.locked())
                folder.require_fit_for(recipe, resume=resume)  # a run may have ended in it since
                folder.prepare(task.tokenizers.files(), checkpoint_config(recipe, task, {}))
        accelerator.init_trackers("")
        trainer = Trainer(recipe=recipe, task=task, folder=folder, accelerator=accelerator)
        if task.left_out:
            trainer.report(f"{task.left_out} pairs are longer than max_length and are left out.")
        if init:
            start_from(init, trainer.model, task.model_config)
        if resume:
            trainer.resume()
        trainer.run()
