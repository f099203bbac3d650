#!/usr/bin/env bash
# Compares CUBIC and BBRv3 on a simulated population of users.
# usage: compare.sh DIR [PATHS]
set -euo pipefail
fullpipe fleet simulate --paths "${2:-2000}" --cc cubic,bbr3 --out "$1/fleet"
fullpipe fleet compare "$1/fleet" --against cubic --effect 5% --out "$1/report"
