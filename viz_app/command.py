"""The command `headlight` of an installation (pyproject.toml): the app, or the command line."""

import sys

from streamlit.web import cli

from model import __version__
from model.__main__ import main as command_line
from model.places import HOME

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
    return int(cli.main(["run", str(HOME / "streamlit_app.py"), *given], prog_name="headlight") or 0)
