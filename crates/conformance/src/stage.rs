//! Plays a scene: finds out when the flow comes to each step, then runs the whole.
//!
//! A run is the same to the bit up to the first change of its scenario. So a run without a step
//! shows when the flow gets there, and the scenario that has the step at that time is one that
//! anybody can run again.

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

/// The least that a scenario can be, to see whether the algorithm can run at all.
const PROBE: &str = "duration = \"1s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n\
                     [[flow]]\ncc = \"newreno\"\n";

impl<'a> Subject<'a> {
    /// The algorithm `cc` of `registry` with these of its parameters set.
    ///
    /// # Errors
    /// When there is no such algorithm or parameter, or it can't run in the simulator.
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
            let fix = "name an algorithm: fullpipe list algorithms";
            return Err(scenario.error(
                "flow.0.cc",
                format!("{cc:?}"),
                "this is no congestion control",
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

    /// The same with another seed of everything random.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Subject<'a> {
        Subject { seed, ..self }
    }

    /// Runs all cases.
    ///
    /// # Errors
    /// When it can't run in the simulator.
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

    /// Its name, and the parameters that are set.
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

    /// The scenario of a scene, with the steps whose times are known.
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
            "# {} {}{title}\n# draft-ietf-ccwg-bbr-06, Appendix A\nseed = {}\n{}\n{}\n[[flow]]\ncc = \"{}\"\n{params}{}",
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
        let trace = run.trace.as_ref().expect("it was asked for");
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

    /// When the flow enters the step's state, with the steps before it done.
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
        let trace = run.trace.as_ref().expect("it was asked for");
        let table = trace
            .tables
            .iter()
            .find(|table| table.name == "transitions")
            .expect("every trace has it");
        let since = times.last().copied().unwrap_or(Span::ZERO) + step.after;
        let found = changes(table)
            .iter()
            .find(|change| change.to.starts_with(step.enters) && change.at >= since.as_secs_f64())
            .map(|change| Span::from_nanos((change.at * 1e9).round() as u64));
        Ok(found.ok_or_else(|| Why::Never(format!("never enters {} after {since}", step.enters))))
    }
}

/// Puts the time in the place of `$t` and `$t+20ms`.
fn at_time(text: &str, time: Span) -> String {
    let mut parts = text.split("$t");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (later, rest) = match part.strip_prefix('+') {
            Some(part) => {
                let end = part
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
                    .expect("something stands behind a time");
                (
                    part[..end].parse().expect("a duration stands behind $t+"),
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
