//! The machines at the flows' ends.

use fullpipe_units::Span;

/// Default number of packets in a batch: 64 KiB in segments of 1448 bytes, as with GSO.
pub(crate) const BATCH: u32 = 45;

/// A machine at a flow's end.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// CPU time to send a data packet.
    pub send: Span,
    /// CPU time to receive a data packet.
    pub receive: Span,
    /// CPU time to send or receive an ACK.
    pub ack: Span,
    /// CPU time of a system call, which sends or receives one batch of packets.
    pub call: Span,
    /// Largest number of packets in a batch.
    pub batch: u32,
    /// Shortest time that a delivery-rate sample covers.
    pub rate_interval: Span,
    /// Wake-up time of a sleeping program; `None` if it wakes at once.
    pub wake: Option<Wake>,
    /// Largest relative deviation of a run's CPU times from these.
    pub variation: f64,
}

impl Default for Host {
    /// Returns a machine on which everything is done at once.
    fn default() -> Host {
        Host {
            send: Span::ZERO,
            receive: Span::ZERO,
            ack: Span::ZERO,
            call: Span::ZERO,
            batch: BATCH,
            rate_interval: Span::ZERO,
            wake: None,
            variation: 0.0,
        }
    }
}

impl Host {
    /// Returns whether the host uses random numbers, so that another seed changes the run.
    pub fn is_random(&self) -> bool {
        self.wake.is_some() || self.variation > 0.0
    }
}

/// The wake-up time of a program: a bounded Pareto distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wake {
    /// Shortest wake-up time.
    pub min: Span,
    /// Median wake-up time.
    pub median: Span,
    /// Longest wake-up time.
    pub max: Span,
}

/// Settings of real QUIC in real time, which runs one thread per side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quic {
    /// CPU that the servers' thread is pinned to, if any.
    pub server_cpu: Option<u32>,
    /// CPU that the clients' thread is pinned to, if any.
    pub client_cpu: Option<u32>,
    /// Whether the threads poll without ever sleeping.
    pub busy_poll: bool,
}
