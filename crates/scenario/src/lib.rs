//! Scenarios: TOML text becomes a [`Scenario`] in which every value is valid and every default
//! filled in, or an [`Error`] that names the file, the key, the bad value and the fix.
//!
//! Every key is declared once, as a field of the structs in `raw/`: what it is called, its kind,
//! its default and its meaning. Reading, writing, [`explain`] and the JSON [`schema`] all follow
//! from there.
//!
//! Algorithms and their parameters are only kept, not judged: this crate does not know them. Who
//! does raises the same kind of error with [`Scenario::error`].

mod app;
mod app_schedule;
mod buffer;
mod elements;
mod enums;
mod error;
mod expect;
mod impairment;
mod model;
mod overrides;
mod profile;
pub mod quantities;
mod queue;
mod raw;
mod raw_value;
mod resolve;
mod schema;
mod source;
mod sweep;
mod template;
mod text;
mod to_raw;
mod topology;
mod validate_keys;
mod values;
mod workload;

pub use app::{App, On};
pub use buffer::Buffer;
pub use error::Error;
pub use expect::{Comparison, Expectation, Measured, Over};
pub use fullpipe_units::ParamValue;
pub use impairment::{Policer, Shaper, Suspend};
pub use model::{
    Change, EcnFeedback, EcnField, EcnSetting, Flow, Host, Link, PACKET, Pacing, Path, Quic,
    ReceiveWindow, Scenario, UNRESPONSIVE, Wake,
};
pub use profile::{Applied, Given, OUR_CHOICE, Profile, profiles};
pub use raw::{ACK_DELAY, DELAYED_ACK, QUICK_ACKS};
pub use schema::{Key, explain, schema};
pub use sweep::Sweep;
pub use template::Template;
pub use workload::{ArrivalGenerator, Library, Model, Rtts, Workload};
