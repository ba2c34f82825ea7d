"""Compiles programs of Tracr (Lindner et al. 2023) and writes `tracr.json`: their heads and units, feature by feature.

Tracr needs other packages than Headlight, so this runs in an environment of its own:

    python3 -m venv tracr && tracr/bin/pip install tracr-pypi==1.0.0 jax dm-haiku
    tracr/bin/python tools/planted/tracr_programs.py
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from tracr.compiler import compiling, lib
from tracr.rasp import rasp

WORDS = ("black", "blue", "gold", "green", "red")
LENGTH = 5  # words of a text at most
PROGRAMS = {
    "tracr-reverse": lib.make_reverse(rasp.tokens),
    "tracr-hist": lib.make_hist(),
    "tracr-sort": lib.make_sort_unique(rasp.tokens, rasp.tokens),
}
OURS = {"tokens:bos": "word:</s>", "tokens": "word", "indices": "at"}  # Tracr's names of features → ours
PARTS = ("attn/query", "attn/key", "attn/value", "attn/linear", "mlp/linear_1", "mlp/linear_2")


def renamed(label: str) -> str:
    """Our name of a feature, without the numbers that Tracr adds to names."""
    space, _, value = label.partition(":")
    space = OURS.get(space, re.sub(r"_\d+(?=_|$)", "", space))
    return OURS.get(label) or (f"{space}:{value}" if value else space)


def entries(matrix: Any, labels: list[str]) -> list[list[Any]]:
    """The numbers of a matrix over features that are not 0: [feature, feature, number]."""
    return [[labels[i], labels[j], round(float(matrix[i, j]), 6)] for i, j in np.argwhere(np.abs(matrix) > 1e-6)]


def numbers(vector: Any, labels: list[str]) -> dict[str, float]:
    return {labels[i]: round(float(vector[i]), 6) for (i,) in np.argwhere(np.abs(vector) > 1e-6)}


def compiled(program: Any) -> dict[str, list[list[Any]]]:
    """The heads and units of a program. A head is [layer, looks, moves], and a unit [layer, reads, bias, writes]."""
    model = compiling.compile_rasp_to_model(program, vocab={*WORDS}, max_seq_len=LENGTH, compiler_bos="bos")
    labels = [renamed(label) for label in model.residual_labels]
    heads: list[list[Any]] = []
    units: list[list[Any]] = []
    for layer in range(model.model_config.num_layers):
        part = {name: model.params[f"transformer/layer_{layer}/{name}"] for name in PARTS}
        query, key, value, output = (np.array(part[name]["w"]) for name in PARTS[:4])
        assert not any(np.any(part[name]["b"]) for name in (*PARTS[:4], PARTS[5])), "a bias that is not 0"
        size = model.model_config.key_size
        for head in range(model.model_config.num_heads):
            cut = slice(head * size, (head + 1) * size)
            looks = entries(query[:, cut] @ key[:, cut].T / np.sqrt(size), labels)
            if moves := entries(value[:, cut] @ output[cut], labels):
                heads.append([layer, looks, moves])
        first, bias, last = part["mlp/linear_1"]["w"], part["mlp/linear_1"]["b"], part["mlp/linear_2"]["w"]
        for j, added in enumerate(bias):
            if writes := numbers(last[j], labels):
                units.append([layer, numbers(first[:, j], labels), float(added), writes])
    return {"heads": heads, "units": units}


if __name__ == "__main__":
    text = json.dumps({name: compiled(program) for name, program in PROGRAMS.items()})
    Path(__file__).with_name("tracr.json").write_text(f"{text}\n", encoding="utf-8")
