//! Runs of a population's paths under several arms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use crate::{Around, Column, Values, Work, quantity};
use fullpipe_cc::Registry;
use fullpipe_scenario::{Error, ParamValue, Scenario, algorithm_of};
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Rng, nearest};

use super::paths::Population;
use super::record::{Fields, Record, columns, download};

/// An arm: the configuration that a path's download runs with.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Name of the arm.
    pub name: String,
    /// Congestion control algorithm.
    pub cc: String,
    /// The same as written, with the parameters behind it.
    pub called: String,
    /// Parameters that are set.
    pub params: BTreeMap<String, ParamValue>,
}

impl Arm {
    /// Creates an arm: an algorithm with its default parameters, or with those behind its name.
    pub fn new(text: &str) -> Arm {
        let (cc, params) = algorithm_of(text).unwrap_or_else(|| (text.to_owned(), BTreeMap::new()));
        Arm {
            name: text.to_owned(),
            called: text.to_owned(),
            cc,
            params,
        }
    }
}

/// A population's paths, with one download per path and arm.
#[derive(Debug)]
pub struct PopulationRun {
    population: Population,
    arms: Vec<(Arm, Fields)>,
    seed: u64,
    registry: Registry,
}

impl PopulationRun {
    /// Creates a run of `population` under `arms`. The first flow of each path is the download.
    ///
    /// # Errors If an arm is given twice or does not exist.
    pub fn new(
        population: Population,
        arms: &[String],
        seed: u64,
        registry: Registry,
    ) -> Result<PopulationRun, Error> {
        let mut seen = BTreeSet::new();
        let mut known = Vec::new();
        for name in arms {
            let refuse = |problem: String, fix: String| {
                Err(population.error("cc", &format!("{name:?}"), problem, fix))
            };
            if !seen.insert(name) {
                return refuse(
                    "this arm is given twice".to_owned(),
                    "name each arm once".to_owned(),
                );
            }
            let arm = population.arm(name);
            let Some(descriptor) = registry.get(&arm.cc) else {
                let names = registry.names();
                let meant = nearest(&arm.cc, &names).map(|name| format!("did you mean {name:?}?"));
                let fix = meant.unwrap_or_else(|| format!("there are {}", names.join(", ")));
                return refuse(
                    "neither an arm of this population nor an algorithm".to_owned(),
                    fix,
                );
            };
            known.push((arm, Fields::of(descriptor)));
        }
        if known.is_empty() {
            return Err(population.error(
                "cc",
                "",
                "no arm is given",
                "name at least one: cubic,bbr1",
            ));
        }
        let fleet = PopulationRun {
            population,
            arms: known,
            seed,
            registry,
        };
        for arm in 0..fleet.arms.len() {
            let scenario = fleet.scenario(0, arm)?;
            Simulation::new(&scenario, &fleet.registry, TraceLevel::Off)?;
        }
        Ok(fleet)
    }

    /// Returns the population.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// Returns the names of the arms.
    pub fn arms(&self) -> impl Iterator<Item = &str> {
        self.arms.iter().map(|(arm, _)| arm.name.as_str())
    }

    /// Returns the scenario of path number `path` under arm number `arm`.
    ///
    /// # Errors If the drawn values do not make a valid scenario.
    pub fn scenario(&self, path: u64, arm: usize) -> Result<Scenario, Error> {
        let mut scenario = self
            .population
            .scenario(&self.population.draw(self.seed, path))?;
        set(&mut scenario, &self.arms[arm].0);
        Ok(scenario)
    }

