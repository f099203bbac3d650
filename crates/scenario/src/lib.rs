//! Scenarios: this crate turns TOML text into a [`Scenario`] in which every value is valid and
//! every default filled in, or into an [`Error`] that names the file, the key, the bad value and
//! the fix.
//!
//! Every key is declared once, as a field of the structs in `raw/`, or in `path_keys` for a path:
//! its name, kind, default and meaning. Reading, writing, [`explain`] and the JSON [`schema`] are
//! all derived from that declaration.
//!
//! This crate does not know algorithms and their parameters; it keeps them without checking them.
//! The crates that know them report errors in the same form, with [`Scenario::error`].

mod access;
mod app;
mod app_schedule;
mod buffer;
mod enums;
mod error;
mod expect;
mod host;
mod impairment;
mod model;
mod overrides;
mod path_keys;
mod profile;
mod program;
pub mod quantities;
mod queue;
mod raw;
mod raw_value;
mod resolve;
mod schema;
mod source;
mod stack;
mod sweep;
mod template;
mod text;
mod to_raw;
mod topology;
mod validate_keys;
mod values;
mod workload;

pub use access::ACCESS_SPEED;
pub use app::{App, Media, On};
pub use buffer::Buffer;
pub use error::Error;
pub use expect::{Comparison, Expectation, Measured, Verdict};
pub use fullpipe_units::ParamValue;
pub use host::{Host, Quic, Wake};
pub use impairment::{Policer, Shaper, Suspend};
pub use model::{
    EcnFeedback, EcnField, EcnSetting, Flow, PACKET, PAYLOAD, Pacing, ReceiveWindow, Scenario,
    Transport, UNRESPONSIVE,
};
pub use path_keys::{Change, Link, Path};
pub use profile::{Applied, Given, OUR_CHOICE, Profile, profiles};
pub use program::{PROGRAM_FIX, Program};
pub use raw::{ACK_DELAY, DATAGRAM_DELAYED_ACK, DELAYED_ACK, INITIAL_WINDOW, QUICK_ACKS};
pub use schema::{Key, explain, schema};
pub use stack::{
    AckPolicy, CwndValidation, FlowStack, LossDetection, MetricsCache, RtoInRecovery, SendBuffer,
    Stack,
};
pub use sweep::Sweep;
pub use template::Template;
pub use values::{algorithm_of, with_params};
pub use workload::{ArrivalGenerator, Library, Model, Rtts, Workload};
