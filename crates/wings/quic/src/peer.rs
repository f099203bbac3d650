//! One end of a flow, sans-IO, driven by either clock.

use bytes::BytesMut;
use fullpipe_units::Time;
use noq_proto::EcnCodepoint;

use crate::endpoint_metrics::MTU;

/// Maximum datagrams per system call: 64 KiB.
pub(crate) const BATCH: usize = 65_507 / MTU as usize;

/// Datagrams that leave together.
#[derive(Clone, Copy, Debug)]
pub struct Burst<'a> {
    /// The datagrams, one after the other.
    pub data: &'a [u8],
    /// Size of each datagram except the last.
    pub segment: usize,
    /// ECN codepoint of the datagrams.
    pub ecn: Option<EcnCodepoint>,
}

impl<'a> Burst<'a> {
    /// Returns an iterator over the datagrams.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> {
        self.data.chunks(self.segment)
    }
}

/// One end of a flow, driven by a clock. Times never go back.
pub trait Peer {
    /// Processes a datagram that arrives.
    fn receive(&mut self, now: Time, ecn: Option<EcnCodepoint>, data: BytesMut);
    /// Processes the application's events, after the last of the datagrams that arrived together.
    fn on_received(&mut self, now: Time);
    /// Processes timers that may be due at the time of [`wake_at`](Peer::wake_at).
    fn on_time(&mut self, now: Time);
    /// Returns the next datagrams to send. Call it after each of the above, until it returns
    /// `None`.
    fn burst(&mut self, now: Time) -> Option<Burst<'_>>;
    /// Returns the time at which to call [`on_time`](Peer::on_time), if nothing arrives first.
    fn wake_at(&self) -> Option<Time>;
    /// Returns how the connection ended, once it has.
    fn ended(&self) -> Option<&Result<(), String>>;
}
