//! Plays a scene: determines when the flow reaches each step, then runs the complete scenario.
//!
//! A run is bit-identical up to the first change of its scenario. A run without a step therefore
//! shows when the flow reaches the step's state; the scenario with the step at this fixed time can
//! be run again by anyone.

use fullpipe_cc::{Descriptor, Registry};
use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::Span;

use crate::case::{Case, Scene, Step};
use crate::cases::CASES;
use crate::report::{Judged, Played, Report};
use crate::view::{Flow, Why, changes, has_state};

/// The algorithm under test.
#[derive(Debug)]
pub struct Subject<'a> {
    registry: &'a Registry,
    descriptor: &'static Descriptor,
    params: Vec<(String, String)>,
    seed: u64,
}

/// A minimal scenario, to check whether the algorithm can run at all.
const PROBE: &str = "stack = \"rfc\"\nduration = \"1s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n\
                     [[flow]]\ncc = \"newreno\"\n";

impl<'a> Subject<'a> {
    /// Selects the algorithm `cc` of `registry`, with the parameters `params`.
    ///
    /// # Errors
    /// If the algorithm or a parameter does not exist, or if the algorithm cannot run in the
    /// simulator.
    pub fn new(
        registry: &'a Registry,
        cc: &str,
        params: &[(&str, &str)],
    ) -> Result<Subject<'a>, Error> {
        let mut overrides = vec![("flow.0.cc".to_owned(), cc.to_owned())];
        overrides.extend(
            params
                .iter()
                .map(|(name, value)| (format!("flow.0.params.{name}"), (*value).to_owned())),
        );
        let scenario = Scenario::parse_with(PROBE, "conformance", &overrides, None)?;
        fullpipe_sim::Simulation::new(&scenario, registry, TraceLevel::Off)?;
        let Some(descriptor) = registry.get(cc) else {
            let fix = "name an algorithm; `fullpipe list algorithms` lists them";
            return Err(scenario.error(
                "flow.0.cc",
                format!("{cc:?}"),
                "not a congestion-control algorithm",
                fix,
            ));
        };
        let params = scenario.flows[0]
            .params
            .iter()
            .map(|(name, value)| (name.clone(), value.to_string()))
            .collect();
        Ok(Subject {
            registry,
            descriptor,
            params,
            seed: 1,
        })
    }

    /// Sets another seed for the random numbers of the scenarios.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Subject<'a> {
        Subject { seed, ..self }
    }

    /// Runs all cases.
    ///
    /// # Errors
    /// If the algorithm cannot run in the simulator.
    pub fn run(&self) -> Result<Report, Error> {
        let outcomes = CASES
            .iter()
            .map(|case| case.run(self))
            .collect::<Result<_, Error>>()?;
        Ok(Report {
            subject: self.title(),
            outcomes,
        })
    }

    /// Returns the name of the algorithm, and its given parameters.
    pub fn title(&self) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        match params.as_slice() {
            [] => self.descriptor.name.to_owned(),
            some => format!("{}, {}", self.descriptor.name, some.join(", ")),
        }
    }

    /// Returns the scenario of a scene, with the steps at the known times.
    fn scenario(&self, case: &Case, scene: &Scene, times: &[Span]) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        let params = if params.is_empty() {
            String::new()
        } else {
            format!("params = {{ {} }}\n", params.join(", "))
        };
        let title = if scene.name.is_empty() {
            String::new()
        } else {
            format!(" ({})", scene.name)
        };
        let mut text = format!(
            "# {} {}{title}\n# draft-ietf-ccwg-bbr-06, Appendix A\nstack = \"rfc\"\nseed = {}\n{}\n{}\n[[flow]]\ncc = \"{}\"\n{params}{}",
            case.section,
            case.title,
            self.seed,
            scene.scenario.trim(),
            scene.path,
            self.descriptor.name,
            scene.flow,
        );
        let steps = || scene.steps.iter().zip(times);
        for (step, time) in steps().filter(|(step, _)| !step.flow.is_empty()) {
            text.push_str(&at_time(
                &format!("{}  # enters {} at $t\n", step.flow, step.enters),
                *time,
            ));
        }
        for (step, time) in steps().filter(|(step, _)| !step.path.is_empty()) {
            text.push_str(&at_time(
                &format!("\n# Enters {} at $t.\n{}\n", step.enters, step.path.trim()),
                *time,
            ));
        }
        text
    }

    fn simulate(
        &self,
        case: &Case,
        text: &str,
        level: TraceLevel,
    ) -> Result<(Scenario, Run), Error> {
        let scenario = Scenario::parse(text, case.section)?;
        let run = fullpipe_sim::run(&scenario, self.registry, level)?;
        Ok((scenario, run))
    }

    /// Runs a scene and judges its conditions.
    pub(crate) fn play(&self, case: &'static Case, scene: &'static Scene) -> Result<Played, Error> {
        let mut times = Vec::new();
        let unplayed = |why: &Why, times: &[Span]| {
            let judged = scene
                .conditions
                .iter()
                .map(|condition| Judged::without(condition, why))
                .collect();
            Played {
                scene,
                scenario: self.scenario(case, scene, times),
                judged,
            }
        };
        if let Err(why) = has_state(self.descriptor, scene.state) {
            return Ok(unplayed(&why, &times));
        }
        for step in scene.steps {
            match self.find(case, scene, step, &times)? {
                Ok(time) => times.push(time),
                Err(why) => return Ok(unplayed(&why, &times)),
            }
        }
        let text = self.scenario(case, scene, &times);
        let (scenario, run) = self.simulate(
            case,
            &text,
            scene.every.map_or(TraceLevel::Acks, TraceLevel::Every),
        )?;
        let trace = run.trace.as_ref().expect("a trace was requested");
        let seconds: Vec<f64> = times.iter().map(|time| time.as_secs_f64()).collect();
        let flow = Flow::new(self.descriptor, &scenario, (&run.summary, trace), &seconds);
        let judged = scene
            .conditions
            .iter()
            .map(|condition| Judged::of(condition, &flow))
            .collect();
        Ok(Played {
            scene,
            scenario: text,
            judged,
        })
    }

    /// Finds the time at which the flow enters the step's state, after the previous steps.
    fn find(
        &self,
        case: &Case,
        scene: &Scene,
        step: &Step,
        times: &[Span],
    ) -> Result<Result<Span, Why>, Error> {
        if let Err(why) = has_state(self.descriptor, step.enters) {
            return Ok(Err(why));
        }
        let text = self.scenario(case, scene, times);
        let (_, run) = self.simulate(case, &text, TraceLevel::Every(Span::from_secs(3600)))?;
        let trace = run.trace.as_ref().expect("a trace was requested");
        let table = trace
            .tables
            .iter()
            .find(|table| table.name == "transitions")
            .expect("every trace has this table");
        let since = times.last().copied().unwrap_or(Span::ZERO) + step.after;
        let found = changes(table)
            .iter()
            .find(|change| change.to.starts_with(step.enters) && change.at >= since.as_secs_f64())
            .map(|change| Span::from_nanos((change.at * 1e9).round() as u64));
        Ok(found.ok_or_else(|| Why::Never(format!("never enters {} after {since}", step.enters))))
    }
}

/// Replaces `$t` and `$t+20ms` by times.
fn at_time(text: &str, time: Span) -> String {
    let mut parts = text.split("$t");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (later, rest) = match part.strip_prefix('+') {
            Some(part) => {
                let end = part
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
                    .expect("text follows a time");
                (
                    part[..end].parse().expect("a duration follows $t+"),
                    &part[end..],
                )
            }
            None => (Span::ZERO, part),
        };
        filled.push_str(&format!("{}{rest}", time + later));
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_put_where_they_belong() {
        let filled = at_time(
            "at = \"$t\"\nto = \"$t+20ms pause, $t+1s unlimited\"",
            Span::from_micros(3),
        );
        assert_eq!(
            filled,
            "at = \"3us\"\nto = \"20.003ms pause, 1.000003s unlimited\""
        );
    }
}
