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
//! To test your own controller, add it to the registry. The cases use the states and trace fields
//! that it declares under the names of BBRv3 (`fullpipe explain bbr3`), and skip conditions on
//! those that it lacks.

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

/// Runs all cases for the algorithm `cc` of `registry`, with the parameters `params`.
///
/// # Errors
/// If the algorithm or a parameter does not exist, or if the algorithm cannot run in the simulator.
pub fn run(registry: &Registry, cc: &str, params: &[(&str, &str)]) -> Result<Report, Error> {
    Subject::new(registry, cc, params)?.run()
}
