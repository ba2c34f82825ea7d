"""What `pip install .` puts into an environment, and that it works there, far from the repository."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from setuptools import Distribution

from model import __version__
from model.cli.resolve import TRAINING_PACKAGES
from run import pins as pins_in
from tests.conftest import PATIENCE, ROOT

IN_A_FOLDER = ("streamlit_app.py", "run.py", ".streamlit", "live/", "checkpoints")  # of an installation: headlight/app/
# The command is asked for a translation, for the app (whose server is not started), and for a page of the app.
SESSION = """
import sys
from contextlib import suppress
from streamlit import config
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash
from streamlit.web import bootstrap
from model.corpora.aligned import read_aligned
from model.corpora.class_list import read_class_list
from model.config.paths import checkpoint_folders, folder_for_new
from headlight.command import main
from viz_app.content.shared import PAGES

def headlight(*arguments):
    sys.argv = ["headlight", *arguments]
    with suppress(SystemExit):
        main()

headlight("--version")
headlight("translate", "everyday-en-de", "I love you.", "Where is the station?")
bootstrap.run = lambda script, *_: print(script, config.get_option("runner.postScriptGC"))
headlight("--server.port", "8600")
page = AppTest.from_file(config._main_script_path, default_timeout=600).run()
assert not page.exception, page.exception
print(page.selectbox(key="checkpoint").options)

def visit(name, **query):
    # The pages that it links to from its main column.
    app = AppTest.from_file(config._main_script_path, default_timeout=600)
    app.query_params.update(query)
    app._page_hash = calc_hash("" if name == "translate" else name)
    app.run()
    assert not app.exception and not app.error, (name, app.exception, app.error)
    assert any(f">{PAGES[name]['title']} <" in one.proto.body for one in app.get("html")), name
    return [link.proto.page for link in app.main.get("page_link")]

for name in PAGES:
    visit(name)
print(visit("translate", checkpoint="imdb-sentiment"), visit("compare", compare="changed"))
print(len(read_aligned("en", "de")), len(read_class_list("en", "de")))
print(folder_for_new() in checkpoint_folders(), folder_for_new())
folder_for_new().mkdir()
print(folder_for_new() in checkpoint_folders())
"""


@pytest.fixture
def installation(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], list[str]]:
    """Path in the wheel → path in the repository, and what is required; setuptools says so, nothing is built."""
    monkeypatch.chdir(ROOT)
    project = Distribution({"script_name": "no setup.py"})
    project.parse_config_files()
    build = project.get_command_obj("build_py")
    build.ensure_finalized()
    pairs = ((Path(to).relative_to(build.build_lib), Path(of)) for to, of in build.get_output_mapping().items())
    return {to.as_posix(): of.as_posix() for to, of in pairs}, project.install_requires


def test_an_installation_has_every_file_of_ours(installation: tuple[dict[str, str], list[str]]) -> None:
    rooms = (ROOT / room for room in ("headlight", "model", "viz_app", "live", "checkpoints", ".streamlit"))
    there = (path for room in rooms for path in room.rglob("[!.]*") if path.is_file() and path.suffix != ".pyc")
    wanted = {path.relative_to(ROOT).as_posix() for path in there} | {
        "streamlit_app.py",
        "run.py",  # setuptools includes every module in the router's folder
    }
    needless = re.compile("checkpoints/[^/]+/training/")
    files, _ = installation
    assert set(files.values()) == {path for path in wanted if not needless.match(path)}
    for to, of in files.items():
        assert to == (f"headlight/app/{of}" if of.startswith(IN_A_FOLDER) else of)


def test_every_pin_lies_in_the_range_that_an_installation_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    training = project["optional-dependencies"]["training"]
    ranges = {r.name: r.specifier for r in map(Requirement, [*project["dependencies"], *training])}
    pins = {r.name: next(iter(r.specifier)) for r in map(Requirement, pins_in(ROOT / "requirements.txt"))}
    assert pins.keys() == ranges.keys()
    for name, pin in pins.items():
        assert pin.operator == "=="
        assert pin.version in ranges[name], name
        assert name == "torchtext" or {bound.operator for bound in ranges[name]} == {">=", "<"}, name
    assert {Requirement(one).name for one in training} == {*TRAINING_PACKAGES}


def test_the_command_works_in_an_installation(
    installation: tuple[dict[str, str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    for to, of in installation[0].items():
        (site / to).parent.mkdir(parents=True, exist_ok=True)
        if of.endswith(".safetensors"):
            (site / to).symlink_to(ROOT / of)
        else:
            shutil.copyfile(ROOT / of, site / to)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("HOME", str(elsewhere))
    monkeypatch.delenv("HEADLIGHT_CHECKPOINTS", raising=False)
    command = [sys.executable, "-P", "-c", SESSION]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    version, first, second, app, checkpoints, links, sentences, new, found = done.stdout.splitlines()
    assert version == f"Headlight {__version__}"
    assert (first, second) == ("Ich liebe dich.", "Wo ist der Bahnhof?")
    assert app == f"{site / 'headlight' / 'app' / 'streamlit_app.py'} False"  # with our settings
    assert "everyday-en-de" in checkpoints
    assert links == "['sentiment'] ['heads']"  # Streamlit finds the pages, which are not beside the script
    assert min(map(int, sentences.split())) > 20
    assert (new, found) == (f"False {elsewhere / 'headlight'}", "True")  # not where pip would remove it


def test_a_link_to_a_page_is_made_in_one_place() -> None:
    """Where it names a `st.Page`: Streamlit looks for a bare path beside the script that was started."""
    for path in (ROOT / "viz_app").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
        assert path.stem == "navigation" or not {"st.page_link", "st.switch_page"} & called, path
