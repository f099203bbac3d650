//! The plan of a sweep: points with their settings, and a seed for each repetition, all checked.

mod check;
mod points;
mod request;

use std::ops::Range as Numbers;
use std::sync::OnceLock;

use fullpipe_cc::Registry;
use fullpipe_scenario::{Error, Scenario, Template};
use fullpipe_units::{Bytes, Span};

use super::axis::Axis;
pub use points::Mode;
pub use request::Request;
pub(super) use request::varied;

/// Marks a key that a point does not set.
const UNSET: u32 = u32::MAX;

/// A sweep whose points have all been checked.
#[derive(Debug)]
pub struct Plan {
    template: Template,
    /// The complete scenario of each point; empty if the template and the settings make it.
    whole: Vec<Template>,
    registry: Registry,
    axes: Vec<Axis>,
    mode: Mode,
    /// For each point, the index of its value on each axis.
    places: Vec<u32>,
    points: usize,
    first_seed: u64,
    repeat: u64,
    /// Largest amount of memory that a run needs, and the point of that run.
    memory: (Bytes, usize),
    jitter: Vec<(&'static str, Span, Span)>,
    /// The first point that only other runners can run.
    elsewhere: Option<usize>,
    /// The scenarios of the first points, made for their first runs: reading one takes as long as 150
    /// packets.
    read: Box<[OnceLock<Scenario>]>,
}

/// Number of points whose scenarios are kept.
const MOST_READ: usize = 1_000;

impl Plan {
    /// Makes the points of a scenario's `text`, which errors call `file`, and checks each.
    /// `registry` has the algorithms.
    pub fn new(
        text: &str,
        file: &str,
        request: &Request,
        registry: Registry,
    ) -> Result<Plan, Error> {
        Plan::of(Template::read(text, file)?, request, registry)
    }

    /// Makes a plan from a template.
    pub fn of(
        mut template: Template,
        request: &Request,
        registry: Registry,
    ) -> Result<Plan, Error> {
        let axes = request::varied(&mut template, request);
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
            elsewhere: None,
            read: Box::default(),
            template,
            whole: request.whole.clone(),
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
        plan.read = (0..plan.points.min(MOST_READ))
            .map(|_| OnceLock::new())
            .collect();
        Ok(plan)
    }

    fn scenario_at(&self, point: usize) -> Result<Scenario, Error> {
        if let Some(whole) = self.whole.get(point) {
            return whole.scenario().map_err(|error| self.within(point, error));
        }
        let mut template = self.template.clone();
        for (key, value) in self.settings(point) {
            template.set(key, value);
        }
        template
            .scenario()
            .map_err(|error| self.within(point, error))
    }

    /// Returns the scenario of a run, by the run's number.
    pub fn scenario(&self, run: u64) -> Scenario {
        let (point, seed) = self.place(run);
        let read = || {
            let mut scenario = self.scenario_at(point).expect("all points were checked");
            if self.repeat > 1 {
                scenario.add_jitter();
            }
            scenario
        };
        let mut scenario = match self.read.get(point) {
            Some(kept) => kept.get_or_init(read).clone(),
            None => read(),
        };
        scenario.seed = seed;
        scenario
    }

    /// Returns the point and seed of a run, by its number.
    pub fn place(&self, run: u64) -> (usize, u64) {
        let points = self.points as u64;
        ((run % points) as usize, self.first_seed + run / points)
    }

    /// Returns the settings of a point: keys with values, as `--set` takes them.
    pub fn settings(&self, point: usize) -> impl Iterator<Item = (&str, &str)> {
        let places = &self.places[point * self.axes.len()..][..self.axes.len()];
        let set = self
            .axes
            .iter()
            .zip(places)
            .filter(|(_, place)| **place != UNSET);
        set.map(|(axis, place)| (axis.key.as_str(), axis.values[*place as usize].as_str()))
    }

    /// Returns the axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns, for each point, the index of its value on an axis; `None` where it does not set the
    /// key.
    pub fn places(&self, axis: usize) -> impl Iterator<Item = Option<u32>> {
        let places = self.places.iter().skip(axis).step_by(self.axes.len());
        places.map(|place| (*place != UNSET).then_some(*place))
    }

    /// Returns the algorithms.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the way in which the axes yield points.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> u64 {
        self.points as u64 * self.repeat
    }

    /// Seeds with which each point runs.
    pub fn seeds(&self) -> Numbers<u64> {
        self.first_seed..self.first_seed + self.repeat
    }

    /// Returns the jitter added so that repetitions differ: the key, and its least and greatest
    /// value over all points.
    pub fn added_jitter(&self) -> &[(&'static str, Span, Span)] {
        &self.jitter
    }

    /// Returns the largest amount of memory that one run needs, and the point of that run.
    pub fn memory(&self) -> (Bytes, usize) {
        self.memory
    }
}
