//! Levels of detail keep what a reader would see.

use fullpipe_trace::levels;
use proptest::prelude::*;

proptest! {
    #[test]
    fn each_level_keeps_ends_and_extremes(values in proptest::collection::vec(-5i32..5, 0..20_000)) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let levels = levels(&values);
        for pair in levels.windows(2) {
            prop_assert!(pair[1].len() <= pair[0].len() / 4 + 4);
        }
        prop_assert!(levels.last().is_some_and(|coarsest| coarsest.len() <= 2048));
        for level in &levels {
            prop_assert!(level.is_sorted_by(|a, b| a < b));
            let seen: Vec<f64> = level.iter().map(|&at| values[at as usize]).collect();
            let most = |of: &[f64]| of.iter().copied().reduce(f64::max);
            let least = |of: &[f64]| of.iter().copied().reduce(f64::min);
            prop_assert_eq!((most(&seen), least(&seen)), (most(&values), least(&values)));
            prop_assert_eq!((seen.first(), seen.last()), (values.first(), values.last()));
        }
    }

    /// Between two neighbors of the finest level, all values are on the line between them.
    #[test]
    fn the_finest_level_is_the_line(values in proptest::collection::vec(0u8..3, 1..300)) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        for pair in levels(&values)[0].windows(2) {
            let (first, last) = (pair[0] as usize, pair[1] as usize);
            prop_assert!(last == first + 1 || values[first..=last].iter().all(|each| *each == values[first]));
        }
    }
}

#[test]
fn values_that_are_not_finite_are_left_out() {
    let values = [f64::NAN, 1.0, f64::INFINITY, 2.0, f64::NAN];
    assert_eq!(levels(&values), vec![vec![1, 3]]);
    assert_eq!(levels(&[]), vec![Vec::<u32>::new()]);
}
