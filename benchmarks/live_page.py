"""How fast a published page is, in a real Chromium: cold start, a new sentence, another head; its size and its memory.

    PYTHONPATH=. python benchmarks/live_page.py [--checkpoint everyday-en-de] [--repeats 15]

The cold start is measured with the processor slowed four times, from the request to the first translation on the
screen, without a cache. The clock of the other figures runs in the page, with the usual speed: it starts at the key or
the click and stops in the frame that shows the last picture.
"""

import argparse
import gzip
import json
import re
import statistics
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from headlight.command import main as command_line

CHROMIUM = "/usr/bin/chromium"
SITE = re.compile(r'<script type="application/json" id="site">([^<]*)<')
SENTENCES = ("The {} is sleeping in the garden.", "My {} reads a book today.")  # ten tokens or less
NOUNS = ("dog", "cat", "boy", "girl", "man", "woman", "child", "brother", "sister", "father", "mother", "friend")
READY = "() => document.documentElement.dataset.ready && document.querySelector('.page svg.map rect')"
TYPE = """(text) => new Promise((done) => {
    const field = document.querySelector('input[name=text]'), before = document.documentElement.dataset.ready;
    field.value = text;
    const started = performance.now();
    for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    const check = () => {
        const written = document.documentElement.dataset.ready !== before;
        if (written) requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)));
        else setTimeout(check);
    };
    check();
})"""
OPEN = """async (index) => {
    const ready = () => document.documentElement.dataset.ready, before = ready();
    const button = document.querySelectorAll('.sheet .over')[index], started = performance.now();
    button.click();
    while (ready() === before) await null;  // the page draws in the same turn
    document.querySelector('svg.map').getBoundingClientRect();  // styles and layout are a part of the frame
    return performance.now() - started;
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
        pass


def cold_start(chromium: Browser, address: str) -> float:
    """Milliseconds from the request to the first translation, with the processor slowed four times."""
    context = chromium.new_context(service_workers="block")
    page = context.new_page()
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(address)
    page.wait_for_function(READY)
    found: float = page.evaluate("() => performance.now()")
    context.close()
    return found


def memory_of(page: Page) -> float:
    """MB of JavaScript's heap of the page, after a garbage collection; the worker is not in it."""
    tools = page.context.new_cdp_session(page)
    tools.send("HeapProfiler.collectGarbage")
    return float(tools.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def figures(name: str, values: list[float]) -> str:
    ordered = sorted(values)
    return (
        f"{name:42} median {statistics.median(ordered):7.1f}   95 % {ordered[int(0.95 * (len(ordered) - 1))]:7.1f} ms"
    )


def measure(chromium: Browser, address: str, repeats: int) -> None:
    print(figures("cold start, processor slowed four times", [cold_start(chromium, address) for _ in range(5)]))
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    page.goto(address)
    page.wait_for_function(READY)
    texts = [sentence.format(noun) for noun in NOUNS for sentence in SENTENCES][: repeats + 3]
    typed = [float(page.evaluate(TYPE, text)) for text in texts][3:]
    print(figures("Enter to the last picture, ten tokens", typed))
    print(figures("click on another head", [float(page.evaluate(OPEN, i % 24)) for i in range(2 * repeats)]))
    print(f"heap of the page {memory_of(page):.0f} MB; heap with the buffers of all its parts: {whole_memory(page)}")


def whole_memory(page: Page) -> str:
    """The memory of the page and its workers as Chromium measures it, if it can here."""
    try:
        found = page.evaluate("async () => (await performance.measureUserAgentSpecificMemory()).bytes")
    except Exception:
        return "not known (it needs the headers of isolated pages)"
    return f"{found / 1e6:.0f} MB"


def code_in(path: Path) -> bytes:
    """The contents of a file of a site without the data in it, which are words and what is known of the checkpoints."""
    return re.sub(rb'<script type="application/json".*?</script>', b"", path.read_bytes(), flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", default="everyday-en-de")
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        site = Path(name) / "site"
        command_line(["publish", args.checkpoint, "--out", str(site)])
        code = {path.name: code_in(path) for path in site.iterdir() if path.suffix in (".js", ".css", ".html")}
        sizes = ", ".join(f"{name} {len(text) / 1e3:.1f}" for name, text in code.items())
        scripts = json.loads(SITE.findall((site / "index.html").read_text(encoding="utf-8"))[0])["scripts"]
        first = [text for name, text in code.items() if name not in scripts.values()]
        packed = sum(len(gzip.compress(text)) for text in first) / 1e3
        print(f"code at first: {sum(map(len, first)) / 1e3:.1f} kB, compressed {packed:.1f} kB (of all: {sizes})")
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            measure(chromium, f"http://127.0.0.1:{server.server_port}/", args.repeats)
            chromium.close()
        server.shutdown()


if __name__ == "__main__":
    main()
