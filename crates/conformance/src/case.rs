//! The parts of a case.

use fullpipe_scenario::Error;
use fullpipe_units::Span;

use crate::report::{Outcome, Played};
use crate::stage::Subject;
use crate::view::{Flow, Measured};

/// One of the draft's test cases.
#[derive(Debug)]
pub struct Case {
    /// Section of the appendix: `A.5`.
    pub section: &'static str,
    /// Title of the section.
    pub title: &'static str,
    /// Additions of fullpipe where the draft is incomplete or contradicts itself; otherwise empty.
    pub note: &'static str,
    /// The scenarios of the case, usually one.
    pub scenes: &'static [Scene],
}

/// A scenario, and conditions on its trace.
#[derive(Debug)]
pub struct Scene {
    /// Distinguishes the scene from the case's other scenes; empty if it is the only one.
    pub name: &'static str,
    /// The tested state, or the beginning of its name: an algorithm without such a state is
    /// skipped.
    pub state: &'static str,
    /// TOML without the flow under test, ending with the keys of `[path]`.
    pub scenario: &'static str,
    /// Additional keys of the path, and changes of the path.
    pub path: &'static str,
    /// Additional keys of the flow under test.
    pub flow: &'static str,
    /// Events triggered by the flow's state, in this order.
    pub steps: &'static [Step],
    /// Sampling interval of the trace, for conditions that need samples between ACKs; `None` for a
    /// row at every ACK.
    pub every: Option<Span>,
    /// The conditions.
    pub conditions: &'static [Condition],
}

/// An event that is triggered when the flow enters a state.
#[derive(Debug)]
pub struct Step {
    /// The state, or the beginning of its name: `probe_bw` stands for all states of ProbeBW.
    pub enters: &'static str,
    /// Minimum time after the previous step, or after the start of the run.
    pub after: Span,
    /// Additional keys of the flow under test; `$t` is the time at which the state is entered,
    /// `$t+20ms` a time 20 ms later.
    pub flow: &'static str,
    /// Changes of the path, with the same placeholders.
    pub path: &'static str,
}

/// A measurement on a run, and its bounds.
#[derive(Debug)]
pub struct Condition {
    /// Name of the measured quantity.
    pub what: &'static str,
    /// Unit; may be empty.
    pub unit: &'static str,
    /// Lower and upper bound.
    pub within: (f64, f64),
    /// Source of the bounds: the draft's words, or the reason for a number that the draft leaves
    /// open.
    pub because: &'static str,
    /// Whether the condition is reported without a judgment, because the draft contradicts itself
    /// here; `because` says where.
    pub report: bool,
    /// The measurement.
    pub measure: fn(&Flow<'_>) -> Measured,
}

impl Scene {
    /// An empty scene.
    pub(crate) const EMPTY: Scene = Scene {
        name: "",
        state: "",
        scenario: "",
        path: "",
        flow: "",
        steps: &[],
        every: None,
        conditions: &[],
    };
}

impl Step {
    /// Creates a step that changes nothing.
    pub(crate) const fn enters(enters: &'static str) -> Step {
        Step {
            enters,
            after: Span::ZERO,
            flow: "",
            path: "",
        }
    }

    /// Sets the minimum time after the previous step.
    pub(crate) const fn after_ms(self, ms: u64) -> Step {
        Step {
            after: Span::from_millis(ms),
            ..self
        }
    }
}

impl Case {
    /// Runs the case.
    ///
    /// # Errors
    /// Those of [`run`](crate::run).
    pub fn run(&'static self, subject: &Subject<'_>) -> Result<Outcome, Error> {
        let play = |scene: &'static Scene| -> Result<Played, Error> { subject.play(self, scene) };
        Ok(Outcome {
            case: self,
            scenes: self.scenes.iter().map(play).collect::<Result<_, Error>>()?,
        })
    }

    /// Returns the file name for the case, or for one of its scenes: `A.07-startup`.
    pub fn file_name(&self, scene: &Scene) -> String {
        let (letter, number) = self
            .section
            .split_once('.')
            .expect("a section contains a point");
        let number: u32 = number.parse().expect("a number follows the point");
        let dash = if scene.name.is_empty() { "" } else { "-" };
        format!("{letter}.{number:02}{dash}{}", scene.name)
    }
}

/// Requires `measure` to be `within` the bounds.
pub(crate) const fn condition(
    what: &'static str,
    unit: &'static str,
    within: (f64, f64),
    because: &'static str,
    measure: fn(&Flow<'_>) -> Measured,
) -> Condition {
    Condition {
        what,
        unit,
        within,
        because,
        report: false,
        measure,
    }
}

impl Condition {
    /// Makes the condition one that is reported, but not judged.
    pub(crate) const fn reported(self) -> Condition {
        Condition {
            report: true,
            ..self
        }
    }
}

/// Returns a lower bound.
pub(crate) const fn at_least(least: f64) -> (f64, f64) {
    (least, f64::INFINITY)
}

/// Returns an upper bound.
pub(crate) const fn at_most(most: f64) -> (f64, f64) {
    (f64::NEG_INFINITY, most)
}

/// Returns an exact value, with a tolerance for the trace's seven digits.
pub(crate) const fn exactly(value: f64) -> (f64, f64) {
    (value - 1e-6, value + 1e-6)
}

/// True, as a number.
pub(crate) const YES: (f64, f64) = exactly(1.0);
/// Zero, or false as a number.
pub(crate) const NONE: (f64, f64) = exactly(0.0);
