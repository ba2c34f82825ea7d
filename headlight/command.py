"""The command `headlight` of an installation (pyproject.toml): the app, or the command line."""

import sys

from headlight.attention import attention
from headlight.publish import publish
from model import __version__
from model.cli.main import COMMANDS
from model.cli.main import main as command_line
from model.config.paths import HOME
from viz_app.server.streamlit_bridge import start_app

__all__ = ["main"]

ABOUT = """See what every attention head of a Transformer attends to. Without a command, the app opens in a browser.
Options such as --server.port 8600 then go to Streamlit."""


def main(argv: list[str] | None = None) -> int:
    """Do the same as `streamlit run streamlit_app.py`, or run a command: those of `python -m model` and `publish`."""
    given = sys.argv[1:] if argv is None else argv
    if given == ["--version"]:
        print(f"Headlight {__version__}")
        return 0
    if given and (not given[0].startswith("--") or given[0] == "--help"):
        commands = {**COMMANDS, "attention": attention, "publish": publish}
        return command_line(given, program="headlight", about=ABOUT, commands=commands)
    # Streamlit reads its settings from the folder .streamlit next to the script.
    return start_app(str(HOME / "streamlit_app.py"), *given)
