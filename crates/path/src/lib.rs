//! Elements of a network path (links, queues, impairments), sans-IO: the simulator and the
//! real-clock emulator use the same ones.
//!
//! An element is passed the current time and returns times. It holds no packets, which stay with
//! the caller; only AQM queues hold theirs.

mod any_link;
mod begin;
mod bucket;
mod delay_line;
mod delay_trace;
mod droptail;
mod duplicator;
mod impairment;
mod jitter;
mod link;
mod loss;
mod managed;
mod opportunities;
mod outage;
mod pattern;
mod policer;
mod queue;
mod radio;
mod rates;
mod serializer;
mod shaper;
mod timeline;
mod transmitter;

pub use any_link::AnyLink;
pub use begin::Begin;
pub use delay_line::DelayLine;
pub use delay_trace::{Delay, DelayTrace};
pub use droptail::{DropTail, Limit};
pub use duplicator::Duplicator;
pub use impairment::{Argument, Described, IMPAIRMENTS, Impairment, Unit};
pub use jitter::{Distribution, Histogram, Jitter, Moments};
pub use link::{Link, VaryingLink, Verdict};
pub use loss::{Loss, Losses};
pub use managed::ManagedLink;
pub use opportunities::Opportunities;
pub use outage::{OutageSchedule, Suspension};
pub use pattern::RatePattern;
pub use policer::Policer;
pub use queue::{
    Config, Depth, Descriptor, Domain, Dropped, EcnCodepoint, OptionValue, Packet, Param, QUEUES,
    Queue, Refusal,
};
pub use radio::{Aggregation, Radio};
pub use rates::Rates;
pub use serializer::Serializer;
pub use shaper::Shaper;
pub use timeline::Timeline;
pub use transmitter::{Measured, Transmitter};
