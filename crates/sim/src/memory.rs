//! How much memory a run may need, so that one that can't fit is refused before it starts.

use endpoint::SMSS;
use scenario::Scenario;
use units::{Bytes, Span};

use crate::TraceLevel;

/// Of each segment in flight: its record, its share of a burst, its ACK on the way; twice, since rings and queues double
/// when they grow.
const PER_SEGMENT: u64 = 2 * (16 + 32 + 20);
/// Of each packet in the link's queue: its place, or, where the queue decides, all of it.
const PER_PLACE: u64 = 2 * 16;
const PER_PACKET: u64 = 2 * 72;
/// Of each flow: its state and its histograms.
const PER_FLOW: u64 = 16 * 1024;
/// Of each row of a trace: a flow's own columns, those of three algorithms, and the link's; twice, since columns double
/// too.
const PER_ROW: u64 = 2 * (69 + 3 * 30 + 48);

/// An upper estimate of what a run of `scenario` holds at once.
pub fn memory_needed(scenario: &Scenario, level: TraceLevel) -> Bytes {
    let path = &scenario.path;
    // The path at its largest: whatever of its schedule may coincide.
    let rate = path.fastest();
    let rtt = path.schedule(|change| change.rtt).map(|(_, rtt)| rtt).fold(path.rtt, Span::max);
    let changed = path.changes.iter().flat_map(|change| change.jitter.iter().chain(&change.reverse_jitter));
    let jitters = changed.chain([&path.jitter, &path.reverse_jitter]);
    let late = jitters.map(path::Jitter::latest).max().unwrap_or(Span::ZERO) * 2;
    let buffers = path.schedule(|change| change.buffer).map(|(_, buffer)| buffer).chain([path.link.buffer]);
    let buffer =
        buffers.map(|buffer| path.link.limit(buffer, path.rtt).bytes(scenario::PACKET)).max().unwrap_or(Bytes::ZERO);
    let capacity = rate.bytes_in(rtt + late) + buffer;
    let mut segments = 0_u64;
    for flow in &scenario.flows {
        let extra = rate.bytes_in(flow.extra_rtt);
        // Not more than the path and its buffer hold, even when the window would allow it; a slow start may overshoot it
        // twofold before it notices.
        let most = scenario.receive_window(flow).min((capacity + extra) * 2);
        segments = segments.saturating_add(most.get() / SMSS.get());
    }
    // All flows together can't hold more than that either.
    let flows = scenario.flows.len() as u64;
    let shared = (capacity.get() / SMSS.get()).saturating_mul(4).saturating_add(flows.saturating_mul(64));
    let rows = match level {
        TraceLevel::Off => 0.0,
        TraceLevel::Every(interval) => scenario.duration.as_secs_f64() / interval.as_secs_f64() * (flows + 1) as f64,
        TraceLevel::Acks => rate.as_f64() / 8.0 / 1500.0 * scenario.duration.as_secs_f64(),
    };
    let trace = Bytes::from_f64(rows * PER_ROW as f64);
    let queued = if path.link.queue.descriptor().decides() { PER_PACKET } else { PER_PLACE };
    Bytes::new(PER_SEGMENT + queued) * segments.min(shared) + Bytes::new(PER_FLOW) * flows + trace
}
