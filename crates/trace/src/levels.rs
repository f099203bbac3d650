//! Levels of detail of a line, for drawing: each level has about a quarter of the points of the one before it.

/// A level drops points until it has at most this many.
const FEW: usize = 2048;
/// Points of one level that become two points, minimum and maximum, of the next one.
const BUCKET: usize = 8;

/// Returns the indices of the points of each level, from the finest to the coarsest, in ascending order.
///
/// The first level has every finite point, except those whose neighbors on both sides have the same
/// value: a line through the others is the same. Each further level keeps the minimum and the
/// maximum of every eight points, so that a peak of a single point remains visible at every level.
/// The first and the last point remain, too.
#[must_use]
pub fn levels(values: &[f64]) -> Vec<Vec<u32>> {
    let mut levels = vec![changing(values)];
    while let Some(finest) = levels.last().filter(|level| level.len() > FEW) {
        let next = coarser(values, finest);
        levels.push(next);
    }
    levels
}

/// The finite points without those in the middle of equal values.
fn changing(values: &[f64]) -> Vec<u32> {
    let known: Vec<u32> = (0u32..)
        .zip(values)
        .filter(|(_, value)| value.is_finite())
        .map(|(index, _)| index)
        .collect();
    let bits = |at: usize| known.get(at).map(|&index| values[index as usize].to_bits());
    (0..known.len())
        .filter(|&at| at == 0 || bits(at - 1) != bits(at) || bits(at + 1) != bits(at))
        .map(|at| known[at])
        .collect()
}

/// The minimum and the maximum of each bucket, in order of time, and both ends of the line.
fn coarser(values: &[f64], level: &[u32]) -> Vec<u32> {
    let mut kept = Vec::with_capacity(level.len() / BUCKET * 2 + 4);
    kept.extend(level.first());
    for bucket in level.chunks(BUCKET) {
        let by_value = |a: &&u32, b: &&u32| values[**a as usize].total_cmp(&values[**b as usize]);
        let ends = (
            bucket.iter().min_by(by_value),
            bucket.iter().max_by(by_value),
        );
        if let (Some(&low), Some(&high)) = ends {
            kept.extend([low.min(high), low.max(high)]);
        }
    }
    kept.extend(level.last());
    kept.dedup();
    kept
}
