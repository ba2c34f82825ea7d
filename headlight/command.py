"""The command `headlight` of an installation (pyproject.toml): the app, or the command line."""

import sys

from model import __version__
from model.cli.main import main as command_line
from model.config.paths import HOME
from viz_app.server.streamlit_bridge import start_app

__all__ = ["main"]

ABOUT = """See what every attention head of a Transformer looks at. Without a command, the app opens in a browser, with
options of Streamlit such as --server.port 8600. With a command, this is the command line."""


def main() -> int:
    """Do what `streamlit run streamlit_app.py` does, or `python -m model` where a command is given."""
    given = sys.argv[1:]
    if given == ["--version"]:
        print(f"Headlight {__version__}")
        return 0
    if given and (not given[0].startswith("--") or given[0] == "--help"):
        return command_line(given, program="headlight", about=ABOUT)
    # Streamlit reads the settings in the folder .streamlit beside the script.
    return start_app(str(HOME / "streamlit_app.py"), *given)
