//! Facts about the machine.

use std::collections::BTreeMap;
use std::fs;

use crate::forward::Timeliness;

fn read(path: &str) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Returns the algorithms that the kernel offers.
pub(crate) fn algorithms() -> Vec<String> {
    read("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Returns the facts by name, as text.
pub(crate) fn host(timeliness: &Timeliness, busy: f64) -> BTreeMap<&'static str, String> {
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cpus = cpuinfo
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let model = model.map_or("unknown", |(_, name)| name.trim());
    let time = |seconds: f64| match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s => format!("{:.1} ms", s * 1e3),
    };
    let Timeliness {
        lateness_p50_s,
        lateness_p99_s,
        lateness_max_s,
        ..
    } = *timeliness;
    let late = [
        ("p50", lateness_p50_s),
        ("p99", lateness_p99_s),
        ("max", lateness_max_s),
    ];
    let late: Vec<String> = late
        .iter()
        .map(|(name, seconds)| format!("{name} {}", time(*seconds)))
        .collect();
    BTreeMap::from([
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("cpu", format!("{cpus} x {model}")),
        ("cpu busy", format!("{:.0} %", busy * 100.0)),
        (
            "clock source",
            read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        (
            "offloads",
            "none: TUN devices take packets one by one".to_owned(),
        ),
        ("lateness", late.join(", ")),
    ])
}
