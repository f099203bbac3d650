//! Checks of the axes, and of each point as a run would see it.

use std::ops::Range as Numbers;
use std::panic::resume_unwind;
use std::thread;

use fullpipe_scenario::{Error, Scenario};
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Bytes, Span};

use super::Plan;
use crate::sweep::axis::Range;

const MOST_REPEATS: u64 = 1_000_000_000;

impl Plan {
    pub(super) fn check_axes(
        &self,
        axes: &[(String, Vec<String>)],
        sample: Option<u64>,
    ) -> Result<(), Error> {
        for (key, values) in axes {
            let refuse = |value: &str, problem: &str, fix: &str| {
                Err(self.template.error(key, value, problem, fix))
            };
            if key == "seed" {
                let fix = "use --repeat 30 to run each point with 30 seeds";
                return refuse("", "seeds cannot be swept", fix);
            }
            self.check_range(key, values, sample)?;
            if values.is_empty() {
                return refuse("[]", "no values", "give values, like [\"1bdp\", \"8bdp\"]");
            }
            if let Some(value) = values
                .iter()
                .enumerate()
                .find_map(|(i, value)| values[..i].contains(value).then_some(value))
            {
                return refuse(
                    &quoted(value),
                    "this value is given twice",
                    "use --repeat to run a point again",
                );
            }
        }
        Ok(())
    }

    /// A range must be the only value of its key, and needs a sample.
    fn check_range(&self, key: &str, values: &[String], sample: Option<u64>) -> Result<(), Error> {
        let found = values
            .iter()
            .find_map(|value| Some((value, Range::read(value)?)));
        let Some((value, range)) = found else {
            return Ok(());
        };
        let (problem, fix) = match range {
            Err(problem) => (problem, "write a range like \"1ms..1s\" or \"1ms..1s log\""),
            Ok(_) if values.len() > 1 => (
                "a range allows no other values".to_owned(),
                "give one range, or only values",
            ),
            Ok(_) if sample.is_none() => (
                "a range needs --sample".to_owned(),
                "use --sample 100 to draw 100 points, or give values separated by commas",
            ),
            Ok(_) => return Ok(()),
        };
        Err(self.template.error(key, &quoted(value), problem, fix))
    }

    pub(super) fn check_repeats(&mut self) -> Result<(), Error> {
        self.first_seed = self.scenario_at(0)?.seed;
        let last = self.first_seed.saturating_add(self.repeat - 1);
        if self.repeat > MOST_REPEATS || last > i64::MAX as u64 {
            let problem = format!("{} repetitions are too many", self.repeat);
            return Err(self.template.error(
                "",
                "",
                problem,
                "use fewer repetitions, or a smaller first seed",
            ));
        }
        Ok(())
    }

    /// Checks each point as a run would, on all cores; refuses the first one that is wrong.
    pub(super) fn check_points(&mut self) -> Result<(), Error> {
        let cores = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(self.points.div_ceil(64));
        let part = self.points.div_ceil(cores);
        let parts = thread::scope(|scope| {
            let check = |first: usize| {
                let plan = &*self;
                scope.spawn(move || plan.check_some(first..(first + part).min(plan.points)))
            };
            let running: Vec<_> = (0..cores).map(|core| check(core * part)).collect();
            running
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect::<Vec<_>>()
        });
        let mut jitter: Vec<(&'static str, Span, Span)> = Vec::new();
        for checked in parts {
            let checked = checked?;
            self.memory = self.memory.max(checked.memory);
            self.elsewhere = self.elsewhere.or(checked.elsewhere);
            for (key, least, most) in checked.jitter {
                match jitter.iter_mut().find(|(known, ..)| *known == key) {
                    Some((_, low, high)) => (*low, *high) = ((*low).min(least), (*high).max(most)),
                    None => jitter.push((key, least, most)),
                }
            }
        }
        self.jitter = jitter;
        Ok(())
    }

    fn check_some(&self, points: Numbers<usize>) -> Result<Checked, Error> {
        let registry = &self.registry;
        let mut found = Checked::default();
        let jitter = &mut found.jitter;
        for point in points {
            let mut scenario = self.scenario_at(point)?;
            if self.repeat > 1 {
                jitter.extend(
                    scenario
                        .add_jitter()
                        .into_iter()
                        .map(|(key, added)| (key, added, added)),
                );
                jitter.sort_by_key(|(key, ..)| *key);
                jitter.dedup_by(|other, kept| {
                    (kept.1, kept.2) = if kept.0 == other.0 {
                        (kept.1.min(other.1), kept.2.max(other.2))
                    } else {
                        (kept.1, kept.2)
                    };
                    kept.0 == other.0
                });
                if !fullpipe_setup::is_random(&scenario, registry) {
                    let problem = "nothing in this scenario is random: every repetition would be the same run";
                    let fix = "omit start_jitter and send_jitter, so that --repeat sets them, or omit --repeat";
                    return Err(self.within(point, self.template.error("", "", problem, fix)));
                }
            }
            // Other runners have programs, and algorithms of a kernel; `simulated` refuses them.
            if self.is_elsewhere(&scenario) {
                found.elsewhere = found.elsewhere.or(Some(point));
                continue;
            }
            Simulation::new(&scenario, registry, TraceLevel::Off)
                .map_err(|error| self.within(point, error))?;
            found.memory = found.memory.max((
                fullpipe_sim::memory_needed(&scenario, TraceLevel::Off),
                point,
            ));
        }
        Ok(found)
    }

    /// Returns whether a flow is a program, or has an algorithm that the simulator lacks.
    fn is_elsewhere(&self, scenario: &Scenario) -> bool {
        let arriving = scenario.workloads.iter().map(|workload| &workload.flow);
        scenario.flows.iter().chain(arriving).any(|flow| {
            let known = flow.is_unresponsive()
                || self.registry.get(&flow.cc).is_some()
                || self.registry.receiver(&flow.cc).is_some();
            flow.program.is_some() || !known
        })
    }

    /// Checks that the simulator can run each point.
    ///
    /// # Errors
    /// When a flow is a program, or has an algorithm that only other runners may have.
    pub fn simulated(&self) -> Result<(), Error> {
        let Some(point) = self.elsewhere else {
            return Ok(());
        };
        Simulation::new(&self.scenario_at(point)?, &self.registry, TraceLevel::Off)
            .map(drop)
            .map_err(|error| self.within(point, error))
    }

    /// Adds the point to an error, if there are several points.
    pub(super) fn within(&self, point: usize, error: Error) -> Error {
        if self.axes.is_empty() {
            return error;
        }
        let settings: Vec<String> = self
            .settings(point)
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        error.within(format!(
            "point {point} of {} ({})",
            self.points,
            settings.join(", ")
        ))
    }
}

/// The result of the checks of some points.
#[derive(Default)]
struct Checked {
    /// The largest amount of memory that a run needs, and the point of that run.
    memory: (Bytes, usize),
    /// The keys with added jitter, each with the least and the largest.
    jitter: Vec<(&'static str, Span, Span)>,
    /// The first point that only other runners can run.
    elsewhere: Option<usize>,
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}
