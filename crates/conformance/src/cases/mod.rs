//! The 22 cases, one file per group.

mod aggregation;
mod app_limited;
mod bandwidth;
mod probe_bw;
mod probe_rtt;
mod spurious;
mod startup;

use crate::case::Case;

/// All cases, in the order of the appendix.
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

/// Returns the case with this number, `A.5` or `5`.
pub fn case(section: &str) -> Option<&'static Case> {
    let number = section.trim_start_matches("A.");
    CASES
        .iter()
        .copied()
        .find(|case| case.section.trim_start_matches("A.") == number)
}

/// Returns the payload share of a link's rate, in bit/s.
const fn payload(rate: f64) -> f64 {
    rate * fullpipe_tcp::SMSS.get() as f64 / fullpipe_scenario::PACKET.get() as f64
}

/// Payload of a segment, in bytes.
const SEGMENT: f64 = fullpipe_tcp::SMSS.get() as f64;
/// Payload rate of the path that most cases use (50 Mbit/s, 40 ms), in bit/s.
const RATE: f64 = payload(50e6);
/// Round-trip time of this path, including the transmission of a packet, in seconds.
const RTT: f64 = 0.0403;
/// BDP of this path, in bytes of payload.
const BDP: f64 = RATE * RTT / 8.0;
/// A burst of a millisecond, in BDPs. The trace's rows include the data that an ACK released, which
/// the algorithm had not yet sent when it compared inflight with its bounds.
const BURST: f64 = 1.0 / 40.0;

/// This path for a given duration, with a buffer that BBR does not overflow in any state.
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
