"""How fast the app answers, in a real Chromium: cold start to the first translation, and Enter to the last picture.


    python benchmarks/page.py [--repeats 15]

Prints medians and 95th percentiles in milliseconds, the memory of the server, and the machine. The clock of the second
runs in the page: from the key press until the last heatmap has been drawn for the new sentence and nothing has changed
for a quarter of a second (which is not counted).
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
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS = ("A man", "A woman", "A small child", "An old lady", "A young boy", "Two girls", "Three people", "A worker")
REST = "in a blue jacket is walking along the beach with a large dog."  # 13 to 15 words with its subject

# From Enter until the labels of the head's map are those of the new sentence and nothing more is drawn.
WATCH = """() => {
    const plots = () => document.querySelectorAll('.js-plotly-plot');
    window.labels = () => plots()[1]?.data?.[0]?.x?.join('|');
    new MutationObserver(changes => {
        if (changes.some(change => change.target.closest?.('.js-plotly-plot'))) window.lastDraw = performance.now();
    }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    addEventListener('keydown', event => {
        if (event.key !== 'Enter') return;
        Object.assign(window, { started: performance.now(), lastDraw: null, before: labels() });
    }, true);
}"""
READ = """() => new Promise((done, fail) => {
    setTimeout(() => fail(new Error('nothing new was drawn in 20 seconds')), 20000);
    const check = () => {
        const now = labels(), fresh = now && now !== window.before;
        const quiet = window.lastDraw && performance.now() - window.lastDraw > 250;
        if (fresh && quiet) done(window.lastDraw - window.started); else setTimeout(check, 20);
    };
    check();
})"""


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        started = time.perf_counter()
        server, url = start_server()
        try:
            open_when_up(page, url)
            page.wait_for_selector(".hl-text", timeout=60_000)
            first_translation = time.perf_counter() - started
            page.wait_for_function("document.querySelectorAll('.js-plotly-plot .hm').length >= 2", timeout=60_000)
            first_picture = time.perf_counter() - started
            page.wait_for_timeout(1500)
            page.evaluate(WATCH)
            times = []
            for i in range(repeats + 2):
                field = page.get_by_label("Type a sentence in English and press Enter")
                field.fill(f"{SUBJECTS[i % len(SUBJECTS)]} number {i} {REST}")
                page.wait_for_timeout(150)
                field.press("Enter")
                times.append(page.evaluate(READ))
                page.wait_for_timeout(200)
            memory = memory_megabytes(server.pid)
        finally:
            server.terminate()
        browser.close()
    measured = sorted(times[2:])
    p95 = measured[min(len(measured) - 1, round(0.95 * (len(measured) - 1)))]
    print(
        f"machine: {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(f"cold start to first translation  {first_translation:6.1f} s")
    print(f"cold start to last picture       {first_picture:6.1f} s")
    print(f"Enter to last picture, p50       {statistics.median(measured):6.0f} ms")
    print(f"Enter to last picture, p95       {p95:6.0f} ms   of {len(measured)} new sentences")
    print(f"memory of the server             {memory:6.0f} MB")


if __name__ == "__main__":
    main()
