"""Headlight in a program or a notebook: checkpoints and translations that display themselves.

    import headlight
    headlight.open_checkpoint("everyday-en-de").translate("Where is the station?")

Everything in `model` is here too. The command `headlight` is in `command.py`.
"""

from headlight.notebook import OpenCheckpoint, ShownTranslation, open_checkpoint
from model import *  # noqa: F403 - one list of names, in `model`
from model import __all__ as _names
from model import __getattr__ as __getattr__  # hands out names of earlier versions, with a warning
from model import __version__

__all__ = ["OpenCheckpoint", "ShownTranslation", "__version__", "open_checkpoint"]
__all__ += _names
