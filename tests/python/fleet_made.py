"""Writes fleet directories of synthetic connections with known properties."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.wings.fleet import store

if TYPE_CHECKING:
    from pathlib import Path

    Numbers = np.ndarray

START = datetime(2019, 11, 18, tzinfo=UTC)


def write_fleet(
    directory: Path,
    arms: dict[str, dict[str, float]],
    *,
    hosts: int = 4,
    rows: int = 2000,
    seed: int = 1,
    host_sd: float = 0.05,
    hours: float = 24,
    requests: bool = True,
    counters: bool = True,
    parts: int = 1,
) -> Path:
    """Writes connections, requests and counters.

    Args:
        directory: A new directory.
        arms: Properties of each arm. `rate`, `loss`, `queue`, `rtt` (of the mix), `away` (of all RTTs) and `rows`
            are factors, `far_rate` is that of the rate above 100 ms, `odd` that of the first host's rate. `far` is
            the share of connections at 140 ms; `missing` and `far_missing` are those that are missing, of all and
            above 100 ms. `steep` is minus the power of the RTT to which the rate is proportional, `spread` the
            deviation of the RTTs' logarithm, `uneven` that of the hosts' sizes. `hosts` and `outliers` are numbers.
        hosts: Number of hosts per arm.
        rows: Number of connections per host.
        seed: Seed of all random numbers.
        host_sd: Standard deviation of the logarithm of the hosts' rates.
        hours: Time from the first to the last connection.
        requests: Whether to write nginx requests.
        counters: Whether to write counters of /proc.
        parts: Number of files per table and arm.
    """
    for number, (arm, factor) in enumerate(arms.items()):
        for part in range(parts):
            rng = np.random.default_rng([seed, number, part])
            own = int(factor.get("hosts", hosts))
            n = int(rows * own * factor.get("rows", 1) / parts)
            sizes = np.exp(rng.normal(0, factor.get("uneven", 0.0), own))
            host = rng.choice(own, size=n, p=sizes / sizes.sum())
            shift = np.random.default_rng([seed, number, 77]).normal(0, host_sd, own)
            shift[0] += np.log(factor.get("odd", 1.0))
            client = rng.integers(max(n * parts // 5, 1), size=n)
            frame = _connections(rng, factor, host, shift, client, hours).with_columns(
                cc=pl.lit(arm.replace("bbr1", "bbr"))
            )
            names = pl.Series([f"{arm}-{each}" for each in host.tolist()])
            gone = np.where(
                frame["minrtt_s"].to_numpy() > 0.1,
                factor.get("far_missing", 0.0),
                factor.get("missing", 0.0),
            )
            there = pl.Series(np.random.default_rng([seed, number, part, 3]).random(n) >= gone)
            frame, names = frame.filter(there), names.filter(there)
            client = client[there.to_numpy()]
            store.write(
                directory,
                "connections",
                frame.with_columns(arm=pl.lit(arm), host=names),
                f"part-{part}",
            )
            if requests:
                asked = pl.DataFrame(
                    {
                        "time": frame["last_seen"],
                        "client_net": frame["client_net"],
                        "bytes_sent": frame["bytes_acked"],
                        "request_time_s": frame["busy_s"] * 1.1,
                        "tcpinfo_rtt_s": frame["rtt_s"],
                        "country": pl.Series(np.array(["JP", "US", "TW"])[client % 3]),
                        "status": 200,
                    }
                ).with_columns(arm=pl.lit(arm), host=names)
                store.write(directory, "requests", asked, f"part-{part}")
        if counters:
            _counters(directory, arm, factor, int(factor.get("hosts", hosts)), hours, seed + number)
    return directory


def _connections(
    rng: np.random.Generator,
    factor: dict[str, float],
    host: Numbers,
    shift: Numbers,
    client: Numbers,
    hours: float,
) -> pl.DataFrame:
    n = len(host)
    far = rng.random(n) < factor.get("far", 0.1)
    near = np.exp(rng.normal(np.log(0.020), factor.get("spread", 0.5), n)) * factor.get("rtt", 1.0)
    min_rtt = np.where(far, rng.normal(0.14, 0.004, n), near).clip(0.001) * factor.get("away", 1.0)
    tier = rng.choice([10e6, 50e6, 100e6, 500e6], size=n, p=[0.2, 0.3, 0.4, 0.1])
    usable = np.minimum(tier, 2e6 * 8 / min_rtt) * np.exp(rng.normal(0, 0.15, n))
    rate = usable * factor.get("rate", 1.0) * np.exp(shift[host])
    rate *= (min_rtt / 0.02) ** -factor.get("steep", 0.0)
    rate *= np.where(min_rtt > 0.1, factor.get("far_rate", 1.0), 1.0)
    sent = rng.integers(200_000, 30_000_000, size=n)
    loss = np.where(
        rng.random(n) < 0.3,
        0.0,
        np.exp(rng.normal(np.log(0.004), 1.2, n)) * factor.get("loss", 1.0),
    )
    loss = np.where(rng.random(n) < factor.get("outliers", 0.0), 0.7, loss.clip(0, 0.5))
    retrans = np.round(sent * loss).astype(np.int64)
    rtt = min_rtt * (1 + 0.3 * factor.get("queue", 1.0) * rng.random(n))
    inflight = np.maximum(rate * rtt / 8 / 1448 * rng.uniform(0.5, 1.5, n), 1)
    busy = (sent - retrans) * 8 / rate
    end = START.timestamp() + rng.random(n) * hours * 3600
    ecn = rng.random(n) < 0.0368
    seen = pl.Series((end * 1e6).astype(np.int64)).cast(pl.Datetime("us", "UTC"))
    return pl.DataFrame(
        {
            "connection": np.arange(n),
            "client_net": pl.Series(
                [f"10.{each // 256 % 256}.{each % 256}.0" for each in client.tolist()]
            ),
            "first_seen": seen - timedelta(seconds=10),
            "last_seen": seen,
            "samples": 2,
            "bytes_sent": sent,
            "bytes_retrans": retrans,
            "bytes_acked": sent - retrans,
            "mss_bytes": 1448,
            "busy_s": busy,
            "rwnd_limited_s": busy * np.where(rng.random(n) < 0.3, rng.random(n), 0),
            "unacked_packets": inflight.astype(np.int64),
            "unacked_packets_mean": inflight,
            "busy_samples": 2,
            "rtt_s": rtt,
            "minrtt_s": min_rtt,
            "delivery_rate_bps": rate,
            "reordering_packets": np.where(rng.random(n) < 0.1, 10, 3),
            "reord_seen": np.where(rng.random(n) < 0.1, 2, 0),
            "ecn": ecn,
            "ecnseen": ecn & (rng.random(n) < 0.88),
        }
    )


def _counters(
    directory: Path, arm: str, factor: dict[str, float], hosts: int, hours: float, seed: int
) -> None:
    rng = np.random.default_rng([seed, 5])
    minutes = int(hours * 60) // 5
    for host in range(hosts):
        out = rng.integers(900_000, 1_100_000, size=minutes)
        share = 0.01 * factor.get("loss", 1.0) * np.exp(rng.normal(0, 0.2, minutes))
        time = pl.Series(
            [int(START.timestamp() * 1e6) + each * 300_000_000 for each in range(1, minutes + 1)]
        )
        frame = pl.DataFrame(
            {
                "time": time.cast(pl.Datetime("us", "UTC")),
                "interval_s": 300.0,
                "out_segs": out,
                "retrans_segs": (out * share).astype(np.int64),
                "cpu_s": 2400.0,
                "cpu_idle_s": 2400 * rng.uniform(0.6, 0.8, minutes),
            }
        ).with_columns(arm=pl.lit(arm), host=pl.lit(f"{arm}-{host}"))
        store.write(directory, "counters", frame, f"host-{host}")


def lits(own: dict[str, str]) -> dict[str, pl.Expr]:
    return {name: pl.lit(value) for name, value in own.items()}
