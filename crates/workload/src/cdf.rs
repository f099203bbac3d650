//! A distribution from a file: flow sizes, each with the share of flows up to it.

use fullpipe_units::Bytes;

use crate::flows::LARGEST;

/// Points of a cumulative distribution, with straight lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Size, and share of the flows up to that size. Neither ever decreases; the last share is 1.
    points: Vec<(f64, f64)>,
}

/// The reason why a text is not a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdfError {
    /// Line number from 1; `None` if the problem concerns the whole text.
    pub line: Option<usize>,
    /// Problem with the text.
    pub problem: String,
    /// Suggested fix.
    pub fix: &'static str,
}

impl Cdf {
    /// Reads lines of two numbers: a size in bytes, and the share of flows up to it, as a fraction
    /// or a percentage. Spaces, tabs or a comma separate them; empty lines and text after `#` are
    /// ignored.
    ///
    /// # Errors The problem, with its line.
    pub fn parse(text: &str) -> Result<Cdf, CdfError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
            let Some(size) = words.next() else { continue };
            let refuse = |problem: String, fix| CdfError {
                line: Some(number + 1),
                problem,
                fix,
            };
            let (Some(share), None) = (words.next(), words.next()) else {
                return Err(refuse(
                    "not two numbers".to_owned(),
                    "write a size in bytes and a share, like \"10000 0.6\"",
                ));
            };
            let read = |word: &str| {
                word.parse::<f64>()
                    .ok()
                    .filter(|value| value.is_finite() && *value >= 0.0)
            };
            let (Some(size), Some(share)) = (read(size), read(share)) else {
                return Err(refuse(
                    format!("\"{}\" is not a size and a share", line.trim()),
                    "write two numbers, neither of them negative",
                ));
            };
            if points
                .last()
                .is_some_and(|before| size < before.0 || share < before.1)
            {
                let fix = "sort the lines: sizes and shares grow from line to line";
                return Err(refuse(
                    "size or share is less than in the line before".to_owned(),
                    fix,
                ));
            }
            points.push((size, share));
        }
        Cdf::of(points)
    }

    fn of(mut points: Vec<(f64, f64)>) -> Result<Cdf, CdfError> {
        let refuse = |problem: String, fix| {
            Err(CdfError {
                line: None,
                problem,
                fix,
            })
        };
        let Some(&(largest, all)) = points.last() else {
            return refuse(
                "no line has a size and a share".to_owned(),
                "give at least one point of the distribution",
            );
        };
        if all != 1.0 && all != 100.0 {
            return refuse(
                format!("the last share is {all}"),
                "make it 1, or 100 if shares are percentages",
            );
        }
        if !(1.0..=LARGEST.as_f64()).contains(&largest) {
            return refuse(
                format!("the largest flow has {largest} bytes"),
                "make it 1 to 1e15 bytes",
            );
        }
        points.iter_mut().for_each(|point| point.1 /= all);
        Ok(Cdf { points })
    }

    /// Returns the size up to which `share` of the flows lie.
    pub fn at(&self, share: f64) -> f64 {
        let next = self
            .points
            .partition_point(|point| point.1 < share)
            .min(self.points.len() - 1);
        let (size, reached) = self.points[next];
        // A first point with a share above zero: all flows of that share have its size.
        let (before, from) = if next == 0 {
            (size, 0.0)
        } else {
            self.points[next - 1]
        };
        if reached > from {
            before + (size - before) * (share - from) / (reached - from)
        } else {
            size
        }
    }

    /// Returns the mean in bytes.
    pub fn mean(&self) -> f64 {
        let first = self.points[0].0 * self.points[0].1;
        let pieces = self
            .points
            .windows(2)
            .map(|ends| (ends[1].1 - ends[0].1) * (ends[0].0 + ends[1].0) / 2.0);
        first + pieces.sum::<f64>()
    }

    /// Returns the largest size.
    pub fn largest(&self) -> Bytes {
        Bytes::from_f64(self.points[self.points.len() - 1].0)
    }
}
