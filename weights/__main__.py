"""Commands that made our corpora and checkpoints once: python -m weights vary | distill | label | tiny | …"""

import sys
from types import ModuleType

from model.cli.main import main as command_line
from weights.cli import backtranslate, distill, soft_labels, tiny, tiny_figures, vary

__all__ = ["main"]

COMMANDS: dict[str, ModuleType] = {
    "vary": vary,
    "distill": distill,
    "label": soft_labels,
    "backtranslate": backtranslate,
    "tiny": tiny,
    "tiny-figures": tiny_figures,
}


def main(argv: list[str] | None = None) -> int:
    return command_line(argv, program="python -m weights", about=__doc__, commands=COMMANDS)


if __name__ == "__main__":
    sys.exit(main())
