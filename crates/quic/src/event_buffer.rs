//! What stands in noq as its congestion controller: it writes down what noq tells, and answers with
//! the window.
//!
//! noq tells of an ACK packet by packet, then updates its RTT, and only then tells of losses and
//! marks. So nothing is decided here: after each event the driver takes the [`BufferedEvent`] and
//! [`CongestionDriver`](crate::CongestionDriver) makes one ordered ACK of it.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

/// What noq told of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferedEvent {
    /// Packets that left: number, and size in flight.
    pub sent: Vec<(u64, u16)>,
    /// Packets newly acknowledged.
    pub acked: Vec<u64>,
    /// Packets declared lost.
    pub lost: Vec<u64>,
    /// All packets that were declared lost, and are still remembered, were acknowledged.
    pub spurious: bool,
    /// The latest ACK reports more marks than the one before.
    pub marked: bool,
    /// Nothing came through for several timeouts (RFC 9002 §7.6).
    pub persistent: bool,
    /// There was something to send, and no room in the window.
    pub cwnd_limited: bool,
    /// The largest datagram has another size now.
    pub mtu: Option<u16>,
    /// What noq has in flight, after the acknowledged packets and before the lost ones were taken
    /// off.
    pub in_flight: Option<u64>,
}

impl BufferedEvent {
    /// Nothing was told.
    pub fn is_empty(&self) -> bool {
        *self == BufferedEvent::default()
    }

    /// For the next event; keeps what is allocated.
    pub fn clear(&mut self) {
        let BufferedEvent {
            mut sent,
            mut acked,
            mut lost,
            ..
        } = std::mem::take(self);
        sent.clear();
        acked.clear();
        lost.clear();
        *self = BufferedEvent {
            sent,
            acked,
            lost,
            ..BufferedEvent::default()
        };
    }
}

/// Between noq and the driver. Both run on one thread: the lock is there since noq's trait demands
/// `Sync`, and never waited for.
#[derive(Debug)]
pub struct EventBuffer {
    window: AtomicU64,
    event: Mutex<BufferedEvent>,
}

/// Before a [`CongestionDriver`](crate::CongestionDriver) decides: during the handshake, and at the side
/// that only asks.
const UNLIMITED: u64 = u64::MAX / 2;

impl Default for EventBuffer {
    fn default() -> EventBuffer {
        EventBuffer {
            window: AtomicU64::new(UNLIMITED),
            event: Mutex::default(),
        }
    }
}

impl EventBuffer {
    /// The window from now on, as noq counts what is in flight.
    pub fn set_window(&self, bytes: u64) {
        self.window.store(bytes, Ordering::Relaxed);
    }

    /// Swaps what was told for `empty`.
    pub fn take(&self, empty: &mut BufferedEvent) {
        empty.clear();
        std::mem::swap(&mut *self.event(), empty);
    }

    fn event(&self) -> MutexGuard<'_, BufferedEvent> {
        self.event
            .lock()
            .expect("nothing panics while it holds the event")
    }
}

/// noq's side of a [`EventBuffer`].
#[derive(Debug)]
struct Writer(Arc<EventBuffer>);

impl Controller for Writer {
    fn on_packet_sent(&mut self, _: Instant, bytes: u16, pn: u64) {
        self.0.event().sent.push((pn, bytes));
    }

    fn on_cwnd_limited(&mut self) {
        self.0.event().cwnd_limited = true;
    }

    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, pn: u64, _: bool, _: &RttEstimator) {
        self.0.event().acked.push(pn);
    }

    fn on_end_acks(&mut self, _: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        self.0.event().in_flight = Some(in_flight);
    }

    fn on_packet_lost(&mut self, _: u16, pn: u64, _: Instant) {
        self.0.event().lost.push(pn);
    }

    fn on_congestion_event(
        &mut self,
        _: Instant,
        _: Instant,
        persistent: bool,
        is_ecn: bool,
        _: u64,
        _: u64,
    ) {
        let mut event = self.0.event();
        event.marked |= is_ecn;
        event.persistent |= persistent;
    }

    fn on_spurious_congestion_event(&mut self) {
        self.0.event().spurious = true;
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.event().mtu = Some(new_mtu);
    }

    fn window(&self) -> u64 {
        self.0.window.load(Ordering::Relaxed)
    }

    fn metrics(&self) -> ControllerMetrics {
        // noq's pacer lets bursts of ten packets and more through; a window without bound switches
        // it off, and ours paces instead.
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = u64::MAX;
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Writer(self.0.clone()))
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Gives the one connection of an endpoint its event buffer.
#[derive(Debug)]
pub(crate) struct Deliver(pub(crate) Arc<EventBuffer>);

impl ControllerFactory for Deliver {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(Writer(self.0.clone()))
    }
}
