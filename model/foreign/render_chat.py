"""A process of its own that renders a chat template: a template may ask for unlimited time and memory.

It reads JSON with `template`, `text`, `tokens` and `most_added` from the standard input, and writes the rendered chat,
or why there is none, as JSON. A chat that is too long stays here: the process that reads it has no limit of its memory.
`model/foreign/chat_template.py` runs it.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template

MEMORY, SECONDS = 512 << 20, 2  # for the template alone


def limit_this_process() -> None:
    """Limit the memory and the time of the processor, where the system can do this (not on Windows)."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (in_use() + MEMORY,) * 2)
        resource.setrlimit(
            resource.RLIMIT_CPU, (SECONDS + 1 + int(resource.getrusage(resource.RUSAGE_SELF).ru_utime),) * 2
        )


def in_use() -> int:
    """Bytes of the address space of this process."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * 4096
    except OSError:  # another system than Linux
        return 4 << 30


def render(request: Mapping[str, Any]) -> dict[str, str]:
    """The rendered chat of one user message, as `{"text": …}`, or why there is none: `refused` or `error`."""
    tokens: dict[str, Any] = dict(request["tokens"])
    try:
        found: Any = render_jinja_template(
            conversations=[[{"role": "user", "content": request["text"]}]],
            chat_template=request["template"],
            add_generation_prompt=True,
            **tokens,
        )
    except MemoryError:
        return {"refused": "memory"}
    except BaseException as error:  # a template may fail in any way
        return {"error": (str(error).strip() or type(error).__name__).splitlines()[0][:300]}
    return checked(found[0][0], request)


def checked(rendered: str, request: Mapping[str, Any]) -> dict[str, str]:
    """A rendered chat if a tokenizer can read it, otherwise why not, as `refused`."""
    added, most = len(rendered) - len(request["text"]), request["most_added"]
    if added > most:
        return {"refused": "long", "added": f"{added:,}"}
    if any("\ud800" <= character <= "\udfff" for character in rendered):
        return {"refused": "half"}
    return {"text": rendered}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    limit_this_process()
    json.dump(render(asked), sys.stdout)
