"""Validates the weights of a run, and saves them as the checkpoint if they are the best so far."""

from collections.abc import Mapping

from torch import Tensor, nn

from model.checkpoints.checkpoint import CheckpointConfig, read_config
from model.config.recipe import Recipe
from model.training.run_folder import RunFolder
from model.training.run_state import Progress, average_epochs, copy_weights, epoch_files, save_epoch
from model.training.tasks import AnyTask

__all__ = ["Validation", "checkpoint_config", "weights_of"]


class Validation:
    """Compares the weights of a run with the checkpoint in its folder."""

    def __init__(self, *, recipe: Recipe, task: AnyTask, folder: RunFolder, model: nn.Module) -> None:
        self.recipe, self.task, self.folder, self.model = recipe, task, folder, model
        self.best_saved = -1.0  # quality of the checkpoint in the folder

    def resume(self) -> None:
        """Read the quality of the checkpoint that is already in the folder."""
        self.best_saved = read_config(self.folder.path).figures.get(self.task.quality, self.best_saved)

    def validate(self, progress: Progress, *, rate: float) -> dict[str, float]:
        """Measure the better of two: the weights of this epoch, and the mean of the last epochs.

        Args:
            progress: Of the run.
            rate: The learning rate of the last step.

        Returns:
            The line of this epoch in `history.csv`.
        """
        weights = weights_of(self.model)
        save_epoch(self.folder.training, weights, epoch=progress.epoch, keep=self.recipe.train.average_epochs)
        loss = self._use_better_of_average_and_last(weights)
        measured = {"valid_loss": round(loss, 5), **self.task.measure(self.model, loss)}
        row = progress.row(measured, rate=rate, unit=self.task.unit)
        quality = row[self.task.quality]
        if quality > self.best_saved:
            config = checkpoint_config(self.recipe, self.task, {self.task.quality: quality})
            self.folder.save_model(weights_of(self.model), config)
            self.best_saved = quality
        copy_weights(self.model, weights)
        return row

    def describe(self, row: Mapping[str, float], *, epoch: int) -> str:
        """One line for the screen."""
        name = self.task.quality.removeprefix("valid_")
        return f"epoch {epoch}: validation loss {row['valid_loss']:.3f}, {name} {row[self.task.quality]:.2f}"

    def _use_better_of_average_and_last(self, last_weights: Mapping[str, Tensor]) -> float:
        """The mean of the last epochs is the better model after training has settled, and the worse one before."""
        last = self.task.valid_loss(self.model.eval())
        if len(epoch_files(self.folder.training)) == 1:
            return last
        copy_weights(self.model, average_epochs(self.folder.training))
        averaged = self.task.valid_loss(self.model)
        if averaged > last:
            copy_weights(self.model, last_weights)
        return min(averaged, last)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """A copy of all parameters."""
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def checkpoint_config(recipe: Recipe, task: AnyTask, figures: Mapping[str, float]) -> CheckpointConfig:
    return CheckpointConfig(
        recipe=recipe.name,
        task=recipe.task,
        model=task.model_config,
        tokenizer=recipe.tokenizer,
        train=recipe.train,
        figures=figures,
    )
