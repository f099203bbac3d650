//! Slowdowns by decade, computed by hand.

use fullpipe_trace::slowdown::{Completion, Served, Slowdown, Slowdowns};
use fullpipe_units::{Bytes, Span};

fn run(bytes: u64, took: Option<u64>, served: Option<(u64, u64)>) -> Completion {
    let ms = Span::from_millis;
    let served = served.map(|(srpt, ps)| Served {
        srpt: ms(srpt),
        ps: ms(ps),
    });
    Completion {
        bytes: Bytes::new(bytes),
        alone: ms(10),
        took: took.map(ms),
        served,
    }
}

#[test]
fn a_decade_begins_at_a_power_of_ten_and_an_empty_one_is_left_out() {
    let servers = Some((10, 20));
    let flows = [
        run(999, Some(40), servers),
        run(100, Some(20), servers),
        run(1_000_000, Some(70), None),
        run(500, Some(30), Some((10, 50))),
        run(2_000_000, None, servers),
    ];
    let Slowdowns { all, decades } = Slowdowns::of(&flows);
    assert_eq!(
        decades
            .iter()
            .map(|decade| decade.from_bytes)
            .collect::<Vec<_>>(),
        [100, 1_000_000]
    );
    assert_eq!(
        decades[0].flows,
        Some(Slowdown {
            count: 3,
            mean: 3.0,
            p50: 3.0,
            p95: 4.0,
            p99: 4.0
        })
    );
    assert_eq!(
        decades[0].srpt,
        Some(Slowdown {
            count: 3,
            mean: 1.0,
            p50: 1.0,
            p95: 1.0,
            p99: 1.0
        })
    );
    assert_eq!(
        decades[0].ps,
        Some(Slowdown {
            count: 3,
            mean: 3.0,
            p50: 2.0,
            p95: 5.0,
            p99: 5.0
        })
    );
    assert_eq!(
        (decades[1].flows.map(|one| one.count), decades[1].unfinished),
        (Some(1), 1)
    );
    assert_eq!(
        decades[1].srpt, None,
        "the only flow with ideal completion times is not complete, so it is in no comparison"
    );
    let all = all.expect("there are flows");
    assert_eq!(
        (all.unfinished, all.flows.map(|one| one.mean)),
        (1, Some(4.0))
    );
    assert_eq!(Slowdowns::of(&[]), Slowdowns::default());
}

#[test]
fn a_quantile_is_the_smallest_value_that_covers_its_share() {
    let slowdown = Slowdown::of((1..=200).rev().map(f64::from).collect()).expect("there are some");
    assert_eq!(
        (slowdown.p50, slowdown.p95, slowdown.p99),
        (100.0, 190.0, 198.0)
    );
}
