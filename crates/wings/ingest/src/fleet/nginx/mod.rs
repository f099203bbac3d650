//! nginx's access logs, in the operator's own format.

mod format;
mod reader;

pub use format::{Format, FormatError};
pub use reader::{Options, Reader};
