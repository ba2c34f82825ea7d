"""The rules of a model, applied to the rows of a batch: each row obeys the rules for its own source."""

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor

from model.config.section import ConfigError
from model.text.vocab import TextRules

__all__ = ["RuledRows"]


class RuledRows:
    """What each row of a search has written, and the rules that it obeys."""

    def __init__(self, rules: Sequence[TextRules]) -> None:
        """Start with one row for each source.

        Args:
            rules: Of each source.
        """
        self.rules = rules
        self.sources = list(range(len(rules)))  # the source of each row
        self.written = torch.empty(len(rules), 0, dtype=torch.long)  # (R, T)

    def append(self, tokens: Sequence[int], device: torch.device) -> None:
        """Add the token that each row reads next."""
        newest = torch.tensor(tokens, device=device)[:, None]
        self.written = torch.cat([self.written.to(device), newest], dim=1)

    def select(self, rows: Sequence[int], index: Tensor) -> None:
        """Take these rows for the next pass; `index` is the same as a tensor."""
        self.sources = [self.sources[row] for row in rows]
        self.written = self.written[index]

    def scores(self, scores: Tensor, banned: Tensor) -> Tensor:
        """The scores (R, V) after the rules, and without the banned tokens.

        Raises:
            ConfigError: no token is left.
        """
        parts, first = [], 0
        for source, rows in groupby(self.sources):  # the rows of a source are neighbours
            part = slice(first, first + len(list(rows)))
            parts.append(self.rules[source](self.written[part], scores[part]))
            first = part.stop
        changed = torch.cat(parts).index_fill(1, banned, float("-inf"))
        if bool((changed.amax(dim=1) == float("-inf")).any()):
            raise ConfigError(
                "The generation settings of this model allow no token after {n} tokens. Change generation_config.json.",
                n=self.written.size(1),
            )
        return changed
