//! Slowdowns by decade, by hand.

use trace::{Slowdown, by_decade};
use units::Bytes;

#[test]
fn a_decade_begins_at_a_power_of_ten_and_an_empty_one_is_left_out() {
    let decades = by_decade(
        [(999, 4.0), (100, 2.0), (1_000_000, 7.0), (500, 3.0)].map(|(bytes, ratio)| (Bytes::new(bytes), ratio)),
    );
    assert_eq!(decades.iter().map(|decade| decade.from).collect::<Vec<_>>(), [Bytes::new(100), Bytes::new(1_000_000)]);
    assert_eq!(decades[0].slowdown, Slowdown { count: 3, mean: 3.0, p50: 3.0, p95: 4.0, p99: 4.0 });
    assert_eq!(decades[1].slowdown, Slowdown { count: 1, mean: 7.0, p50: 7.0, p95: 7.0, p99: 7.0 });
    assert_eq!(by_decade([]), []);
}

#[test]
fn a_quantile_is_the_smallest_value_that_covers_its_share() {
    let slowdown = Slowdown::of((1..=200).rev().map(f64::from).collect()).expect("there are some");
    assert_eq!((slowdown.p50, slowdown.p95, slowdown.p99), (100.0, 190.0, 198.0));
}
