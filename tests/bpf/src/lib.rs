//! The congestion controls of `bpf/`, built for this machine's processor, next to those of
//! fullpipe-cc: the same calls go to both, and their decisions are compared.

mod call;
mod native;
mod path;
mod recording;
mod reference;
mod twin;

pub use call::{Call, Kind, flags};
pub use native::{History, Native, Param, Sent, Unit};
pub use path::{Line, Path};
pub use recording::{Row, read};
pub use reference::Reference;
pub use twin::{Agreement, Twin, Visit, in_units_of_c};
