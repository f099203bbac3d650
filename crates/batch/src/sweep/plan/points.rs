//! Points from axes: every combination, a random sample, or a list.

use std::collections::BTreeMap;

use fullpipe_scenario::Error;
use fullpipe_units::Rng;

use super::request::Varied;
use super::{Plan, UNSET};
use crate::sweep::axis::{Axis, Range};

/// The way in which axes yield points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every combination.
    Cartesian,
    /// Combinations in which some keys change together.
    Zip,
    /// A random sample.
    Sample,
    /// A list given by the caller.
    Listed,
}

impl Mode {
    /// Returns the name of the mode.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Cartesian => "cartesian",
            Mode::Zip => "zip",
            Mode::Sample => "sample",
            Mode::Listed => "callable",
        }
    }
}

/// Upper limit on the number of points; more are certainly a mistake.
const MOST_POINTS: u64 = 10_000_000;

impl Plan {
    /// Makes every combination, with the last axis changing fastest. The keys of `zip` change
    /// together, at the position of the first.
    pub(super) fn combine(&mut self, axes: Varied, zip: &[String]) -> Result<(), Error> {
        self.check_zip(&axes, zip)?;
        self.mode = if zip.is_empty() {
            Mode::Cartesian
        } else {
            Mode::Zip
        };
        let leaders = leaders(&axes, zip);
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

    /// Checks that the zipped keys have values, all the same number.
    fn check_zip(&self, axes: &[(String, Vec<String>)], zip: &[String]) -> Result<(), Error> {
        let length = |key: &String| {
            axes.iter()
                .find(|(known, _)| known == key)
                .map(|(_, values)| values.len())
        };
        for key in zip {
            match (length(key), length(&zip[0])) {
                (None, _) => {
                    let fix = format!("give it values: --set {key}=A,B");
                    return Err(self.template.error(
                        key,
                        "",
                        "is zipped with other keys, but has no values",
                        fix,
                    ));
                }
                (Some(here), Some(first)) if here != first => {
                    let problem = format!("{here} values, and {} has {first}", zip[0]);
                    return Err(self.template.error(
                        key,
                        "",
                        problem,
                        "give zipped keys the same number of values",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Draws `count` points at random. Each axis draws from a random stream of its own, so that
    /// another axis does not affect it.
    pub(super) fn draw(
        &mut self,
        axes: Varied,
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

    /// Takes the points from a list.
    pub(super) fn list(&mut self, points: &[Vec<(String, String)>]) -> Result<(), Error> {
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
        // Index of each value on its axis, to find it again.
        let mut known: Vec<BTreeMap<String, u32>> = Vec::new();
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
                        known.push(BTreeMap::new());
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
            .error("", "", problem, "draw a sample: --sample 1000"))
    }
}

/// Returns, for each axis, the axis that leads it: itself, or the first of the zipped axes.
fn leaders(axes: &[(String, Vec<String>)], zip: &[String]) -> Vec<usize> {
    let leader = |axis: usize| {
        if zip.contains(&axes[axis].0) {
            axes.iter().position(|(key, _)| zip.contains(key))
        } else {
            Some(axis)
        }
    };
    (0..axes.len()).filter_map(leader).collect()
}
