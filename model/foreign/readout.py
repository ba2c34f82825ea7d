"""The norms, the matrices and the way to the logits of Hugging Face's `transformers`, described.

The library has about fifty classes of norms: LayerNorm and RMSNorm, with weights, with 1 + weights (Gemma) or without
weights (OLMo). A norm is described by measurement: the description that computes the same numbers is the right one.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.config.section import ConfigError
from model.foreign.blocks import submodule
from model.network.residual_stream import Activation, Matrix, Norm, ReadoutStep

__all__ = ["describe_matrix", "describe_norm", "readout_of"]

EPSILONS = ("eps", "variance_epsilon", "epsilon", "norm_eps")
DEFAULT_EPSILON = 1e-5  # of a norm that does not store it (OLMo)
NORM_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}  # relative
NORM_HALF = 2e-2  # half precision has only three digits
Part = str | Callable[[Tensor], Tensor]  # the path of a module, or a function that the library calls

# From the last state to the logits. The first list whose modules all exist is used. `*` is the base model (bert).
FILLING: tuple[tuple[Part, ...], ...] = (
    *(
        (
            "cls.predictions.transform.dense",
            "cls.predictions.transform.transform_act_fn",
            f"cls.predictions.transform.{norm}",
            "cls.predictions.decoder",
        )
        for norm in ("LayerNorm", "layer_norm")
    ),  # BERT, ERNIE, Nomic
    # RemBERT
    (
        "cls.predictions.dense",
        "cls.predictions.activation",
        "cls.predictions.LayerNorm",
        "cls.predictions.decoder",
    ),
    ("lm_head.dense", F.gelu, "lm_head.layer_norm", "lm_head.decoder"),  # RoBERTa, XLM-R, CamemBERT, ESM
    ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),  # DistilBERT
    (
        "generator_predictions.dense",
        "generator_predictions.activation",
        "generator_predictions.LayerNorm",
        "generator_lm_head",
    ),  # ELECTRA
    ("head.dense", "head.act", "head.norm", "decoder"),  # ModernBERT
)
CLASSIFYING: tuple[tuple[Part, ...], ...] = (
    ("*.pooler.dense", "*.pooler.activation", "classifier"),  # BERT, ERNIE, LayoutLM
    ("classifier.dense", "classifier.activation", "classifier.out_proj"),  # ELECTRA
    ("classifier.dense", torch.tanh, "classifier.out_proj"),  # RoBERTa, XLM-R, CamemBERT, ESM
    ("pooler.dense", F.gelu, "classifier"),  # DeBERTa
    ("pre_classifier", F.relu, "classifier"),  # DistilBERT
    ("head.dense", "head.act", "head.norm", "classifier"),  # ModernBERT
    ("dense", "activation", "classifier"),  # EuroBERT
)

SCALED_IF_TIED = ("umt5", "switch_transformers")


@torch.no_grad()
def describe_norm(module: nn.Module | None, width: int) -> Norm | None:
    """The description of a norm of the library; None for an identity or None.

    Args:
        module: The norm.
        width: Of the vectors that it reads.

    Raises:
        ConfigError: it computes something else than a LayerNorm or an RMSNorm.
    """
    if module is None or isinstance(module, nn.Identity):
        return None
    weight = getattr(module, "weight", None)
    like = weight if isinstance(weight, Tensor) else next(iter(module.parameters()), torch.zeros(()))
    # The small vectors show the effect of ε, the shifted ones whether the mean is subtracted.
    sizes = torch.tensor([1e-3, 1.0, 30.0])[:, None]
    x = torch.randn(3, width, generator=torch.Generator().manual_seed(0)) * sizes + sizes / 2
    x = x.to(like)
    # `forward` and not a call: a visitor's trace must not record this.
    expected = module.forward(x).float()
    tolerance = NORM_TOLERANCE.get(x.dtype, NORM_HALF)
    for norm in candidates(module, width, like):
        if torch.allclose(norm(x.float()), expected, rtol=tolerance, atol=tolerance * float(expected.abs().max())):
            return norm
    raise ConfigError("{module} is neither a LayerNorm nor an RMSNorm", module=type(module).__name__)


def candidates(module: nn.Module, width: int, like: Tensor) -> Iterator[Norm]:
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    ones = torch.ones(width).to(like)
    scales = [weight.detach(), 1 + weight.detach()] if isinstance(weight, Tensor) else [ones]
    shift = bias.detach() if isinstance(bias, Tensor) else torch.zeros_like(ones)
    stored = (getattr(module, name, None) for name in EPSILONS)
    epsilon = next((float(value) for value in stored if isinstance(value, float)), DEFAULT_EPSILON)
    for scale in scales:
        for centred in (True, False):
            yield Norm(scale=scale, shift=shift, epsilon=epsilon, centred=centred)
        yield Norm(scale=scale, shift=shift, epsilon=epsilon, sample=True)


def describe_matrix(module: nn.Module) -> Matrix:
    """The description of an `nn.Linear` or of GPT-2's `Conv1D`, which stores the transpose."""
    weight, bias = module.weight, module.bias
    assert isinstance(weight, Tensor)
    return Matrix(
        weight=weight.detach() if isinstance(module, nn.Linear) else weight.detach().T,
        bias=bias.detach() if isinstance(bias, Tensor) else None,
    )


