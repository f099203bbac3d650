//! What came of the cases.

use std::fmt;

use crate::case::{Case, Condition, Scene};
use crate::view::{Flow, Why};

/// What came of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Met,
    /// It doesn't.
    Missed,
    /// It is measured and not judged.
    Report,
    /// The algorithm has no such state or trace field.
    Skipped,
}

impl Verdict {
    /// As tables say it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Missed => "missed",
            Verdict::Report => "report",
            Verdict::Skipped => "skipped",
        }
    }
}

/// A condition with what came of it.
#[derive(Debug)]
pub struct Judged {
    /// The condition.
    pub condition: &'static Condition,
    /// What was measured, if it could be.
    pub measured: Option<f64>,
    /// What came of it.
    pub verdict: Verdict,
    /// Why nothing could be measured; else empty.
    pub why: String,
}

impl Judged {
    pub(crate) fn of(condition: &'static Condition, flow: &Flow<'_>) -> Judged {
        match (condition.measure)(flow) {
            Ok(measured) if measured.is_nan() => Judged::without(
                condition,
                &Why::Never("there is nothing to compare with".to_owned()),
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
    /// Its scenario, with the times of its steps: it can be run by itself.
    pub scenario: String,
    /// Its conditions.
    pub judged: Vec<Judged>,
}

/// A case that was run.
#[derive(Debug)]
pub struct Outcome {
    /// The case.
    pub case: &'static Case,
    /// Its scenes.
    pub scenes: Vec<Played>,
}

impl Outcome {
    /// Missed if a condition is, else met if one is, else skipped.
    pub fn verdict(&self) -> Verdict {
        let any = |verdict| self.judged().any(|judged| judged.verdict == verdict);
        match (any(Verdict::Missed), any(Verdict::Met)) {
            (true, _) => Verdict::Missed,
            (false, true) => Verdict::Met,
            (false, false) => Verdict::Skipped,
        }
    }

    /// The conditions of all scenes.
    pub fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.scenes.iter().flat_map(|scene| &scene.judged)
    }
}

/// All cases.
#[derive(Debug)]
pub struct Report {
    /// The algorithm, and what was set of it.
    pub subject: String,
    /// The cases.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Whether no condition is missed, and some are met.
    pub fn is_met(&self) -> bool {
        self.count(Verdict::Missed) == 0 && self.count(Verdict::Met) > 0
    }

    /// The cases with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.verdict() == verdict)
            .count()
    }
}

impl fmt::Display for Report {
    /// A line a case and one a condition.
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

/// What a condition allows, in short: `0.98 – 1.02`, `≥ 3`, `1`.
pub fn demanded((least, most): (f64, f64)) -> String {
    match (least.is_finite(), most.is_finite()) {
        (true, true) if most - least < 1e-5 => digits(f64::midpoint(least, most)),
        (true, true) => format!("{} – {}", digits(least), digits(most)),
        (true, false) => format!("≥ {}", digits(least)),
        _ => format!("≤ {}", digits(most)),
    }
}

/// A number with four digits at most.
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
