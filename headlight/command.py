"""The command `headlight` of an installation (pyproject.toml): the app, or the command line."""

import sys

from model import __version__
from model.cli.main import main as command_line
from model.config.paths import HOME
from viz_app.server.streamlit_bridge import start_app

__all__ = ["main"]

ABOUT = """See what every attention head of a Transformer attends to. Without a command, the app opens in a browser.
Options such as --server.port 8600 then go to Streamlit."""


def main() -> int:
    """Do the same as `streamlit run streamlit_app.py`, or with a command the same as `python -m model`."""
    given = sys.argv[1:]
    if given == ["--version"]:
        print(f"Headlight {__version__}")
        return 0
    if given and (not given[0].startswith("--") or given[0] == "--help"):
        return command_line(given, program="headlight", about=ABOUT)
    # Streamlit reads its settings from the folder .streamlit next to the script.
    return start_app(str(HOME / "streamlit_app.py"), *given)
