//! Slowdowns of many flows, by how large they are.

use units::Bytes;

/// Flows of from one power of ten bytes up to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Decade {
    /// The least that a flow of it carries.
    pub from: Bytes,
    /// What is known of its slowdowns.
    pub slowdown: Slowdown,
}

/// What is known of some slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest that is not exceeded by half of them.
    pub p50: f64,
    /// By 95 %.
    pub p95: f64,
    /// By 99 %.
    pub p99: f64,
}

/// Slowdowns by decade, the smallest flows first; decades without a flow are left out.
pub fn by_decade(flows: impl IntoIterator<Item = (Bytes, f64)>) -> Vec<Decade> {
    let mut decades: Vec<Vec<f64>> = Vec::new();
    for (bytes, slowdown) in flows {
        let decade = bytes.get().max(1).ilog10() as usize;
        if decades.len() <= decade {
            decades.resize(decade + 1, Vec::new());
        }
        decades[decade].push(slowdown);
    }
    let from = (0..).map(|power| Bytes::new(10_u64.pow(power)));
    let decades = from.zip(decades);
    decades.filter_map(|(from, values)| Some(Decade { from, slowdown: Slowdown::of(values)? })).collect()
}

impl Slowdown {
    /// Of these; none of nothing.
    pub fn of(mut values: Vec<f64>) -> Option<Slowdown> {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        // The smallest value up to which there are so many in a hundred.
        let quantile = |percent: usize| values.get((count * percent).div_ceil(100).max(1) - 1).copied();
        let mean = values.iter().sum::<f64>() / count as f64;
        Some(Slowdown { count: count as u64, mean, p50: quantile(50)?, p95: quantile(95)?, p99: quantile(99)? })
    }
}
