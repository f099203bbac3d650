//! What a case is made of.

use fullpipe_scenario::Error;
use fullpipe_units::Span;

use crate::report::{Outcome, Played};
use crate::stage::Subject;
use crate::view::{Flow, Measured};

/// One of the draft's test cases.
#[derive(Debug)]
pub struct Case {
    /// Its number in the appendix: `A.5`.
    pub section: &'static str,
    /// Its title there.
    pub title: &'static str,
    /// What we add where the draft leaves something open, or contradicts itself; else empty.
    pub note: &'static str,
    /// Mostly one.
    pub scenes: &'static [Scene],
}

/// A scenario and what shall be seen in it.
#[derive(Debug)]
pub struct Scene {
    /// Tells it from the case's other scenes; empty if there is only one.
    pub name: &'static str,
    /// The state that it is about, or the beginning of its name: an algorithm without it is not
    /// run.
    pub state: &'static str,
    /// TOML without the flow under test, ending with the keys of `[path]`.
    pub scenario: &'static str,
    /// More keys of the path, and changes of it.
    pub path: &'static str,
    /// More keys of the flow under test.
    pub flow: &'static str,
    /// What happens when the flow has come so far, one after the other.
    pub steps: &'static [Step],
    /// A row at every ACK, if none; or so often, to see what no ACK shows.
    pub every: Option<Span>,
    /// What is demanded.
    pub conditions: &'static [Condition],
}

/// Something that happens when the flow enters a state.
#[derive(Debug)]
pub struct Step {
    /// The state, or the beginning of its name: `probe_bw` is any of ProbeBW's.
    pub enters: &'static str,
    /// Not earlier than this after the step before, or the start.
    pub after: Span,
    /// More keys of the flow under test; `$t` is the time at which the state is entered, `$t+20ms`
    /// that much later.
    pub flow: &'static str,
    /// Changes of the path, with the same times.
    pub path: &'static str,
}

/// A number that a run shows, and what it may be.
#[derive(Debug)]
pub struct Condition {
    /// What is measured.
    pub what: &'static str,
    /// Its unit, or empty.
    pub unit: &'static str,
    /// The least and the most that is allowed.
    pub within: (f64, f64),
    /// Where this comes from: the draft's words, or the reason for a number that it leaves open.
    pub because: &'static str,
    /// Not judged, since the draft contradicts itself here; `because` says where.
    pub report: bool,
    /// The measurement.
    pub measure: fn(&Flow<'_>) -> Measured,
}

impl Scene {
    /// One with nothing in it.
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
    /// One that changes nothing.
    pub(crate) const fn enters(enters: &'static str) -> Step {
        Step {
            enters,
            after: Span::ZERO,
            flow: "",
            path: "",
        }
    }

    /// The same, no earlier than so many ms after the step before.
    pub(crate) const fn after_ms(self, ms: u64) -> Step {
        Step {
            after: Span::from_millis(ms),
            ..self
        }
    }
}

impl Case {
    /// Runs it.
    ///
    /// # Errors
    /// As of [`run`](crate::run).
    pub fn run(&'static self, subject: &Subject<'_>) -> Result<Outcome, Error> {
        let play = |scene: &'static Scene| -> Result<Played, Error> { subject.play(self, scene) };
        Ok(Outcome {
            case: self,
            scenes: self.scenes.iter().map(play).collect::<Result<_, Error>>()?,
        })
    }

    /// The case's file name, and that of one of its scenes: `A.07-startup`.
    pub fn file_name(&self, scene: &Scene) -> String {
        let (letter, number) = self.section.split_once('.').expect("a section has a point");
        let number: u32 = number.parse().expect("and a number behind it");
        let dash = if scene.name.is_empty() { "" } else { "-" };
        format!("{letter}.{number:02}{dash}{}", scene.name)
    }
}

/// `measure` shall be `within`.
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
    /// The same, only reported.
    pub(crate) const fn reported(self) -> Condition {
        Condition {
            report: true,
            ..self
        }
    }
}

/// No less.
pub(crate) const fn at_least(least: f64) -> (f64, f64) {
    (least, f64::INFINITY)
}

/// No more.
pub(crate) const fn at_most(most: f64) -> (f64, f64) {
    (f64::NEG_INFINITY, most)
}

/// This, but for the trace's seven digits.
pub(crate) const fn exactly(value: f64) -> (f64, f64) {
    (value - 1e-6, value + 1e-6)
}

/// Yes.
pub(crate) const YES: (f64, f64) = exactly(1.0);
/// Never.
pub(crate) const NONE: (f64, f64) = exactly(0.0);
