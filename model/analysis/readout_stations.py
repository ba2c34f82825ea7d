"""From the last stream to a prediction: the final norm, the pooling of a classifier, the head, and the best tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.lens import logits_of
from model.analysis.source_code import CodeLine
from model.analysis.station import (
    Followed,
    Station,
    Step,
    apply,
    code_lines,
    format_length,
    norm_formula,
    norm_step,
    to_float32,
)
from model.analysis.streams import FloatArray, linearize, pooling_map, recorded
from model.inference.outcomes import Outcome
from model.messages import N_
from model.network.residual_stream import Activation, Matrix, Norm, ReadoutStep, Stack
from model.text.encoding import Tokenizer

__all__ = ["Prediction", "predict", "readout_stations"]

NUM_BEST = 10  # words


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The last step of a model: from a vector to a word or a label."""

    words: tuple[tuple[str, float, float], ...]  # the best ones as (token or label, logit, probability), best first
    difference: float  # the largest difference of their probabilities from the model's own
    formula: str  # LaTeX
    code: tuple[tuple[CodeLine, ...], ...]  # the functions that compute it


def readout_stations(text: Followed, stack: Stack, position: int) -> list[Station]:
    """The final norm, the pooling and the head of a model, for one position of the last stream."""
    path, x = [], text.at(stack.streams[-1], position)
    if stack.final_norm is not None:
        normed = apply(stack.final_norm, x)
        path.append(final_norm_station(text, stack, position, x, normed))
        x = normed
    if stack.pooling not in ("none", "late"):
        x = pooled(text, stack)
        path.append(pooling_station(stack, x))
    last = max((i for i, step in enumerate(stack.readout) if isinstance(step, Matrix)), default=0)
    if last:
        path.append(head_station(stack.readout[:last], x))
    return path


def final_norm_station(text: Followed, stack: Stack, position: int, x: FloatArray, normed: FloatArray) -> Station:
    """The norm of the last stream."""
    assert stack.final_norm is not None
    return Station(
        name=N_("Final norm"),
        formula=rf"x \leftarrow {norm_formula(stack.final_norm, 'x')}",
        vector=to_float32(normed),
        difference=text.difference(f"{stack.name}.states", position, normed),
        steps=(norm_step(N_("final norm"), stack.final_norm, x, normed),),
    )


def pooled(text: Followed, stack: Stack) -> FloatArray:
    """The vector that a classifier reads, (D,), with the pooling of the run."""
    last = recorded(text.recording, stack.streams[-1])
    states = linearize(stack.final_norm, last).whole(last)
    return np.asarray(pooling_map(stack, text.recording, len(states)).whole(states).numpy())


def pooling_station(stack: Stack, vector: FloatArray) -> Station:
    """How the states of all positions become one vector. `predict` compares what follows with the model."""
    formulas = {
        "first": r"p = x_1",
        "mean": r"p = \tfrac{1}{n}\sum_i x_i",
        "attention": r"p = \left[\sum_i \alpha_{hi}\, x_i W_V\right]_h W_O + b",
    }
    texts = {"first": "x₁", "mean": N_("mean of all x"), "attention": N_("sum of α x W_V, then W_O")}
    step = Step(
        name=N_("pooling"),
        formula=texts[stack.pooling],
        numbers=to_float32(vector)[None],
        facts=((N_("length"), format_length(vector)),),
    )
    return Station(
        name=N_("Pooling"),
        formula=formulas[stack.pooling],
        vector=to_float32(vector),
        difference=0.0,
        steps=(step,),
    )


def head_station(readout: Sequence[ReadoutStep], x: FloatArray) -> Station:
    """The steps between the last state and the last matrix (BERT)."""
    steps, formula = [], "x"
    for step in readout:
        output = apply(step, x)
        if isinstance(step, Norm):
            steps.append(norm_step(N_("head norm"), step, x, output))
            formula = rf"\mathrm{{norm}}({formula})"
        else:
            name, text = (N_("head matrix"), "x W + b") if isinstance(step, Matrix) else (N_("head activation"), "f(x)")
            steps.append(Step(name=name, formula=text, numbers=to_float32(output)[None]))
            formula = rf"({formula} W + b)" if isinstance(step, Matrix) else rf"f({formula})"
        x = output
    return Station(
        name=N_("Prediction head"),
        formula=rf"x \leftarrow {formula}",
        vector=to_float32(x),
        difference=0.0,
        steps=tuple(steps),
    )


@torch.inference_mode()
def predict(text: Followed, tokenizer: Tokenizer, outcome: Outcome) -> Prediction:
    """The ten most probable tokens, or all labels, after the last stream.

    Args:
        text: The recorded text.
        tokenizer: Of the tokens that the model predicts.
        outcome: What the model predicted.
    """
    stack = text.model.stack(outcome.stack)
    states = torch.tensor(text.recording.array(stack.streams[-1]))
    logits = logits_of(stack, states, [outcome])[0].cpu().numpy()  # (V,) or (C,)
    probabilities = 1 / (1 + np.exp(-logits)) if outcome.several else softmax(logits)
    best = np.argsort(-logits)[: NUM_BEST if outcome.position is not None else None].tolist()
    return Prediction(
        words=tuple(
            (name, float(logits[i]), float(probabilities[i]))
            for name, i in zip(outcome.names(tokenizer, best), best, strict=True)
        ),
        difference=max(abs(float(probabilities[one.id]) - one.probability) for one in outcome.candidates),
        formula=readout_formula(stack, "sigmoid" if outcome.several else "softmax"),
        code=code_lines(stack.readout_code),
    )


def readout_formula(stack: Stack, function: str) -> str:
    """The last step in LaTeX."""
    matrix = next(step for step in reversed(stack.readout) if isinstance(step, Matrix))
    logits = "W x" if matrix.bias is None else "W x + b"
    capped = isinstance(stack.readout[-1], Activation)
    return rf"p = \mathrm{{{function}}}(" + (f"f({logits})" if capped else logits) + ")"


def softmax(logits: NDArray[np.float32]) -> FloatArray:
    """Probabilities from logits, (V,)."""
    exponentials = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(exponentials / exponentials.sum())