    /// Returns one row per path: its number as `pair`, its class, the seed of its runs, and the
    /// drawn values, as text and, if numeric, as a number in SI units. The columns do not depend on
    /// the selected paths.
    pub fn paths(&self, paths: std::ops::Range<u64>) -> Vec<Column> {
        let drawn: Vec<_> = paths
            .clone()
            .map(|path| self.population.draw(self.seed, path))
            .collect();
        let mut columns = vec![
            Column {
                name: "pair".to_owned(),
                values: Values::Counts(paths.collect()),
            },
            Column {
                name: "class".to_owned(),
                values: words(drawn.iter().map(|path| path.class)),
            },
            Column {
                name: "seed".to_owned(),
                values: Values::Counts(drawn.iter().map(|path| path.seed).collect()),
            },
        ];
        for key in self.population.keys() {
            let text = drawn.iter().map(|path| {
                let found = path.settings.iter().find(|(known, _)| *known == key);
                found.map_or("", |(_, value)| value.as_str())
            });
            let numbers = text
                .clone()
                .map(|text| quantity(text).map_or(f64::NAN, |number| number.value))
                .collect();
            columns.push(Column {
                name: key.to_owned(),
                values: words(text),
            });
            columns.push(Column {
                name: format!("{key}.value"),
                values: Values::Measures(numbers),
            });
        }
        columns
    }

    /// Returns the time of day at which a path's download starts, and the place of the first sample
    /// in its interval, both as fractions.
    fn moments(&self, path: u64) -> (f64, f64) {
        let unit = |usage| Rng::stream(self.seed, &format!("path {path}"), usage).unit();
        (unit("time of day"), unit("first sample"))
    }
}

impl Work for PopulationRun {
    /// One record per arm.
    type Outcome = Vec<Record>;

    fn run(&self, path: u64, stop: &AtomicBool, _: Around) -> Option<(Vec<Record>, u64)> {
        let mut scenario = self
            .population
            .scenario(&self.population.draw(self.seed, path))
            .unwrap_or_else(|error| {
                panic!("path {path} is not valid, although the ends of all ranges are: {error}");
            });
        let (day, phase) = self.moments(path);
        let mut records = Vec::with_capacity(self.arms.len());
        let mut packets = 0;
        for (arm, fields) in &self.arms {
            set(&mut scenario, arm);
            let record = download(&scenario, &self.registry, fields, (day, phase), stop)?;
            packets += record.packets;
            records.push(record);
        }
        Some((records, packets))
    }

    fn columns(&self, runs: impl Iterator<Item = (u64, Vec<Record>)>) -> Vec<Column> {
        let names: Vec<&str> = self.arms().collect();
        let ccs: Vec<&str> = self.arms.iter().map(|(arm, _)| arm.cc.as_str()).collect();
        let (mut pairs, mut arms, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for (path, of_arms) in runs {
            for (arm, record) in of_arms.into_iter().enumerate() {
                pairs.push(path);
                arms.push(arm as u32);
                records.push(record);
            }
        }
        let connections = pairs
            .iter()
            .zip(&arms)
            .map(|(path, arm)| path * names.len() as u64 + u64::from(*arm));
        let labels = |of: &[&str]| of.iter().map(|name| (*name).to_owned()).collect();
        let mut all = vec![
            Column {
                name: "connection".to_owned(),
                values: Values::Counts(connections.collect()),
            },
            Column {
                name: "pair".to_owned(),
                values: Values::Counts(pairs),
            },
            Column {
                name: "cc".to_owned(),
                values: Values::Words {
                    codes: arms.clone(),
                    labels: labels(&ccs),
                },
            },
            Column {
                name: "arm".to_owned(),
                values: Values::Words {
                    codes: arms,
                    labels: labels(&names),
                },
            },
        ];
        all.extend(columns(&records));
        all
    }

    fn place(&self, path: u64) -> (usize, u64) {
        (path as usize, self.population.draw(self.seed, path).seed)
    }
}

/// Sets the download's algorithm and parameters to those of `arm`.
fn set(scenario: &mut Scenario, arm: &Arm) {
    let flow = &mut scenario.flows[0];
    flow.cc.clone_from(&arm.cc);
    flow.called.clone_from(&arm.called);
    flow.params.clone_from(&arm.params);
}

fn words<'a>(texts: impl Iterator<Item = &'a str>) -> Values {
    let (mut labels, mut known) = (Vec::new(), BTreeMap::new());
    let codes = texts.map(|text| {
        *known.entry(text).or_insert_with(|| {
            labels.push(text.to_owned());
            labels.len() as u32 - 1
        })
    });
    Values::Words {
        codes: codes.collect(),
        labels,
    }
}
