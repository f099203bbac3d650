//! What is run: points, each with its settings and as many seeds as there are repetitions, all
//! checked.

use std::ops::Range as Numbers;
use std::panic::resume_unwind;
use std::thread;

use fullpipe_cc::Registry;
use fullpipe_scenario::{Error, Scenario, Template};
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Bytes, Rng, Span};

use super::axis::{Axis, Range, split};

/// What a sweep is asked to be.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Keys with one value each, for every point.
    pub fixed: Vec<(String, String)>,
    /// Keys with their values, or with one range each; in the place of those in the file that have
    /// the same key.
    pub axes: Vec<(String, Vec<String>)>,
    /// Keys with what stands behind the `=` of a `--set`: one value for every point, or several
    /// with commas between.
    pub set: Vec<(String, String)>,
    /// Keys that are varied together; none for those of the file.
    pub zip: Vec<String>,
    /// How many points are drawn; none for what the file says, or every combination.
    pub sample: Option<u64>,
    /// Runs of each point; none for what the file says, or one.
    pub repeat: Option<u64>,
    /// The seed of the first run of each point, and of what is drawn; none for the scenario's.
    pub seed: Option<u64>,
    /// The points themselves, in the place of axes: each a list of keys with their values.
    pub points: Option<Vec<Vec<(String, String)>>>,
}

/// How axes come to points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every combination.
    Cartesian,
    /// Some keys together.
    Zip,
    /// Drawn at random.
    Sample,
    /// As they were given.
    Listed,
}

impl Mode {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Cartesian => "cartesian",
            Mode::Zip => "zip",
            Mode::Sample => "sample",
            Mode::Listed => "callable",
        }
    }
}

/// More points than this can't be meant.
const MOST_POINTS: u64 = 10_000_000;
const MOST_REPEATS: u64 = 1_000_000_000;
/// A key that a point does not set.
const UNSET: u32 = u32::MAX;

/// A sweep whose points have all been checked.
#[derive(Debug)]
pub struct Plan {
    template: Template,
    registry: Registry,
    axes: Vec<Axis>,
    mode: Mode,
    /// Of each point the number of its value on each axis.
    places: Vec<u32>,
    points: usize,
    first_seed: u64,
    repeat: u64,
    /// The most memory that a run of a point needs, and which point's that is.
    memory: (Bytes, usize),
    jitter: Vec<(&'static str, Span, Span)>,
}

impl Plan {
    /// Makes the points of `text`, which errors call `file`, and checks each; `registry` has the
    /// algorithms.
    pub fn new(
        text: &str,
        file: &str,
        request: &Request,
        registry: Registry,
    ) -> Result<Plan, Error> {
        Plan::of(Template::read(text, file)?, request, registry)
    }

    /// The same of a template.
    pub fn of(
        mut template: Template,
        request: &Request,
        registry: Registry,
    ) -> Result<Plan, Error> {
        let mut axes = match request.points {
            None => template.sweep().axes.clone(),
            Some(_) => Vec::new(),
        };
        for (key, values) in &request.axes {
            place(&mut axes, key, values.clone());
        }
        let mut fixed = request.fixed.clone();
        for (key, text) in &request.set {
            let values = split(text);
            if values.len() > 1 || Range::read(text).is_some() {
                place(&mut axes, key, values);
            } else {
                fixed.push((key.clone(), text.clone()));
            }
        }
        for (key, text) in &fixed {
            axes.retain(|(varied, _)| varied != key);
            template.set(key, text);
        }
        if let Some(seed) = request.seed {
            template.set_seed(seed);
        }
        let zip = if request.zip.is_empty() {
            &template.sweep().zip
        } else {
            &request.zip
        }
        .clone();
        let sample = request
            .sample
            .or(template.sweep().sample)
            .filter(|_| request.points.is_none());
        let repeat = request.repeat.or(template.sweep().repeat).unwrap_or(1);
        let mut plan = Plan {
            axes: Vec::new(),
            mode: Mode::Cartesian,
            places: Vec::new(),
            points: 0,
            first_seed: 0,
            repeat,
            memory: (Bytes::ZERO, 0),
            jitter: Vec::new(),
            template,
            registry,
        };
        plan.check_axes(&axes, sample)?;
        match (&request.points, sample) {
            (Some(points), _) => plan.list(points)?,
            (None, Some(count)) => plan.draw(axes, count, request.seed)?,
            (None, None) => plan.combine(axes, &zip)?,
        }
        plan.check_repeats()?;
        plan.check_points()?;
        Ok(plan)
    }

