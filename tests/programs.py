"""Install the programs that tests use and pip does not have, where they are missing; `run.py test` calls it.

python -m tests.programs     # all of them as root on Debian, elsewhere Chromium from Playwright
"""

import functools
import os
import shutil
import subprocess
import sys

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIREFOX = ("firefox-esr", "firefox")
# One of these names, or else these packages of Debian.
PROGRAMS = (
    (BROWSERS, ("chromium-headless-shell", "fonts-noto-cjk")),
    (FIREFOX, ("firefox-esr",)),
    (("nginx",), ("nginx-light",)),
    (("valkey-server", "redis-server"), ("redis-server",)),
    (("g++",), ("g++",)),
)
say = functools.partial(print, flush=True)  # before the lines of the program that comes next


def main() -> None:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))
    is_there = functools.partial(shutil.which, path=path)
    missing = [package for names, packages in PROGRAMS if not any(map(is_there, names)) for package in packages]
    if missing and shutil.which("apt-get") and os.geteuid() == 0:
        say(f"Installing {', '.join(missing)} with apt-get.")
        for command in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
            variables = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(["apt-get", "-qq", *command], env=variables, stdout=subprocess.DEVNULL, check=False)
    chromium = [sys.executable, "-m", "playwright", "install", "chromium"]
    lacks_chromium = not any(map(shutil.which, BROWSERS)) and subprocess.run(chromium, check=False).returncode
    for browser, is_missing in (("Chromium", lacks_chromium), ("Firefox", not any(map(shutil.which, FIREFOX)))):
        if is_missing:
            say(f"{browser} could not be installed. The tests that need it are left out; where CI=true they fail.")


if __name__ == "__main__":
    main()
