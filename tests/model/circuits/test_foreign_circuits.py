"""The graph of other people's models, compared with a head that is patched in the model itself."""

from pathlib import Path

import numpy as np
import pytest
import torch

from model.analysis.patching import Comparison, Contrast
from model.circuits.attribution import patched_differences
from model.circuits.graph import graph_of
from model.circuits.wired import Wired
from model.inference.opening import AnyCheckpoint, open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute
from model.interventions import Head
from tools.foreign_families import family_named
from tools.small_models import make_family

PRE_NORM = ("GPT-2", "Llama", "T5")


def contrast_of(checkpoint: AnyCheckpoint) -> Contrast:
    """A text, the same text with another token at the third place, and the first two outcomes of the vocabulary."""
    run = compute(checkpoint, Run(text="The cat sat on the mat."))
    source, read = ([token.id for token in tokens] for tokens in (run.source, run.read))
    read = read[: (run.prompt_length or 2) + 1]
    donor = list(source or read)
    donor[2] += 1
    config = checkpoint.model.config
    return Contrast(
        position=max(0, len(read) - 1),
        own=(source, read),
        donor=(donor, read) if source else (source, donor),
        outcomes=(1, 0),
        names=("", ""),
        num_positions=dict.fromkeys(config.kinds, 1),
        same_length=True,
    )


@torch.inference_mode()
@pytest.mark.parametrize("title", [*PRE_NORM, "BART", "Marian", "BERT classifier"])
def test_patching_all_edges_of_a_head_is_patching_the_head(tmp_path: Path, title: str) -> None:
    checkpoint = open_checkpoint(make_family(tmp_path / "model", family_named(title)))
    model, found = checkpoint.model, contrast_of(checkpoint)
    pair, compared = Wired(model, graph_of(model), found), Comparison(model, found)
    own, donor = compared.own_difference, compared.donor_difference
    edges = pair.graph.edges
    whole = patched_differences(pair, np.array([[True], [False]]).repeat(len(edges), axis=1))
    np.testing.assert_allclose(whole, [own, donor], atol=1e-5)
    assert abs(donor - own) > 1e-4
    if title in PRE_NORM:  # a norm after a sum divides the part of a head by another deviation in the donor's run
        heads = [Head(kind, layer, 1) for kind in model.config.kinds for layer in range(model.config.num_layers(kind))]
        kept = np.array([[edge.sender.as_head != head for edge in edges] for head in heads])
        expected = [own + share * (donor - own) for share in compared.effects([(head, None) for head in heads])]
        np.testing.assert_allclose(patched_differences(pair, kept), expected, atol=1e-5)
        assert np.abs(np.array(expected) - own).max() > 1e-4
