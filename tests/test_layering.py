"""Data flows one way; the imports of the code prove it."""

import ast

from tools.architecture import IMPORTS, PACKAGES, TREES, room

# A room imports only from itself and from the rooms before it, also inside functions.
ROOMS = (
    "model.messages",
    *("model.files", "model.safety", "model.config", "model.trace", "model.text", "model.network", "model.checkpoints"),
    *("model.corpora", "model.foreign", "model.decoding", "model.interventions", "model.inference", "model.analysis"),
    *("model.atlas", "model.circuits", "model.training", "model"),
    *("viz_app", "viz_app.content", "viz_app.figures", "viz_app.server", "viz_app.session", "viz_app.services"),
    *("viz_app.course", "viz_app.components", "viz_app.widgets", "viz_app.export"),
    *("model.cli", "model.__main__", "headlight", "weights"),
    *("viz_app.sections", "viz_app.pages", "streamlit_app"),
)
# Room or module → what else it must not import. The longest name that fits a module is the one that holds.
SCREEN = ("streamlit", "plotly", "bertviz", "viz_app", "headlight")
MATHEMATICS = ("torch", "model", "streamlit")
FORBIDDEN = {
    "model": SCREEN,
    "model.cli": SCREEN,
    "viz_app.server": ("torch", "plotly"),
    **dict.fromkeys(("viz_app.server.presence", "viz_app.server.server_state"), ("torch", "plotly", "model")),
    **dict.fromkeys(("viz_app.server.jobs", "viz_app.server.resources"), (*MATHEMATICS, "plotly")),
    "viz_app.services": ("plotly",),
    "viz_app.figures": (
        *MATHEMATICS,
        *(room for room in ROOMS if room.startswith("viz_app.") and room not in ("viz_app.content", "viz_app.figures")),
    ),
    "viz_app.components": ("torch",),
    "viz_app.services.attention_view": ("torch", "streamlit"),
    **dict.fromkeys(
        ("viz_app.export.report", "viz_app.export.site", "viz_app.export.live_page"), ("torch", "streamlit")
    ),
    "viz_app.sections": ("torch", "plotly"),
    "viz_app.pages": ("torch", "plotly"),
}
KEEPERS = ("viz_app.server.server_state", "viz_app.services.models")  # of results, and of models
TORCHTEXT = "model.text.torchtext_parts"
BRIDGE = "viz_app.server.streamlit_bridge"  # to what Streamlit does not document


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def test_every_room_imports_only_downward() -> None:
    assert {room(name) for name in TREES} - {*ROOMS} == set(), "a room has no place in this test yet"
    for name, imported in IMPORTS.items():
        below = ROOMS[: ROOMS.index(room(name)) + 1]
        wrong = [
            other
            for other in imported
            if other.split(".")[0] in (*PACKAGES, "tests", "tools") and room(other) not in below
        ]
        assert wrong == [], f"{name} imports what is in no room below its own"


def test_no_room_imports_a_forbidden_package() -> None:
    for name, imported in IMPORTS.items():
        holds = max((place for place in FORBIDDEN if within(name, place)), key=len, default="")
        wrong = [other for other in imported for unknown in FORBIDDEN.get(holds, ()) if within(other, unknown)]
        assert wrong == [], f"{name} must not import these"


def test_only_one_file_uses_private_parts_of_streamlit() -> None:
    knows = {name for name, imported in IMPORTS.items() if any(other.startswith("streamlit.") for other in imported)}
    assert knows == {BRIDGE}


def test_only_one_file_imports_torchtext() -> None:
    """It is no longer developed, so one file must be enough to replace it."""
    assert {name for name, imported in IMPORTS.items() if any(within(o, "torchtext") for o in imported)} == {TORCHTEXT}


def test_results_and_models_are_kept_in_one_place_each_and_bounded_in_bytes() -> None:
    """Streamlit's own caches count entries, and one entry may be as large as all memory."""
    for name, tree in TREES.items():
        names = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        assert not names & {"cache_data", "cache_resource"}, name
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "Cache"]
        assert not calls or name in KEEPERS, name
        for call in calls:
            assert any(keyword.arg == "capacity" for keyword in call.keywords), ast.unparse(call)
