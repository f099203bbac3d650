//! An end of a flow, sans-IO, as both clocks drive it.

use bytes::BytesMut;
use fullpipe_units::Time;
use noq_proto::EcnCodepoint;

use crate::endpoint_metrics::MTU;

/// Datagrams that one system call takes: what fits into 64 KiB.
pub(crate) const BATCH: usize = 65_507 / MTU as usize;

/// Datagrams that leave together.
#[derive(Clone, Copy, Debug)]
pub struct Burst<'a> {
    /// One behind the other.
    pub data: &'a [u8],
    /// The size of each but the last.
    pub segment: usize,
    /// Their codepoint.
    pub ecn: Option<EcnCodepoint>,
}

impl<'a> Burst<'a> {
    /// Each datagram.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> {
        self.data.chunks(self.segment)
    }
}

/// One end, as a clock drives it. Times never go back.
pub trait Peer {
    /// A datagram arrives.
    fn receive(&mut self, now: Time, ecn: Option<EcnCodepoint>, data: BytesMut);
    /// The last of those that arrived together: the application looks at what they brought.
    fn on_received(&mut self, now: Time);
    /// What [`wake_at`](Peer::wake_at) said may be due.
    fn on_time(&mut self, now: Time);
    /// What leaves next; to be asked after each of the above until there is nothing.
    fn burst(&mut self, now: Time) -> Option<Burst<'_>>;
    /// When it wants to be called, if nothing arrives.
    fn wake_at(&self) -> Option<Time>;
    /// How the connection came to its end, once it has.
    fn ended(&self) -> Option<&Result<(), String>>;
}
