"""What the person who runs the server can read of it, and that nobody can who did not ask."""

import re
from urllib.request import urlopen

import pytest

from benchmarks.server import streamlit
from viz_app.server import metrics

PAGE = "tests/viz_app/server/metrics_page.py"


def figures(runs: int) -> dict[str, str]:
    """Name and labels → value, after so many runs of a page in a server."""
    with streamlit(PAGE, "--server.scriptHealthCheckEnabled=true") as server:
        for _ in range(runs):
            assert urlopen(f"{server.url}/_stcore/script-health-check").status == 200
        text = urlopen(f"{server.url}/_stcore/metrics").read().decode()
    assert text.endswith("# EOF\n")
    return dict(re.findall(r"^(headlight\S+) (\S+)$", text, flags=re.M))


def test_a_server_publishes_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_METRICS", "1")
    found = figures(2)
    assert found["headlight_page_seconds_count"] == found['headlight_page_seconds_bucket{le="+Inf"}'] == "2"
    buckets = [int(value) for name, value in found.items() if "_bucket" in name]
    assert buckets == sorted(buckets)
    assert 0 < float(found["headlight_page_seconds_sum"]) < 60
    assert found['headlight_kept_bytes{cache="models"}'] == "12345"
    assert found['headlight_jobs{lane="training",state="waiting"}'] == found["headlight_waiting_pages"] == "0"
    assert "headlight_visitors" in found


@pytest.mark.parametrize("value", ["", "0"])
def test_nothing_is_published_unless_the_operator_asks(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(metrics, "publish_figures", asked.append)
    monkeypatch.setenv("HEADLIGHT_METRICS", value)
    metrics.publish_metrics(lambda: 0)
    assert not asked
