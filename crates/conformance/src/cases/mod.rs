//! The 22 cases, a file for each group of them.

mod aggregation;
mod app_limited;
mod bandwidth;
mod probe_bw;
mod probe_rtt;
mod spurious;
mod startup;

use crate::case::Case;

/// All, in the appendix's order.
pub static CASES: [&Case; 22] = [
    &startup::PLATEAU,
    &app_limited::LOSS_IN_STARTUP,
    &startup::DRAINED,
    &startup::DRAINED_BY_TIME,
    &probe_bw::UP_ENDS_AT_PLATEAU,
    &app_limited::LOSS_IN_UP,
    &app_limited::NO_EXIT,
    &probe_bw::DOWN_ENDS_DRAINED,
    &probe_bw::DOWN_ENDS_BY_TIME,
    &probe_rtt::IN_PROBE_BW,
    &probe_rtt::SKIPPED,
    &aggregation::IN_STARTUP,
    &aggregation::IN_CRUISE,
    &bandwidth::BELOW_A_PACKET,
    &bandwidth::TEN_TIMES_MORE,
    &bandwidth::TEN_TIMES_LESS,
    &bandwidth::POLICER,
    &spurious::FAST_RECOVERY,
    &spurious::TIMEOUT,
    &probe_rtt::IN_STARTUP,
    &probe_bw::LOSS_BELOW_LONGTERM,
    &app_limited::REFILL,
];

/// The case of that number, `A.5` or `5`.
pub fn case(section: &str) -> Option<&'static Case> {
    let number = section.trim_start_matches("A.");
    CASES
        .iter()
        .copied()
        .find(|case| case.section.trim_start_matches("A.") == number)
}

/// What of a link's rate is payload, bit/s.
const fn payload(rate: f64) -> f64 {
    rate * fullpipe_tcp::SMSS.get() as f64 / fullpipe_scenario::PACKET.get() as f64
}

/// Payload of a segment, bytes.
const SEGMENT: f64 = fullpipe_tcp::SMSS.get() as f64;
/// The path that most cases run on, 50 Mbit/s and 40 ms: its rate of payload, bit/s.
const RATE: f64 = payload(50e6);
/// Its round trip, with the transmission of a packet, s.
const RTT: f64 = 0.0403;
/// Its BDP, bytes of payload.
const BDP: f64 = RATE * RTT / 8.0;
/// A burst of a millisecond in BDPs. Rows of the trace count what the ACK let go, which the
/// algorithm had not sent yet when it looked at what is in flight.
const BURST: f64 = 1.0 / 40.0;

/// That path for 2, 5 or 8 s, with a buffer that no state of BBR overflows.
macro_rules! usual_path {
    ($duration:literal) => {
        concat!(
            "duration = \"",
            $duration,
            "\"\n\n[path]\nrate = \"50mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\n"
        )
    };
}
use usual_path;
