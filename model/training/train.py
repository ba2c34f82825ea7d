"""Trains a recipe into a checkpoint folder, on one device or, with `torchrun` or `accelerate launch`, on several.

The folder `<checkpoint>/training/` holds everything that a run needs to continue, from before its first step. It is
replaced as a whole every few minutes, at the end of each epoch and at the end of the run. The batches of a step and
their random numbers follow from the seed and the step. So a run that is resumed by any number of processes on the same
kind of device computes the same losses as a run that never stopped. Hugging Face Accelerate places the model, keeps
16-bit numbers stable and exchanges gradients.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from tqdm import tqdm

from model.checkpoints.checkpoint import CheckpointConfig, read_config
from model.config.recipe import Recipe
from model.corpora.batch import Rows
from model.network.device import pick_device
from model.network.team import present_team
from model.training import DivergedError
from model.training.run_folder import (
    Progress,
    RunFolder,
    average_epochs,
    check_start,
    copy_weights,
    epoch_files,
    load_state,
    save_epoch,
    save_state,
    start_from,
)
from model.training.runtime import OptimizerStep, make_accelerator, stop_on_signal
from model.training.schedule import is_over, learning_rate, remaining_steps, steps_expected
from model.training.tasks import Task, make_task
from model.training.tokenized import require_same_files

__all__ = ["Trainer", "train"]

SAVE_SECONDS = 300.0  # between two saves of the state; a process that is killed loses no more than this


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """A copy of all parameters."""
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def checkpoint_config(task: Task, figures: Mapping[str, float]) -> CheckpointConfig:
    recipe = task.recipe
    return CheckpointConfig(
        recipe=recipe.name,
        task=recipe.task,
        model=task.model_config,
        tokenizer=recipe.tokenizer,
        train=recipe.train,
        figures=figures,
    )


class Trainer:
    """One run, step by step, from the first step to the checkpoint."""

    def __init__(self, *, task: Task, folder: RunFolder, accelerator: Accelerator) -> None:
        self.config, self.task, self.folder = task.recipe.train, task, folder
        self.accelerator, self.main = accelerator, bool(accelerator.is_main_process)
        self.report: Callable[[str], None] = print if self.main else lambda _sentence: None
        self.team, self.stop_requested = present_team(), False
        self.progress = Progress(batches_a_step=self.config.accumulate * self.team.size, files=task.files)
        self.saved_at = time.monotonic()
        torch.manual_seed(self.config.seed)  # every process starts with the same weights
        self.model = task.new_model().to(accelerator.device)
        self.step = OptimizerStep(model=self.model, task=task, config=self.config, accelerator=accelerator)
        self.best_saved = -1.0  # quality of the checkpoint in the folder

    def resume(self) -> None:
        """Continue the run in the folder.

        Raises:
            ConfigError: its state is damaged, or belongs to another model.
            CorpusError: a file of the corpus changed after the run began.
        """
        begun, scaler = self.progress, self.accelerator.scaler
        self.progress = load_state(self.folder.state, self.model, self.step.optimizer, scaler=scaler)
        if self.progress.batches_a_step:
            require_same_files(self.progress.files, begun.files, folder=self.folder.path)
        else:  # an earlier version did not save these
            self.progress.batches_a_step, self.progress.files = begun.batches_a_step, begun.files
        self.best_saved = read_config(self.folder.path).figures.get(self.task.quality, self.best_saved)

    def run(self) -> None:
        """Train until the last epoch or step, until validation stops improving, or until somebody stops the run.

        Raises:
            DivergedError: the loss is not finite. What was saved before is kept.
        """
        self.last_step = steps_expected(self.task, self.config, batches_a_step=self.progress.batches_a_step)
        with stop_on_signal(self.accelerator):
            if not self.progress.step:
                self._save_state()
            with self._progress_bar() as bar:
                self._keep_snapshot()
                while not self.stop_requested and not is_over(self.progress, self.config):
                    self._train_epoch(bar)
            self._finish()
        self.accelerator.wait_for_everyone()
        self.step.release()
        self.accelerator.end_training()

    def _progress_bar(self) -> tqdm:
        if not self.main:
            return tqdm(disable=True)
        return tqdm(initial=self.progress.step, total=self.last_step, unit="step", smoothing=0.05)

    def _train_epoch(self, bar: tqdm) -> None:
        """Train to the end of the epoch, or until the run stops."""
        for rows in remaining_steps(self.task, self.config, self.progress):
            self._step(rows, bar)
            self._keep_snapshot()
            self._save_now_and_then()
            self.stop_requested = bool(self.accelerator.check_trigger())
            if self.stop_requested or self.progress.step >= self.config.max_steps:
                return
        self._end_epoch()

    def _step(self, rows: Sequence[Rows], bar: tqdm) -> None:
        progress = self.progress
        started = time.perf_counter()
        rate = learning_rate(progress.step + 1, self.config, last=self.last_step)
        loss = self.step.compute_gradients(rows, epoch=progress.epoch, rate=rate)
        if not loss.finite:
            raise DivergedError(self._divergence(loss.total, rate))
        self.step.optimizer.step()
        progress.count_step(batches=len(rows), loss=loss.total, items=loss.items, seconds=time.perf_counter() - started)
        bar.update()
        mean, speed = progress.epoch_loss / progress.epoch_items, progress.epoch_items / progress.epoch_seconds
        bar.set_postfix_str(f"epoch {progress.epoch}, loss {mean:.3f}, {speed:,.0f} {self.task.unit}/s", refresh=False)

    def _divergence(self, loss: float, rate: float) -> str:
        history = self.progress.history
        kept = (
            f"{self.folder.path} keeps the checkpoint of step {history[-1]['step']:.0f}."
            if history
            else f"There is no checkpoint in {self.folder.path} yet."
        )
        return (
            f"The loss ({loss}) or its gradient is not finite at step {self.progress.step + 1}, so the step was not "
            f"taken. {kept} Lower learning_rate (now {rate:.2g}), raise warmup_steps "
            f"({self.config.warmup_steps}) or use --precision fp32. Then train in another folder, or continue this run "
            "with --resume."
        )

    def _end_epoch(self) -> None:
        progress = self.progress
        row = self._validate()
        progress.history.append(row)
        quality = row[self.task.quality]
        progress.stale_epochs = 0 if quality > progress.best else progress.stale_epochs + 1
        progress.best = max(quality, progress.best)
        progress.begin_epoch()
        self._save_state()

    def _validate(self) -> dict[str, float]:
        """Measure the better of two: the weights of this epoch, and the mean of the last epochs.

        All processes call this and divide the work. The first one writes.

        Returns:
            The line of this epoch in `history.csv`.
        """
        progress, quality = self.progress, self.task.quality
        weights = weights_of(self.model)
        if self.main:
            save_epoch(self.folder.training, weights, epoch=progress.epoch, keep=self.config.average_epochs)
        self.accelerator.wait_for_everyone()
        loss = self._use_better_of_average_and_last(weights)
        measured = {"valid_loss": round(loss, 5), **self.task.measure(self.model, loss, self.team)}
        rate = self.step.optimizer.param_groups[0]["lr"]
        row = progress.row(measured, rate=rate, unit=self.task.unit)
        if row[quality] > self.best_saved:
            if self.main:
                self.folder.save_model(weights_of(self.model), checkpoint_config(self.task, {quality: row[quality]}))
            self.best_saved = row[quality]
        copy_weights(self.model, weights)
        self.accelerator.log(row, step=progress.step)
        name = quality.removeprefix("valid_")
        self.report(f"epoch {progress.epoch}: validation loss {row['valid_loss']:.3f}, {name} {row[quality]:.2f}")
        return row

    def _use_better_of_average_and_last(self, last_weights: Mapping[str, Tensor]) -> float:
        """The mean of the last epochs is the better model after training has settled, and the worse one before."""
        last = self.task.valid_loss(self.model.eval(), self.team)
        if len(epoch_files(self.folder.training)) == 1:
            return last
        copy_weights(self.model, average_epochs(self.folder.training))
        averaged = self.task.valid_loss(self.model, self.team)
        if averaged > last:
            copy_weights(self.model, last_weights)
        return min(averaged, last)

    def _finish(self) -> None:
        self._save_state()
        if self.progress.epoch_items:
            self._validate_unfinished_epoch()
        if self.main and self.config.snapshot_steps and not self.stop_requested:
            self.folder.save_snapshot(weights_of(self.model), step=self.progress.step)
        ending = "Stopped" if self.stop_requested else "Finished"
        self.report(f"{ending} at step {self.progress.step}: {self.folder.path}")

    def _validate_unfinished_epoch(self) -> None:
        """Give the checkpoint the last steps too. A resumed run continues as if they had not been validated."""
        self.report(f"Validating the steps of the unfinished epoch {self.progress.epoch}.")
        row = self._validate()
        if self.main:
            self.folder.write_history([*self.progress.history, row])

    def _keep_snapshot(self) -> None:
        if self.main and self.progress.step in self.config.snapshot_steps:
            self.folder.save_snapshot(weights_of(self.model), step=self.progress.step)

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self.saved_at >= SAVE_SECONDS:
            self._save_state()

    def _save_state(self) -> None:
        if self.main:
            scaler = self.accelerator.scaler
            save_state(self.folder.state, self.model, self.step.optimizer, self.progress, scaler=scaler)
            if self.progress.history:
                self.folder.write_history(self.progress.history)
        self.saved_at = time.monotonic()


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
    """Train `recipe` into the folder `out`.

    Args:
        recipe: The model, the data and the settings of the run.
        data_root: Folder of the corpora.
        out: Folder of the new checkpoint.
        device: "auto", "cpu", "cuda" or "mps".
        resume: Continue the run that is in `out`.
        init: A checkpoint; the run starts from its weights and tokenizers.
        tensorboard: Log for TensorBoard into `<out>/training/tensorboard`.

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
                folder.require_fit_for(recipe, resume=resume)  # again: another run may have ended there meanwhile
                folder.prepare(task.tokenizers.files(), checkpoint_config(task, {}))
            task.open_training(folder.training, first=accelerator.is_main_process, resume=resume)
        accelerator.init_trackers("")
        trainer = Trainer(task=task, folder=folder, accelerator=accelerator)
        if task.left_out:
            trainer.report(f"{task.left_out} pairs are longer than max_length and are left out.")
        if init:
            start_from(init, trainer.model, task.model_config)
        if resume:
            trainer.resume()
        trainer.run()