def readout_of(model: PreTrainedModel) -> tuple[ReadoutStep, ...]:
    """The steps after the final norm, and after the pooling of a classifier. Empty for a model without a head.

    Raises:
        ConfigError: the head is not known.
    """
    head = model.get_output_embeddings()
    classifies = getattr(model, "classifier", None) is not None
    for parts in CLASSIFYING if classifies else FILLING:
        if steps := steps_of(model, parts):
            return steps
    if isinstance(head, nn.Linear) and not classifies:
        return (*before_head(model), with_bias(model, describe_matrix(head)), *after_head(model))
    if head is None and not classifies:
        return ()
    raise ConfigError("the way from its last state to its logits is not known")


def steps_of(model: PreTrainedModel, parts: Sequence[Part]) -> tuple[ReadoutStep, ...]:
    """The steps of a list of parts; none if a module does not exist."""
    modules = [
        submodule(model, part.replace("*", model.base_model_prefix)) if isinstance(part, str) else part
        for part in parts
    ]
    steps: list[ReadoutStep] = []
    width = int(model.config.hidden_size)
    for module in modules:
        if module is None:
            return ()
        steps.append(step_of(module, width))
        width = int(module.out_features) if isinstance(module, nn.Linear) else width
    if isinstance(bias := getattr(submodule(model, "lm_head"), "bias", None), Tensor):  # ESM adds it to its decoder
        last = steps[-1]
        assert isinstance(last, Matrix)
        steps[-1] = last if last.bias is not None else Matrix(weight=last.weight, bias=bias.detach())
    return tuple(steps)


def step_of(module: nn.Module | Callable[[Tensor], Tensor], width: int) -> ReadoutStep:
    if isinstance(module, nn.Linear):
        return describe_matrix(module)
    if isinstance(module, nn.Module) and next(module.parameters(), None) is not None:
        norm = describe_norm(module, width)
        assert norm is not None
        return norm
    return Activation(function=module)


def with_bias(model: PreTrainedModel, matrix: Matrix) -> Matrix:
    """The output matrix with the bias that Marian and BART keep beside it."""
    beside = getattr(model, "final_logits_bias", None)
    if not isinstance(beside, Tensor):
        return matrix
    return Matrix(weight=matrix.weight, bias=beside[0] if matrix.bias is None else matrix.bias + beside[0])


def before_head(model: PreTrainedModel) -> Iterator[ReadoutStep]:
    config = model.config
    # T5, and the models made from it that multiply the last state if the embeddings are tied
    if getattr(config, "scale_decoder_outputs", config.tie_word_embeddings and config.model_type in SCALED_IF_TIED):
        yield times(config.d_model**-0.5)
    for path in ("project_out", "decoder.project_out"):  # OPT with narrow embeddings
        if isinstance(project := submodule(model.base_model, path), nn.Linear):
            yield describe_matrix(project)


def after_head(model: PreTrainedModel) -> Iterator[ReadoutStep]:
    config = model.config
    if scaling := getattr(config, "logits_scaling", None):  # Granite divides
        yield times(1 / float(scaling))
    if scale := getattr(config, "logit_scale", None):  # Cohere multiplies
        yield times(float(scale))
    if cap := getattr(config, "final_logit_softcapping", None):  # Gemma 2
        yield Activation(function=partial(capped, limit=float(cap)))


def times(factor: float) -> Activation:
    return Activation(function=partial(torch.mul, other=factor))


def capped(x: Tensor, *, limit: float) -> Tensor:
    return (x / limit).tanh() * limit
