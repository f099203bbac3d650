//! The 22 cases, a file for each group of them.

mod probe_rtt;
mod startup;

use crate::case::Case;

/// All, in the appendix's order.
pub static CASES: [&Case; 4] = [
    &startup::PLATEAU,
    &startup::DRAINED,
    &probe_rtt::IN_PROBE_BW,
    &probe_rtt::IN_STARTUP,
];

/// The case of that number, `A.5` or `5`.
pub fn case(section: &str) -> Option<&'static Case> {
    let number = section.trim_start_matches("A.");
    CASES.iter().copied().find(|case| case.section.trim_start_matches("A.") == number)
}

/// What of a link's rate is payload, bit/s.
const fn payload(rate: f64) -> f64 {
    rate * endpoint::SMSS.get() as f64 / scenario::PACKET.get() as f64
}

/// A path of 50 Mbit/s, 40 ms, and a buffer that no state overflows: what most cases run on.
const RATE: f64 = payload(50e6);
/// Its round trip, with the transmission of a packet.
const RTT: f64 = 0.0403;
/// Its BDP in bytes of payload.
const BDP: f64 = RATE * RTT / 8.0;
