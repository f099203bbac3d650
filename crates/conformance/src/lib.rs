//! The test cases of draft-ietf-ccwg-bbr-06, Appendix A, for any controller: scenarios, and
//! conditions on their traces.
//!
//! ```
//! let report = fullpipe_conformance::run(&fullpipe_cc::Registry::default(), "bbr3", &[("profile", "draft")])?;
//! println!("{report}");
//! assert!(report.is_met(), "every condition of the 22 cases is met");
//! # Ok::<(), fullpipe_scenario::Error>(())
//! ```
//!
//! A controller of your own needs only to be in the registry. It is judged by what it declares:
//! states and trace fields of the names that BBRv3 has (`fullpipe explain bbr3`). What it doesn't
//! declare is skipped.

mod case;
mod cases;
mod report;
mod stage;
mod view;

use fullpipe_cc::Registry;
use fullpipe_scenario::Error;

pub use case::{Case, Condition, Scene, Step};
pub use cases::{CASES, case};
pub use report::{Judged, Outcome, Played, Report, Verdict, demanded, digits};
pub use stage::Subject;
pub use view::{Flow, Measured, Stay, Why};

/// Runs all cases for the algorithm `cc` of `registry`, with these of its parameters set.
///
/// # Errors
/// When there is no such algorithm or parameter, or it can't run in the simulator.
pub fn run(registry: &Registry, cc: &str, params: &[(&str, &str)]) -> Result<Report, Error> {
    Subject::new(registry, cc, params)?.run()
}
