"""Draws figure 1 from a kept sweep: mean goodput of each algorithm over the buffer."""

import sys

import matplotlib.pyplot as plt
import polars as pl

import fullpipe

COLORS = {"cubic": "#0072b2", "bbr3": "#d55e00"}

directory, file = sys.argv[1:]
buffer, goodput = "path.buffer.value", pl.col("goodput_bps").mean() / 1e6
means = fullpipe.Sweep(directory).flows.group_by("cc", buffer).agg(goodput).sort("cc", buffer)
figure, axes = plt.subplots(figsize=(3.3, 2.2), layout="constrained")
for (cc,), line in means.group_by("cc", maintain_order=True):
    axes.plot(line[buffer], line["goodput_bps"], marker="o", color=COLORS[cc], label=cc)
axes.set_xlabel("buffer, packets")
axes.set_ylabel("goodput, Mbit/s")
axes.set_ylim(bottom=0)
axes.legend(frameon=False)
figure.savefig(file)
