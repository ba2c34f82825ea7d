"""The process that waits for its command."""

from pathlib import Path

from tests.conftest import PATIENCE
from viz_app.spare import Spare, hand_over


def test_the_process_that_waits_runs_the_program_and_a_dead_one_is_replaced(tmp_path: Path) -> None:
    spare, log = Spare(), tmp_path / "log.txt"
    spare.prepare()
    dead = spare._waiting
    assert dead is not None
    spare.prepare()
    assert spare._waiting is dead  # one is enough
    dead.kill()
    dead.wait()
    assert not hand_over(b"{}\n", dead)
    spare.prepare()
    waiting = spare._waiting
    assert waiting not in (dead, None)
    ran = spare.run(["toy", "reverse", "--data-dir", str(tmp_path)], log)
    assert ran is waiting
    assert ran.wait(PATIENCE) == 0
    assert "reverse" in log.read_text()
    assert (tmp_path / "reverse").is_dir()
    spare.prepare()
    last = spare._waiting
    assert last is not None
    spare.end()
    assert last.poll() is not None
