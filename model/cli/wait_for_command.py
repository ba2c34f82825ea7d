"""A process that has imported the program and waits for a command, so that a training run starts seconds sooner.

python -m model.cli.wait_for_command     # reads one line of JSON: the arguments, and the file for the output
"""

import json
import os
import sys
from contextlib import suppress

__all__ = ["wait_for_command"]


def wait_for_command() -> int:
    """Wait, then run the command. If the server ends first, no command comes, and the process ends too."""
    from model.cli import main as program

    with suppress(ImportError):  # the command itself says which packages are missing
        import model.training.train  # noqa: F401  # takes most of the time

    line = sys.stdin.readline()
    if not line:
        return 0
    command = json.loads(line)
    output = os.open(command["log"], os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    return program.main(command["arguments"])


if __name__ == "__main__":
    sys.exit(wait_for_command())
