//! The congestion controller that noq sees: it records noq's events and returns the window.
//!
//! noq reports an ACK packet by packet, then updates its RTT, and only then reports losses and
//! marks. So this controller makes no decision: after each event the driver takes the
//! [`BufferedEvent`], and [`CongestionDriver`](crate::CongestionDriver) makes one ordered ACK of
//! it.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

/// The reports of noq about one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferedEvent {
    /// Packets that left: number, and size counted in flight.
    pub sent: Vec<(u64, u16)>,
    /// Packets newly acknowledged.
    pub acked: Vec<u64>,
    /// Packets declared lost.
    pub lost: Vec<u64>,
    /// Whether all remembered packets that were declared lost have been acknowledged.
    pub spurious: bool,
    /// Whether the latest ACK reports more marks than the one before.
    pub marked: bool,
    /// Whether persistent congestion was detected: no packet got through for several timeouts (RFC
    /// 9002 §7.6).
    pub persistent: bool,
    /// Whether the window blocked data that was ready to send.
    pub cwnd_limited: bool,
    /// New maximum size of datagrams, if it changed.
    pub mtu: Option<u16>,
    /// Bytes that noq has in flight, without the acknowledged packets and before it subtracts the
    /// lost ones.
    pub in_flight: Option<u64>,
}

impl BufferedEvent {
    /// Returns whether noq reported nothing.
    pub fn is_empty(&self) -> bool {
        *self == BufferedEvent::default()
    }

    /// Clears the event but keeps its allocations.
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

/// Connects noq and the driver. Both run on one thread: the lock exists only because noq's trait
/// requires `Sync`, and is never contended.
#[derive(Debug)]
pub struct EventBuffer {
    window: AtomicU64,
    event: Mutex<BufferedEvent>,
}

/// The window until a [`CongestionDriver`](crate::CongestionDriver) decides: during the handshake,
/// and on the client's side.
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
    /// Sets the window, in noq's count of bytes in flight.
    pub fn set_window(&self, bytes: u64) {
        self.window.store(bytes, Ordering::Relaxed);
    }

    /// Swaps the recorded event with `empty`, which it clears first.
    pub fn take(&self, empty: &mut BufferedEvent) {
        empty.clear();
        std::mem::swap(&mut *self.event(), empty);
    }

    fn event(&self) -> MutexGuard<'_, BufferedEvent> {
        self.event
            .lock()
            .expect("no thread panics while it holds the event")
    }
}

/// noq's side of an [`EventBuffer`].
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
        // noq's pacer permits bursts of ten packets and more. An unlimited window disables it, and
        // the driver's pacer is used instead.
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

/// Creates the controller of an endpoint's only connection, which writes to the event buffer.
#[derive(Debug)]
pub(crate) struct Deliver(pub(crate) Arc<EventBuffer>);

impl ControllerFactory for Deliver {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(Writer(self.0.clone()))
    }
}
