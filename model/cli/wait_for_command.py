"""A process that has imported the program and waits for a command, so that a training starts seconds sooner.

python -m model.cli.wait_for_command     # reads one line of JSON: the arguments, and the file for the output
"""

import json
import os
import sys

__all__ = ["wait_for_command"]


def wait_for_command() -> int:
    """What the process does. Without a command, because the server ended, it just ends."""
    from model.cli import main as program

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
