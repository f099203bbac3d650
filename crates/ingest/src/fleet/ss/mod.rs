//! The output of `ss -ti` in all its variants.

mod field;
mod info;
mod join;
mod kept;
mod line;
mod names;
mod reader;
mod rows;

pub use field::{COLUMNS, Field};
pub use info::{Sample, parse_info};
pub use reader::{Counts, Options, Reader};
