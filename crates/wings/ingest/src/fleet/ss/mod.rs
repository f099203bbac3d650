//! The output of `ss -ti` in all its variants.

mod field;
mod info;
mod join;
mod kept;
mod line;
mod listing;
mod names;
mod reader;
mod rows;
mod series;

pub use field::{COLUMNS, Field};
pub use info::{Sample, parse_info};
pub use listing::{Counts, is_listing};
pub use reader::{Options, Reader};
pub use series::Series;