    fn check_axes(&self, axes: &[(String, Vec<String>)], sample: Option<u64>) -> Result<(), Error> {
        for (key, values) in axes {
            let refuse = |value: &str, problem: String, fix: &str| {
                Err(self.template.error(key, value, problem, fix))
            };
            if key == "seed" {
                return refuse(
                    "",
                    "seeds are counted up".to_owned(),
                    "--repeat 30 runs each point with 30 of them",
                );
            }
            match values
                .iter()
                .find_map(|value| Some((value, Range::read(value)?)))
            {
                Some((value, Err(problem))) => {
                    return refuse(
                        &quoted(value),
                        problem,
                        "write a range like \"1ms..1s\" or \"1ms..1s log\"",
                    );
                }
                Some((value, Ok(_))) if values.len() > 1 => {
                    let problem = "a range stands by itself".to_owned();
                    return refuse(
                        &quoted(value),
                        problem,
                        "give one range, or values without one",
                    );
                }
                Some((value, Ok(_))) if sample.is_none() => {
                    let fix = "--sample 100 draws 100 points; or give values, with commas between";
                    return refuse(&quoted(value), "a range is drawn from".to_owned(), fix);
                }
                _ => {}
            }
            if values.is_empty() {
                return refuse(
                    "[]",
                    "no values".to_owned(),
                    "give some, like [\"1bdp\", \"8bdp\"]",
                );
            }
            if let Some(value) = values
                .iter()
                .enumerate()
                .find_map(|(i, value)| values[..i].contains(value).then_some(value))
            {
                return refuse(
                    &quoted(value),
                    "this value is here a second time".to_owned(),
                    "--repeat runs a point again",
                );
            }
        }
        Ok(())
    }

    /// Every combination, the last axis changing fastest; the keys of `zip` change together, at the
    /// place of the first.
    fn combine(&mut self, axes: Vec<(String, Vec<String>)>, zip: &[String]) -> Result<(), Error> {
        let length = |key: &String| {
            axes.iter()
                .find(|(known, _)| known == key)
                .map(|(_, values)| values.len())
        };
        for key in zip {
            match (length(key), length(&zip[0])) {
                (None, _) => {
                    let fix = format!("give it some: --set {key}=A,B");
                    return Err(self.template.error(
                        key,
                        "",
                        "to be varied with others, and has no values",
                        fix,
                    ));
                }
                (Some(here), Some(first)) if here != first => {
                    let problem = format!("{here} values, and {} has {first}", zip[0]);
                    return Err(self.template.error(
                        key,
                        "",
                        problem,
                        "keys that are varied together have as many each",
                    ));
                }
                _ => {}
            }
        }
        self.mode = if zip.is_empty() {
            Mode::Cartesian
        } else {
            Mode::Zip
        };
        // What each axis follows: itself, or the first of the zipped.
        let leader = |axis: usize| {
            if zip.contains(&axes[axis].0) {
                axes.iter().position(|(key, _)| zip.contains(key))
            } else {
                Some(axis)
            }
        };
        let leaders: Vec<usize> = (0..axes.len()).filter_map(leader).collect();
        let sizes = axes.iter().enumerate().map(|(i, (_, values))| {
            if leaders[i] == i {
                values.len() as u64
            } else {
                1
            }
        });
        let total = sizes.clone().fold(1_u64, u64::saturating_mul);
        self.check_count(total)?;
        let mut strides = vec![1_u64; axes.len()];
        let sizes: Vec<u64> = sizes.collect();
        for axis in (0..axes.len().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * sizes[axis + 1];
        }
        for point in 0..total {
            for leader in &leaders {
                self.places
                    .push((point / strides[*leader] % sizes[*leader]) as u32);
            }
        }
        self.points = total as usize;
        self.axes = axes
            .into_iter()
            .map(|(key, values)| Axis { key, values })
            .collect();
        Ok(())
    }

