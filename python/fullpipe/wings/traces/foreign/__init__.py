"""Measurements of other programs as kept runs, in the form that `run --out` writes.

`formats.py` declares the formats of files and the commands that read each, also those of `fleet` and
`workload`, and recognizes a file's by its content. One module per format makes flows of it
(`flow.py`), by `kinds.py`; `kept.py` saves them. Rust reads captures and listings
(`crates/wings/ingest/src/capture/packets.rs`, `fleet/ss/series.rs`).
"""
