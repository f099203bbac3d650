//! How axes come to points: every combination, some drawn, or a list.

use std::collections::BTreeMap;

use fullpipe_scenario::Error;
use fullpipe_units::Rng;

use super::request::Varied;
use super::{Plan, UNSET};
use crate::sweep::axis::{Axis, Range};

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

impl Plan {
    /// Every combination, the last axis changing fastest; the keys of `zip` change together, at the
    /// place of the first.
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

    /// The keys that are varied together have values, each as many as the first.
    fn check_zip(&self, axes: &[(String, Vec<String>)], zip: &[String]) -> Result<(), Error> {
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
        Ok(())
    }

    /// So many points at random. Each axis draws from a stream of its own, so that another one
    /// changes nothing of it.
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

    /// The points as they were given.
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
        // The place of each value on its axis, to find it again.
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
            .error("", "", problem, "draw some of them: --sample 1000"))
    }
}

/// What each axis follows: itself, or the first of the zipped.
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
