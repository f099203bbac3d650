//! The simulated TCP sender and receiver, modeled on a current Linux. Both are sans-IO: the caller
//! passes in the time and the arriving packets.
//!
//! Sequence numbers count segments, not bytes: a segment keeps its boundaries when it is
//! retransmitted, and every segment has the full size except the last of a transfer, a burst or an
//! answer.

mod ack_policy;
mod advertised_window;
mod app;
mod autotune;
mod datagram;
mod ecn;
mod host;
mod limit;
mod pacer;
mod prr;
mod rack;
mod rate;
mod rate_aggregator;
mod reassembly;
mod receiver;
mod rtt;
mod sender;
mod sent;
mod stack;
mod unresponsive;
mod wire;

pub use ack_policy::AckPolicy;
pub use app::{Answer, App, Bursts, Client, Cycle, Messages, Parts, Schedule};
pub use datagram::{
    Arrived, DatagramApp, DatagramConfig, DatagramReceiver, DatagramSender, Emitted, Media,
};
pub use ecn::EcnFeedback;
pub use host::{Costs, Cpu, WakeUp};
pub use limit::{LIMIT_ROWS, LIMITS, Limit, LimitClock, LimitRow};
pub use pacer::{Pacer, Pacing};
pub use prr::Prr;
pub use rate::{Flight, rate_sample};
pub use rate_aggregator::RateAggregator;
pub use receiver::{Receiver, Way};
pub use sender::{AckOutcome, Info, LossDetection, Memory, Sender, SenderConfig};
pub use stack::{CwndValidation, MetricsCache, Stack};
pub use unresponsive::Unresponsive;
pub use wire::{
    ACK_SIZE, Ack, AckKind, Block, Feedback, HEADER, MAX_BLOCKS, SMSS, SYN_SIZE, Segment,
};
