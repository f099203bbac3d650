//! Congestion control: the contract that every algorithm implements, the building blocks that
//! algorithms share, and the algorithms.
//!
//! A controller is a pure function of its event sequence, or of those of its group if it
//! [shares](Shared) state. It reads no clock, draws random numbers
//! only from the stream passed to it, and does no I/O. The same object therefore runs in the
//! simulator, under a real QUIC stack, and from a recording.

pub mod algo;
pub mod check;
pub mod common;
mod connection;
mod contract;
mod declare;
mod descriptor;
mod fault;
mod receiver;
mod registry;
pub mod replay;
mod shared;
mod signals;
pub mod steered;

pub use connection::{CaState, Conn, Snapshot};
pub use contract::{
    Ack, Context, Controller, Decision, EcnCounts, Frame, LossCause, Lost, NoObserver, Observer,
    PathChange, RateSample, Recovery, RecoveryCause, RttSample, Transition,
};
pub use declare::{FromParam, Takes, TraceValue};
pub use descriptor::{
    Config, Default, Descriptor, Domain, Field, LINUX, MediaSource, Param, ParamError, Profile,
    ReceiverDescriptor, RecoveryOwner, Rules, Specification, Values,
};
pub use fault::Fault;
pub use fullpipe_units::{EcnCodepoint, ParamValue};
pub use receiver::{AckSchedule, Arrival, ReceiverController, ReceiverDecision};
pub use registry::{AnyController, Registry, Shown, shown};
pub use shared::{Group, Shared};
pub use signals::{Marks, Signals};
