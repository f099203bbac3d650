"""The fit finds the numbers of a host in turns that were made from them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fullpipe.wings.quic import hostfit

CALL, ACK, SEND, RECEIVE = 3_000.0, 2_000.0, 1_000.0, 700.0


def _sides(batch: int, rng: np.random.Generator) -> dict[str, Any]:
    """Makes turns of a server that never sleeps and a client that sleeps before each; some turns are interrupted."""
    least, median, greatest = 8_000.0, 10_000.0, 600_000.0
    server, client, handed = [], [], []
    now = 1e6
    for _ in range(4_000):
        bursts = int(rng.integers(1, 9))
        work = CALL * (bursts + 1) + ACK + SEND * bursts * batch
        work *= rng.normal(1, 0.05) + (20 if rng.random() < 0.001 else 0)
        turn = {"reads": 1, "received": 1, "bursts": bursts, "sent": bursts * batch}
        server.append({"slept": 0, "began": now, "done": now + work, **turn})
        now += work
        handed.append(now)
        late = hostfit._quantile(float(rng.random()), least, median, greatest)
        work = (2 * CALL + ACK + RECEIVE * bursts * batch) * rng.normal(1, 0.05)
        turn = {"reads": 1, "received": bursts * batch, "bursts": 1, "sent": 1}
        client.append(
            {"slept": now - 5_000, "began": now + late, "done": now + late + work, **turn}
        )
        now += 10_000
    return {
        "server": {"turns": server, "handed_over": handed},
        "client": {"turns": client, "handed_over": []},
    }


def test_a_program_that_fails_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "fullpipe-quic"
    failing.write_text("#!/bin/sh\necho 'no UDP socket' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(hostfit, "program", lambda: str(failing))
    with pytest.raises(SystemExit, match="fullpipe-quic could not measure: no UDP socket"):
        hostfit.measure(4)


def test_costs_and_wake_ups_that_went_in_come_out() -> None:
    rng = np.random.default_rng(1)
    runs = [_sides(batch, rng) for batch in hostfit.BATCHES]
    found = hostfit.costs(runs)
    assert [found[name] for name in hostfit.COSTS] == pytest.approx(
        [CALL, ACK, SEND, RECEIVE], rel=0.03
    )
    least, median, greatest = hostfit.wakes(runs)
    assert median == pytest.approx(10_000, rel=0.03)
    assert least == pytest.approx(8_000, rel=0.1)
    assert greatest == pytest.approx(hostfit._quantile(0.999, 8_000, 10_000, 600_000), rel=0.5)