    /// So many points at random. Each axis draws from a stream of its own, so that another one
    /// changes nothing of it.
    fn draw(
        &mut self,
        axes: Vec<(String, Vec<String>)>,
        count: u64,
        seed: Option<u64>,
    ) -> Result<(), Error> {
        self.mode = Mode::Sample;
        self.check_count(count)?;
        self.points = count as usize;
        let seed = seed.unwrap_or_else(|| self.template.seed());
        let mut drawn: Vec<(Axis, Vec<u32>)> = Vec::new();
        for (key, values) in axes {
            let mut rng = Rng::stream(seed, &key, "sweep");
            drawn.push(
                match values.first().and_then(|value| Range::read(value)?.ok()) {
                    Some(range) => {
                        let values = (0..count).map(|_| range.draw(&mut rng)).collect();
                        (Axis { key, values }, (0..count as u32).collect())
                    }
                    None => {
                        let places = (0..count)
                            .map(|_| rng.below(values.len() as u64) as u32)
                            .collect();
                        (Axis { key, values }, places)
                    }
                },
            );
        }
        self.places = (0..self.points)
            .flat_map(|point| drawn.iter().map(move |(_, places)| places[point]))
            .collect();
        self.axes = drawn.into_iter().map(|(axis, _)| axis).collect();
        Ok(())
    }

    /// The points as they were given.
    fn list(&mut self, points: &[Vec<(String, String)>]) -> Result<(), Error> {
        self.mode = Mode::Listed;
        if points.is_empty() {
            return Err(self.template.error(
                "",
                "",
                "the list of points is empty",
                "give at least one",
            ));
        }
        self.check_count(points.len() as u64)?;
        self.points = points.len();
        let mut places: Vec<Vec<u32>> = Vec::with_capacity(points.len());
        // The place of each value on its axis, to find it again.
        let mut known: Vec<std::collections::BTreeMap<String, u32>> = Vec::new();
        for point in points {
            let mut at = vec![UNSET; self.axes.len()];
            for (key, value) in point {
                let axis = self
                    .axes
                    .iter()
                    .position(|axis| axis.key == *key)
                    .unwrap_or_else(|| {
                        self.axes.push(Axis {
                            key: key.clone(),
                            values: Vec::new(),
                        });
                        known.push(std::collections::BTreeMap::new());
                        at.push(UNSET);
                        self.axes.len() - 1
                    });
                let values = &mut self.axes[axis].values;
                at[axis] = *known[axis].entry(value.clone()).or_insert_with(|| {
                    values.push(value.clone());
                    values.len() as u32 - 1
                });
            }
            places.push(at);
        }
        let axes = self.axes.len();
        self.places = places
            .into_iter()
            .flat_map(|mut at| {
                at.resize(axes, UNSET);
                at
            })
            .collect();
        Ok(())
    }

    fn check_count(&self, points: u64) -> Result<(), Error> {
        if points <= MOST_POINTS {
            return Ok(());
        }
        let problem = format!("{points} points are more than {MOST_POINTS}");
        Err(self
            .template
            .error("", "", problem, "draw some of them: --sample 1000"))
    }

    fn check_repeats(&mut self) -> Result<(), Error> {
        self.first_seed = self.scenario_at(0)?.seed;
        let last = self.first_seed.saturating_add(self.repeat - 1);
        if self.repeat > MOST_REPEATS || last > i64::MAX as u64 {
            let problem = format!("{} repetitions are too many", self.repeat);
            return Err(self.template.error(
                "",
                "",
                problem,
                "repeat less often, or begin at a smaller seed",
            ));
        }
        Ok(())
    }

