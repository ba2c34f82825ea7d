"""Trains a recipe into a checkpoint folder.

Everything a run needs to go on lies in `<checkpoint>/training/` as one safetensors file, replaced as a whole at the end
of each epoch and when the run is stopped: a resumed run computes the same losses as one that was never stopped.
"""

import csv
import io
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from model.checkpoint import WEIGHTS, CheckpointConfig, save_weights, snapshot_path, write_beside, write_config
from model.config import ConfigError, Recipe
from model.data.batching import Batch, Batches
from model.data.corpora import read_pairs
from model.data.tokenizers import TokenizerPair, load_pair, train_pair
from model.data.vocab import PAD_ID
from model.evaluate import mean_loss, score
from model.loss import projected_cross_entropy
from model.run_state import Progress, average_epochs, copy_weights, load_state, save_epoch, save_state
from model.transformer import Transformer
from model.translate import translate_lines

__all__ = ["Trainer", "inverse_square_root", "pick_device", "train"]

COLUMNS = (
    "epoch",
    "step",
    "train_loss",
    "valid_loss",
    "valid_perplexity",
    "valid_bleu",
    "learning_rate",
    "tokens_per_second",
    "seconds",
)


def pick_device(name: str) -> torch.device:
    """`auto` takes the fastest there is.

    Raises:
        ConfigError: this machine has no such device.
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if there["cuda"] else "mps" if there["mps"] else "cpu")
    if not there.get(name):
        raise ConfigError(f"This machine has no {name}; use --device auto or --device cpu.")
    return torch.device(name)


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
        report: Callable[[str], None] = print,
    ) -> None:
        self.recipe, self.out, self.device, self.report = recipe, out, device, report
        self.config, self.state_folder = recipe.train, out / "training"
        self.stop_requested = False
        if resume and not self.state_file.is_file():
            raise ConfigError(f"There is no run to resume in {out}; leave out --resume.")
        if not resume and self.state_file.is_file():
            raise ConfigError(f"{out} holds a run already: continue it with --resume, or choose another --out.")
        if not resume and (out / WEIGHTS).is_file():
            raise ConfigError(f"{out} holds a trained checkpoint already; choose another --out.")
        languages = (recipe.tokenizer.source_language, recipe.tokenizer.target_language)
        train_pairs = read_pairs(data_root, self.config.corpus, "train", *languages)
        self.valid_pairs = read_pairs(data_root, self.config.corpus, "val", *languages)
        self.state_folder.mkdir(parents=True, exist_ok=True)
        self.tokenizers = self._tokenizers(train_pairs, resume)
        self.model_config = recipe.model_config(
            source_vocab_size=self.tokenizers.source.size, target_vocab_size=self.tokenizers.target.size
        )
        torch.manual_seed(self.config.seed)
        self.model = Transformer(self.model_config, pad_id=PAD_ID).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=self.config.learning_rate,
            betas=(self.config.adam_beta1, self.config.adam_beta2),
            eps=1e-9,
            fused=device.type in ("cpu", "cuda"),
        )
        self.progress = Progress()
        self.train_batches = self._batches(train_pairs, bpe_dropout=self.config.bpe_dropout)
        self.valid_batches = self._batches(self.valid_pairs)
        if self.train_batches.left_out:
            report(f"{self.train_batches.left_out} pairs are longer than max_length and are left out.")
        if resume:
            self.progress = load_state(self.state_file, self.model, self.optimizer)
        write_config(out, self._checkpoint_config())

    @property
    def state_file(self) -> Path:
        return self.state_folder / "state.safetensors"

    def run(self) -> None:
        """Train until the epochs or steps are used up, validation stops improving, or a stop is requested."""
        progress, config = self.progress, self.config
        bar = tqdm(initial=progress.step, total=self._steps_expected(), unit="step", smoothing=0.05)
        with bar, stop_on_signal(self):
            self._keep_snapshot()
            while not self._over():
                for batch in self._remaining_batches():
                    self._train_on(batch, bar)
                    self._keep_snapshot()
                    if self.stop_requested or progress.step >= config.max_steps:
                        break
                else:
                    self._end_epoch()
                if self.stop_requested:
                    break
        self._save_state()
        if not progress.history:
            self._save_model()
        if config.snapshot_steps and not self.stop_requested:
            save_weights(snapshot_path(self.out, progress.step), self._weights())
        self.report(f"{'Stopped' if self.stop_requested else 'Finished'} at step {progress.step}: {self.out}")

    def _over(self) -> bool:
        progress, config = self.progress, self.config
        return (
            progress.epoch > config.max_epochs
            or progress.step >= config.max_steps
            or progress.stale_epochs >= config.patience
        )

    def _steps_expected(self) -> int:
        per_epoch = self.train_batches.count(seed=self.config.seed, number=1)
        return min(per_epoch * self.config.max_epochs, self.config.max_steps)

    def _remaining_batches(self) -> Iterator[Batch]:
        batches = self.train_batches.epoch(seed=self.config.seed, number=self.progress.epoch)
        for _ in range(self.progress.batches_done):
            next(batches)
        return batches

    def _train_on(self, batch: Batch, bar: "tqdm[Any]") -> None:
        progress, config = self.progress, self.config
        started = time.perf_counter()
        progress.step += 1
        rate = inverse_square_root(progress.step, peak=config.learning_rate, warmup_steps=config.warmup_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.model.train()
        tokens = batch.target_tokens
        loss = self._loss(batch)
        self.optimizer.zero_grad(set_to_none=True)
        (loss / tokens).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        self.optimizer.step()
        taken = time.perf_counter() - started
        progress.batches_done += 1
        progress.epoch_loss += loss.item()
        progress.epoch_tokens += tokens
        progress.epoch_seconds += taken
        progress.seconds += taken
        bar.update()
        bar.set_postfix(
            epoch=progress.epoch,
            loss=f"{progress.epoch_loss / progress.epoch_tokens:.3f}",
            tok_s=f"{progress.epoch_tokens / progress.epoch_seconds:,.0f}",
            refresh=False,
        )

    def _loss(self, batch: Batch) -> Tensor:
        labels = batch.target[:, 1:]  # (B, T)
        kept = labels != PAD_ID
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
            memory, cross_mask = self.model.encode(batch.source)
            states = self.model.decode(batch.target[:, :-1], memory, cross_mask)  # (B, T, D)
            # Padding is left out before the largest matrix product, not after it.
            weight = self.model.output_projection.weight
            return projected_cross_entropy(states[kept], weight, labels[kept], self.config.label_smoothing)

    def _keep_snapshot(self) -> None:
        if self.progress.step in self.config.snapshot_steps:
            save_weights(snapshot_path(self.out, self.progress.step), self._weights())

    def _end_epoch(self) -> None:
        progress = self.progress
        weights = self._weights()
        save_epoch(self.state_folder, weights, epoch=progress.epoch, keep=self.config.average_epochs)
        loss = self._use_better_of_average_and_last()
        bleu = self._valid_bleu()
        progress.stale_epochs = 0 if bleu > progress.best_bleu else progress.stale_epochs + 1
        progress.history.append(self._history_row(loss=loss, bleu=bleu))
        if bleu > progress.best_bleu:
            progress.best_bleu = bleu
            self._save_model()
        copy_weights(self.model, weights)
        self.report(f"epoch {progress.epoch}: validation loss {loss:.3f}, BLEU {bleu:.2f}")
        progress.epoch += 1
        progress.batches_done, progress.epoch_loss = 0, 0.0
        progress.epoch_tokens, progress.epoch_seconds = 0, 0.0
        self._save_state()

    def _weights(self) -> dict[str, Tensor]:
        return {name: p.detach().clone() for name, p in self.model.named_parameters()}

    def _use_better_of_average_and_last(self) -> float:
        """The mean of the last epochs is the better model once training has settled, and the worse one before."""
        last_weights, last = self._weights(), self._valid_loss()
        copy_weights(self.model, average_epochs(self.state_folder))
        averaged = self._valid_loss()
        if averaged > last:
            copy_weights(self.model, last_weights)
        return min(averaged, last)

    def _valid_loss(self) -> float:
        return mean_loss(self.model.eval(), self.valid_batches.in_order())

    def _valid_bleu(self) -> float:
        sources, references = zip(*self.valid_pairs, strict=True)
        hypotheses = translate_lines(self.model.eval(), self.tokenizers, sources)
        scores = score(hypotheses, references, loss=0.0, language=self.recipe.tokenizer.target_language)
        return scores.bleu_lowercased if self.recipe.tokenizer.lowercase else scores.bleu

    def _history_row(self, *, loss: float, bleu: float) -> dict[str, float]:
        progress = self.progress
        values = (
            progress.epoch,
            progress.step,
            round(progress.epoch_loss / progress.epoch_tokens, 5),
            round(loss, 5),
            round(math.exp(loss), 4),
            round(bleu, 3),
            round(self.optimizer.param_groups[0]["lr"], 8),
            round(progress.epoch_tokens / progress.epoch_seconds),
            round(progress.seconds, 1),
        )
        return dict(zip(COLUMNS, values, strict=True))

    def _save_model(self) -> None:
        save_weights(self.out / WEIGHTS, dict(self.model.named_parameters()))
        write_config(self.out, self._checkpoint_config())

    def _checkpoint_config(self) -> CheckpointConfig:
        best = max((row["valid_bleu"] for row in self.progress.history), default=None)
        return CheckpointConfig(
            recipe=self.recipe.name,
            model=self.model_config,
            tokenizer=self.recipe.tokenizer,
            train=self.config,
            figures={} if best is None else {"valid_bleu": best},
        )

    def _tokenizers(self, pairs: list[tuple[str, str]], resume: bool) -> TokenizerPair:
        if resume:
            return load_pair(self.recipe.tokenizer, self.out)
        tokenizers = train_pair(self.recipe.tokenizer, pairs)
        for name, content in tokenizers.files().items():
            write_beside(self.out / name, content)
        return tokenizers

    def _batches(self, pairs: list[tuple[str, str]], *, bpe_dropout: float = 0.0) -> Batches:
        return Batches(
            pairs,
            self.tokenizers,
            batch_tokens=self.config.batch_tokens,
            max_length=self.model_config.max_length,
            bpe_dropout=bpe_dropout,
            device=self.device,
        )

    def _save_state(self) -> None:
        save_state(self.state_file, self.model, self.optimizer, self.progress)
        self._write_history()

    def _write_history(self) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.progress.history)
        write_beside(self.out / "history.csv", text.getvalue())


@contextmanager
def stop_on_signal(trainer: Trainer) -> Iterator[None]:
    """Ctrl-C and SIGTERM ask the run to save and end after its current step."""

    def request_stop(_number: int, _frame: object) -> None:
        trainer.stop_requested = True

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, request_stop) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def train(recipe: Recipe, *, data_root: Path, out: Path, device: str = "auto", resume: bool = False) -> None:
    """Train `recipe` into the folder `out`.

    Raises:
        ConfigError: the recipe, the device or the folder cannot be used.
        CorpusError: the corpus cannot be read.
    """
    Trainer(recipe=recipe, data_root=data_root, out=out, device=pick_device(device), resume=resume).run()
