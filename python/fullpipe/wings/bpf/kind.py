"""Algorithms of fullpipe in Linux' own TCP, by their names in the kernel: `fp_bbr3`."""

from __future__ import annotations

from fullpipe.algorithms.plugins import built_in
from fullpipe.algorithms.resolve import IN_PAGE, Kind
from fullpipe.wings.traces.foreign.kernel_name import PREFIX, stem

KINDS = (
    Kind(
        "BPF",
        f"{PREFIX}bbr3",
        lambda text: (
            text.startswith(PREFIX)
            and text.removeprefix(PREFIX) in {stem(each) for each in built_in()}
        ),
        "an algorithm of `fullpipe kernel` runs in this machine's kernel",
        "bpf",
        f"name it without {PREFIX}",
        IN_PAGE,
    ),
)
