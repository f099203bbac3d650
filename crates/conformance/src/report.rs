//! Results of the cases.

use std::fmt;

use crate::case::{Case, Condition, Scene};
use crate::view::{Flow, Why};

/// The result of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measured value is within the bounds.
    Met,
    /// The measured value is out of bounds, or could not be measured.
    Missed,
    /// The value is measured but not judged.
    Report,
    /// The algorithm lacks the state or trace field.
    Skipped,
}

impl Verdict {
    /// Returns the word for the verdict in tables.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Missed => "missed",
            Verdict::Report => "report",
            Verdict::Skipped => "skipped",
        }
    }
}

/// A condition and its result.
#[derive(Debug)]
pub struct Judged {
    /// The condition.
    pub condition: &'static Condition,
    /// Measured value, if it could be measured.
    pub measured: Option<f64>,
    /// Verdict.
    pub verdict: Verdict,
    /// Reason for which nothing could be measured; otherwise empty.
    pub why: String,
}

impl Judged {
    pub(crate) fn of(condition: &'static Condition, flow: &Flow<'_>) -> Judged {
        match (condition.measure)(flow) {
            Ok(measured) if measured.is_nan() => Judged::without(
                condition,
                &Why::Never("there is no reference value".to_owned()),
            ),
            Ok(measured) => {
                let (least, most) = condition.within;
                let verdict = match (least..=most).contains(&measured) {
                    _ if condition.report => Verdict::Report,
                    true => Verdict::Met,
                    false => Verdict::Missed,
                };
                Judged {
                    condition,
                    measured: Some(measured),
                    verdict,
                    why: String::new(),
                }
            }
            Err(why) => Judged::without(condition, &why),
        }
    }

    pub(crate) fn without(condition: &'static Condition, why: &Why) -> Judged {
        let (verdict, why) = match why {
            Why::Lacks(what) => (Verdict::Skipped, what),
            Why::Never(what) if condition.report => (Verdict::Report, what),
            Why::Never(what) => (Verdict::Missed, what),
        };
        Judged {
            condition,
            measured: None,
            verdict,
            why: why.clone(),
        }
    }
}

/// A scene that was run.
#[derive(Debug)]
pub struct Played {
    /// The scene.
    pub scene: &'static Scene,
    /// Its scenario, with the times of its steps filled in, so that it can be run separately.
    pub scenario: String,
    /// Its conditions, with their results.
    pub judged: Vec<Judged>,
}

/// A case that was run.
#[derive(Debug)]
pub struct Outcome {
    /// The case.
    pub case: &'static Case,
    /// Its scenes, with their results.
    pub scenes: Vec<Played>,
}

impl Outcome {
    /// Returns missed if any condition is missed, otherwise met if any is met, otherwise skipped.
    pub fn verdict(&self) -> Verdict {
        let any = |verdict| self.judged().any(|judged| judged.verdict == verdict);
        match (any(Verdict::Missed), any(Verdict::Met)) {
            (true, _) => Verdict::Missed,
            (false, true) => Verdict::Met,
            (false, false) => Verdict::Skipped,
        }
    }

    /// Iterates over the conditions of all scenes.
    pub fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.scenes.iter().flat_map(|scene| &scene.judged)
    }
}

/// The results of all cases.
#[derive(Debug)]
pub struct Report {
    /// Name of the algorithm, and its given parameters.
    pub subject: String,
    /// The results of the cases.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Returns whether no condition is missed and at least one is met.
    pub fn is_met(&self) -> bool {
        self.count(Verdict::Missed) == 0 && self.count(Verdict::Met) > 0
    }

    /// Returns the number of cases with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.verdict() == verdict)
            .count()
    }
}

impl fmt::Display for Report {
    /// Prints a line per case and per condition.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: draft-ietf-ccwg-bbr-06, Appendix A", self.subject)?;
        for outcome in &self.outcomes {
            write!(f, "{outcome}")?;
        }
        let [met, missed, skipped] =
            [Verdict::Met, Verdict::Missed, Verdict::Skipped].map(|v| self.count(v));
        write!(
            f,
            "{met} of {} cases met, {missed} missed, {skipped} skipped",
            self.outcomes.len()
        )
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:5} {}: {}",
            self.case.section,
            self.case.title,
            self.verdict().word()
        )?;
        for judged in self.judged() {
            let Condition { what, unit, .. } = judged.condition;
            let measured = judged.measured.map_or_else(|| "–".to_owned(), digits);
            let demanded = demanded(judged.condition.within);
            write!(
                f,
                "      {what:<46} {measured:>8} {unit:<6} {demanded:>13}  {}",
                judged.verdict.word()
            )?;
            writeln!(
                f,
                "{}{}",
                if judged.why.is_empty() { "" } else { ": " },
                judged.why
            )?;
        }
        Ok(())
    }
}

/// Formats the bounds of a condition: `0.98 – 1.02`, `≥ 3`, `1`.
pub fn demanded((least, most): (f64, f64)) -> String {
    match (least.is_finite(), most.is_finite()) {
        (true, true) if most - least < 1e-5 => digits(f64::midpoint(least, most)),
        (true, true) => format!("{} – {}", digits(least), digits(most)),
        (true, false) => format!("≥ {}", digits(least)),
        _ => format!("≤ {}", digits(most)),
    }
}

/// Formats a number with at most four digits.
pub fn digits(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 3,
    };
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