    /// Checks each point as a run would, on all cores; refuses the first that is wrong.
    fn check_points(&mut self) -> Result<(), Error> {
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
            let (memory, added) = checked?;
            self.memory = self.memory.max(memory);
            for (key, least, most) in added {
                match jitter.iter_mut().find(|(known, ..)| *known == key) {
                    Some((_, low, high)) => (*low, *high) = ((*low).min(least), (*high).max(most)),
                    None => jitter.push((key, least, most)),
                }
            }
        }
        self.jitter = jitter;
        Ok(())
    }

    #[expect(
        clippy::type_complexity,
        reason = "what check_points sums up, and nobody else sees"
    )]
    fn check_some(
        &self,
        points: Numbers<usize>,
    ) -> Result<((Bytes, usize), Vec<(&'static str, Span, Span)>), Error> {
        let registry = &self.registry;
        let (mut memory, mut jitter) = ((Bytes::ZERO, 0), Vec::new());
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
                    let fix = "leave out start_jitter and send_jitter, which --repeat then sets, or do without --repeat";
                    return Err(self.within(point, self.template.error("", "", problem, fix)));
                }
            }
            Simulation::new(&scenario, registry, TraceLevel::Off)
                .map_err(|error| self.within(point, error))?;
            memory = memory.max((
                fullpipe_sim::memory_needed(&scenario, TraceLevel::Off),
                point,
            ));
        }
        Ok((memory, jitter))
    }

    /// Says which point an error is about, where there are several.
    fn within(&self, point: usize, error: Error) -> Error {
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

    fn scenario_at(&self, point: usize) -> Result<Scenario, Error> {
        let mut template = self.template.clone();
        for (key, value) in self.settings(point) {
            template.set(key, value);
        }
        template
            .scenario()
            .map_err(|error| self.within(point, error))
    }

    /// The scenario of a run, by the run's number.
    pub fn scenario(&self, run: u64) -> Scenario {
        let (point, seed) = self.place(run);
        let mut scenario = self.scenario_at(point).expect("every point was checked");
        if self.repeat > 1 {
            scenario.add_jitter();
        }
        scenario.seed = seed;
        scenario
    }

    /// Point and seed of a run, by its number.
    pub fn place(&self, run: u64) -> (usize, u64) {
        let points = self.points as u64;
        ((run % points) as usize, self.first_seed + run / points)
    }

    /// What a point sets: keys with values, as `--set` takes them.
    pub fn settings(&self, point: usize) -> impl Iterator<Item = (&str, &str)> {
        let places = &self.places[point * self.axes.len()..][..self.axes.len()];
        let set = self
            .axes
            .iter()
            .zip(places)
            .filter(|(_, place)| **place != UNSET);
        set.map(|(axis, place)| (axis.key.as_str(), axis.values[*place as usize].as_str()))
    }

    /// What is varied.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Of each point the number of its value on an axis; none where it does not set that key.
    pub fn places(&self, axis: usize) -> impl Iterator<Item = Option<u32>> {
        let places = self.places.iter().skip(axis).step_by(self.axes.len());
        places.map(|place| (*place != UNSET).then_some(*place))
    }

    /// The algorithms.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// How the axes come to points.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How many points there are.
    pub fn points(&self) -> usize {
        self.points
    }

    /// How many runs there are.
    pub fn runs(&self) -> u64 {
        self.points as u64 * self.repeat
    }

    /// The seeds that each point is run with.
    pub fn seeds(&self) -> Numbers<u64> {
        self.first_seed..self.first_seed + self.repeat
    }

    /// What was added so that repetitions differ: the key, and the least and most of it in any
    /// point.
    pub fn added_jitter(&self) -> &[(&'static str, Span, Span)] {
        &self.jitter
    }

    /// The most memory that one run needs, and the point that it is a run of.
    pub fn memory(&self) -> (Bytes, usize) {
        self.memory
    }
}

/// Puts an axis in the place of the one with its key, or behind all.
fn place(axes: &mut Vec<(String, Vec<String>)>, key: &str, values: Vec<String>) {
    match axes.iter_mut().find(|(known, _)| known == key) {
        Some((_, there)) => *there = values,
        None => axes.push((key.to_owned(), values)),
    }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}
