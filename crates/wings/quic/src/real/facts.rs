//! Facts about the machine in the results of a run.

use std::collections::BTreeMap;
use std::thread;

use fullpipe_scenario::Quic;

/// Returns the properties of the machine, as text.
pub(super) fn facts(quic: &Quic) -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let cpu = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, name)| name);
    let pinned = |side: &str, cpu: Option<u32>| {
        cpu.map_or_else(String::new, |cpu| format!(", {side} on CPU {cpu}"))
    };
    let threads = format!(
        "one thread per side{}{}{}",
        pinned("servers", quic.server_cpu),
        pinned("clients", quic.client_cpu),
        if quic.busy_poll { ", busy polling" } else { "" }
    );
    let facts = [
        (
            "kernel",
            read("/proc/sys/kernel/osrelease").trim().to_owned(),
        ),
        ("cpu", cpu.unwrap_or("unknown").to_owned()),
        (
            "cpus",
            thread::available_parallelism()
                .map_or(0, usize::from)
                .to_string(),
        ),
        (
            "stack",
            "noq-proto 1.4.0, TLS 1.3 with AES-128-GCM by ring".to_owned(),
        ),
        ("threads", threads),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}
