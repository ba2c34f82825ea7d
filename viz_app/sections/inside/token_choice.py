"""The token and the layer that are followed, chosen above the pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from model.network.protocols import Sizes
from viz_app.content.translation import N_, t
from viz_app.session.choices import settle

__all__ = ["TokenInLayer", "ask_for_token"]

STACKS = {"encoder": N_("Encoder"), "decoder": N_("Decoder")}


@dataclass(frozen=True, kw_only=True)
class TokenInLayer:
    """The token and the layer to follow."""

    stack: str  # one of `STACKS`
    layer: int  # from 0
    position: int  # from 0
    token: str
    with_code: bool  # also show the code and the numbers of every step

    @property
    def title(self) -> str:
        return t("{stack}, layer {n}, “{token}”", stack=t(STACKS[self.stack]), n=self.layer + 1, token=self.token)


def ask_for_token(tokens: Mapping[str, Sequence[str]], sizes: Sizes) -> TokenInLayer:
    """Ask for the stack, the layer, the token, and whether code is shown.

    Args:
        tokens: Stack → the tokens that it reads.
        sizes: Of the model.
    """
    stacks, layers, places, switch = st.columns([2, 1.4, 2.4, 2], vertical_alignment="bottom")
    offered = [stack for stack in STACKS if sizes.num_layers(stack)]
    settle("stack", offered[-1], offered)
    with stacks:
        stack = st.segmented_control(
            t("Stack"), offered, format_func=lambda one: t(STACKS[one]), required=True, key="stack"
        )
    stack = stack or offered[-1]
    layer_numbers = list(range(1, sizes.num_layers(stack) + 1))
    settle("station_layer", layer_numbers[-1], layer_numbers)
    layer = layers.selectbox(t("Layer"), layer_numbers, key="station_layer")
    read = tokens[stack]
    positions = list(range(1, len(read) + 1))
    settle("station_place", min(2, positions[-1]), positions)
    position = places.selectbox(
        t("Token that is read"),
        positions,
        format_func=["", *(f"{i} · {token}" for i, token in enumerate(read, start=1))].__getitem__,
        key="station_place",
    )
    settle("station_code", False)
    with_code = switch.toggle(
        t("Code and numbers"),
        key="station_code",
        help=t("Show the code of each step and the numbers that it computes."),
    )
    return TokenInLayer(
        stack=stack, layer=layer - 1, position=position - 1, token=read[position - 1], with_code=with_code
    )
