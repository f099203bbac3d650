"""Algorithms of fullpipe in Linux' own TCP, loaded as BPF by the program `fullpipe-kernel`."""

from fullpipe.wings import Wing

WING = Wing(
    "algorithms in Linux' own TCP, through BPF",
    commands={"Hosts and files": {"kernel": "Use an algorithm in Linux' own TCP, through BPF."}},
    kinds="kind:KINDS",
    names={"bpf": "program:names"},
    findings={"bpf": ("Its kernel, for fullpipe kernel", "findings:findings")},
)
