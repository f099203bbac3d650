//! What a packet meets on its way, sans-IO: the same elements stand in the simulator and, later, on
//! the real clock.
//!
//! An element is told the time and answers with times. It holds no packet: who asks keeps them.
//! Only the queues that decide do.

mod bucket;
mod copies;
mod droptail;
mod impairment;
mod jitter;
mod line;
mod link;
mod loss;
mod managed;
mod opportunities;
mod pattern;
mod policer;
mod queue;
mod radio;
mod rates;
mod serialiser;
mod shaper;
mod silence;
mod timeline;
mod transmitter;

pub use copies::Copies;
pub use droptail::{DropTail, Limit};
pub use impairment::{Argument, IMPAIRMENTS, Impairment, Unit};
pub use jitter::{Distribution, Histogram, Jitter, Moments};
pub use line::Line;
pub use link::{Link, VaryingLink, Verdict};
pub use loss::{Loss, Losses};
pub use managed::ManagedLink;
pub use opportunities::Opportunities;
pub use pattern::RatePattern;
pub use policer::Policer;
pub use queue::{
    Config, Depth, Descriptor, Domain, Dropped, Ecn, Packet, Param, QUEUES, Queue, Refusal, Value,
};
pub use radio::{Aggregation, Radio};
pub use rates::Rates;
pub use serialiser::Serialiser;
pub use shaper::Shaper;
pub use silence::{Silence, Suspension};
pub use timeline::Timeline;
pub use transmitter::{Measured, Transmitter};
