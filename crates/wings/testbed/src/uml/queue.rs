//! A link's queue as arguments of tc.

use fullpipe_path::{Limit, OptionValue};
use fullpipe_scenario::{Error, Link, PACKET, Scenario};
use fullpipe_units::Rate;

use super::microseconds;

/// Returns tc's arguments for the queue; `None` if netem's own queue is used.
pub(super) fn queue(scenario: &Scenario, link: &Link) -> Result<Option<Vec<String>>, Error> {
    let Some((kind, limit)) = kind_and_limit(scenario, link)? else {
        return Ok(None);
    };
    let mut words = vec![kind.to_owned()];
    match kind {
        "cake" => words.extend(["besteffort", "flows"].map(str::to_owned)),
        _ => words.extend(["limit".to_owned(), limit]),
    }
    for (param, value) in link.queue.values() {
        words.extend(option(kind, param.name, value));
    }
    match kind {
        "red" => words.extend(["bandwidth".to_owned(), format!("{}bit", link.rate.as_bps())]),
        "cake" if !words.iter().any(|word| word == "bandwidth") => {
            words.push("unlimited".to_owned())
        }
        _ => {}
    }
    Ok(Some(words))
}

/// Bytes of a full packet with its Ethernet header.
const FRAME: u64 = 1_514;

/// Returns whether Linux counts packets with their Ethernet headers in this queue. PIE's bound of
/// two packets and CAKE's turn are constants of whole frames, which packets without headers would
/// not fill.
pub(super) fn counts_frames(kind: &str) -> bool {
    matches!(kind, "pie" | "cake")
}

/// Returns the rate of frames at which full packets take as long as without headers at `rate`.
pub(super) fn of_frames(rate: Rate) -> Rate {
    Rate::from_bps(rate.as_bps() * FRAME / PACKET.get())
}

/// Returns tc's name of the queue and its limit; `None` if netem's own queue is used.
fn kind_and_limit(
    scenario: &Scenario,
    link: &Link,
) -> Result<Option<(&'static str, String)>, Error> {
    let name = link.queue.descriptor().name;
    let refused = |problem: &str, fix: &str| {
        Err(scenario.error(&link.key("queue"), format_args!("{name:?}"), problem, fix))
    };
    Ok(Some(match (name, link.limit) {
        ("pfifo", Limit::Packets(_)) => return Ok(None),
        ("pfifo" | "bfifo", Limit::Bytes(bytes)) => ("bfifo", bytes.get().to_string()),
        ("red", Limit::Bytes(bytes)) => ("red", bytes.get().to_string()),
        ("codel" | "fq_codel" | "pie" | "sfq", Limit::Packets(packets)) => {
            (name, packets.to_string())
        }
        ("codel" | "fq_codel" | "pie" | "sfq", Limit::Bytes(_)) => {
            return refused(
                "Linux counts this queue's limit in packets",
                "give path.buffer in packets, ms or bdp",
            );
        }
        ("cake", _) => ("cake", String::new()),
        _ => {
            return refused(
                "not in Linux's kernel",
                "use pfifo, bfifo, red, codel, fq_codel, pie, sfq or cake",
            );
        }
    }))
}

/// Returns tc's arguments for one option.
fn option(kind: &str, name: &str, value: OptionValue) -> Vec<String> {
    let value = match value {
        OptionValue::Flag(true) => return vec![name.to_owned()],
        // Only fq_codel has options that are on by default.
        OptionValue::Flag(false) if kind == "fq_codel" => return vec![format!("no{name}")],
        OptionValue::Flag(false) => return Vec::new(),
        // Its only time, perturb, is in whole seconds.
        OptionValue::Time(span) if kind == "sfq" => span.as_secs_f64().to_string(),
        OptionValue::Time(span) => microseconds(span),
        OptionValue::Size(bytes) => bytes.get().to_string(),
        OptionValue::Rate(rate) if counts_frames(kind) => {
            format!("{}bit", of_frames(rate).as_bps())
        }
        OptionValue::Rate(rate) => format!("{}bit", rate.as_bps()),
        OptionValue::Count(_) | OptionValue::Number(_) | OptionValue::Depth(_) => value.to_string(),
    };
    vec![name.to_owned(), value]
}
