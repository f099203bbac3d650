#!/bin/sh
# Makes results/ and fig1.svg. With results/ there, repeats its runs, or as many of them as the argument says, and draws
# the figure from it.
set -eu
cd "$(dirname "$0")"
if [ -d results ]; then
  fullpipe verify results ${1:+--sample "$1"}
else
  fullpipe sweep fig1.toml --out results/fig1
  fullpipe compare cubic bbr3 --rate 20mbit --duration 30s --out results/table1
fi
python3 figure.py results/fig1 fig1.svg
