//! Congestion control: the contract every algorithm implements, the parts that algorithms share,
//! and the algorithms.
//!
//! A controller is a pure function of its event sequence. It reads no clock, draws no randomness
//! but the stream that is handed in, and does no I/O; so the same object runs in the simulator,
//! under a real QUIC, and from a recording.

pub mod algo;
pub mod common;
mod contract;
mod declare;
mod descriptor;
mod receiver;
mod registry;
pub mod replay;

pub use contract::{
    Ack, Conn, Context, Controller, Decision, EcnCounts, LossCause, Lost, NoObserver, Observer,
    PathChange, RateSample, Recovery, RecoveryCause, RttSample, Snapshot, Transition,
};
pub use declare::{FromParam, Takes, TraceValue};
pub use descriptor::{
    Config, Default, Descriptor, Domain, Field, Param, ParamError, Profile, RecoveryOwner, Signals,
    Specification, WindowDescriptor,
};
pub use fullpipe_units::{EcnCodepoint, ParamValue};
pub use receiver::{Arrival, WindowController};
pub use registry::{AnyController, Registry};
