"""How fast the app answers, in a real Chromium: cold start to the first translation, and Enter to the last picture.

    PYTHONPATH=. python benchmarks/page.py [--repeats 15]

Prints medians and 95th percentiles in milliseconds, the data that the server sent, the memory of the server, and the
machine. The clock runs in the page. It starts at the key press or click. It stops when the script has ended and the
last picture is drawn; then nothing changes for a quarter of a second, which is not counted. Every repeat has a new
sentence.
"""

import argparse
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS = ("A man", "A woman", "A small child", "An old lady", "A young boy", "Two girls", "Three people", "A worker")
REST = "in a blue jacket is walking along the beach with a large dog."  # 13 to 15 words with its subject

# Pictures are charts of Plotly, or in the shadow roots of our components. Texts are in the page.
WATCH = """() => {
    const seen = window.seenRoots ??= new WeakSet();
    const watch = root => {
        if (seen.has(root)) return;
        seen.add(root);
        new MutationObserver(changes => {
            if (changes.some(({ target }) => !target.closest?.('[data-testid=stStatusWidget], header')))
                window.lastDraw = performance.now();
        }).observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    };
    watch(document.querySelector('.stMainBlockContainer'));
    document.querySelectorAll('*').forEach(element => element.shadowRoot && watch(element.shadowRoot));
    if (window.clockSet) return;
    window.clockSet = true;
    const start = () => Object.assign(window, { started: performance.now(), lastDraw: null, ran: false });
    addEventListener('keydown', event => { if (event.key === 'Enter') start(); }, true);
    addEventListener('pointerdown', start, true);
}"""
READ = """() => new Promise((done, fail) => {
    setTimeout(() => fail(new Error('nothing was drawn in 20 seconds')), 20000);
    const check = () => {
        const running = document.querySelector('[data-test-script-state]').dataset.testScriptState !== 'notRunning';
        window.ran ||= running;
        const quiet = window.lastDraw && performance.now() - window.lastDraw > 250;
        if (!running && quiet) done(window.lastDraw - window.started); else setTimeout(check, 10);
    };
    check();
})"""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One page, the action of the i-th repeat, and the target of its median."""

    name: str
    path: str
    act: Callable[[Page, int], None]
    target: int  # milliseconds


def sentence(i: int) -> str:
    return f"{SUBJECTS[i % len(SUBJECTS)]} number {i} {REST}"


def type_into(label: str, keys: str = "Enter") -> Callable[[Page, int], None]:
    def act(page: Page, i: int) -> None:
        field = page.get_by_label(label)
        field.fill(sentence(i))
        page.wait_for_timeout(150)
        field.press(keys)

    return act


def open_tab(names: Sequence[str]) -> Callable[[Page, int], None]:
    return lambda page, i: page.get_by_role("tab", name=names[i % len(names)]).click()


TYPED = type_into("Type a sentence in English and press Enter")
REVIEWED = type_into("Type or paste a film review in English, and press Ctrl+Enter", "Control+Enter")
POSITIONS = open_tab(("Waves and counters", "Distances and rotation", "In a sentence", "The matrix"))
HEADS = open_tab(("What heads do", "Importance", "Ablation board"))
CHECKPOINTS = open_tab(("Training curves", "Parameters", "Configuration", "Model card"))
PAGES = (
    Subject(name="Translate", path="", act=TYPED, target=400),
    Subject(name="Translate, lines", path="?view=lines", act=TYPED, target=400),
    Subject(name="Step by step", path="steps", act=TYPED, target=1000),
    Subject(name="Step by step, beam tree", path="steps?steps_view=beam", act=TYPED, target=1000),
    Subject(name="Inside, one head", path="inside", act=TYPED, target=1000),
    Subject(name="Positional encoding, tabs", path="positions", act=POSITIONS, target=1000),
    Subject(name="Masks", path="masks", act=type_into("Sentence 1"), target=1000),
    Subject(name="Masks, bug lab", path="masks#lab", act=type_into("Sentence 1"), target=1000),
    Subject(name="Heads, ablation board", path="heads", act=TYPED, target=1000),
    Subject(name="Heads, tabs", path="heads#tabs", act=HEADS, target=1000),
    Subject(name="Sentiment", path="sentiment", act=REVIEWED, target=1000),
    Subject(name="Checkpoints, tabs", path="checkpoints", act=CHECKPOINTS, target=1000),
)


def memory_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def start_server() -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true"]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([*command, f"--server.port={port}"], cwd=ROOT, stdout=quiet, stderr=quiet)
    return server, f"http://localhost:{port}"


def open_when_up(page: Page, url: str) -> None:
    while True:
        try:
            page.goto(url)
            return
        except Exception:
            time.sleep(0.1)


def measure(page: Page, subject: Subject, repeats: int) -> tuple[list[float], float]:
    """Milliseconds of each repeat, sorted, and the mean kilobytes that the server sent for one."""
    received = [0]

    def listen(size: str | bytes) -> None:
        received[0] += len(size)

    page.on("websocket", lambda socket_: socket_.on("framereceived", listen))
    page.goto(subject.path)
    page.wait_for_selector("[data-test-script-state=notRunning]")
    page.wait_for_timeout(2500)
    if subject.path.endswith("#lab"):
        page.get_by_role("tab", name="Bug lab").click()
        page.wait_for_timeout(2500)
    times = []
    for i in range(repeats + 2):
        page.evaluate(WATCH)
        if i == 2:
            received[0] = 0
        subject.act(page, i)
        times.append(page.evaluate(READ))
        page.wait_for_timeout(150)
    return sorted(times[2:]), received[0] / repeats / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        started = time.perf_counter()
        server, url = start_server()
        context = browser.new_context(viewport={"width": 1280, "height": 800}, base_url=f"{url}/")
        try:
            page = context.new_page()
            open_when_up(page, url)
            page.wait_for_selector(".hl-text", timeout=60_000)
            first_translation = time.perf_counter() - started
            page.wait_for_selector("svg.map rect", timeout=60_000)
            first_picture = time.perf_counter() - started
            page.close()
            name = platform.processor() or platform.machine()
            print(f"machine: {name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
            print(f"cold start to first translation  {first_translation:6.1f} s")
            print(f"cold start to last picture       {first_picture:6.1f} s")
            print(f"{'Enter or click to last picture':32s} {'p50':>6} {'p95':>6} ms {'target':>7} {'received':>9} KB")
            for subject in PAGES:
                page = context.new_page()
                times, kilobytes = measure(page, subject, repeats)
                p95 = times[min(len(times) - 1, round(0.95 * (len(times) - 1)))]
                print(
                    f"{subject.name:32s} {statistics.median(times):6.0f} {p95:6.0f}    {subject.target:7d} "
                    f"{kilobytes:9.0f}",
                    flush=True,
                )
                page.close()
            print(f"memory of the server             {memory_megabytes(server.pid):6.0f} MB")
        finally:
            server.terminate()
        browser.close()


if __name__ == "__main__":
    main()
