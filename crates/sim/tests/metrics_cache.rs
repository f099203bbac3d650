//! The cache of metrics (`metrics_cache`): values that a connection leaves to the next between the
//! same hosts. The rules are those of Linux's `tcp_init_metrics` and `tcp_update_metrics`.

use fullpipe_cc::Registry;
use fullpipe_trace::{Run, TraceLevel};

use crate::traced;
use crate::users::of_specifications;

fn run(text: &str) -> Run {
    let scenario = of_specifications(text);
    fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Acks)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A column of the rows of flow `index`, one row for each ACK.
fn column(run: &Run, index: u32, name: &str) -> Vec<f64> {
    let flows = traced::column(run, "flow");
    let values = traced::column(run, name);
    let rows = flows.iter().zip(values);
    rows.filter_map(|(flow, value)| (*flow == f64::from(index)).then_some(value))
        .collect()
}

fn last(values: &[f64]) -> f64 {
    *values.last().expect("the flow has rows")
}

/// Two transfers, one after the other, with `keys` for both and `second` for the second.
fn transfers(path: &str, keys: &str, second: &str) -> Run {
    run(&format!(
        "duration = \"20s\"\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\n{path}\n\
         [[flow]]\nbytes = \"10MB\"\n{keys}\n\
         [[flow]]\nbytes = \"3MB\"\nstart = \"10s\"\n{keys}\n{second}\n"
    ))
}

#[test]
fn the_second_transfer_leaves_slow_start_at_the_first_ones_threshold() {
    for cc in ["newreno", "cubic", "dctcp"] {
        let transfers = |cache: &str, second: &str| {
            let keys = format!("cc = \"{cc}\"\nmetrics_cache = \"{cache}\"");
            let run = transfers("buffer = \"1bdp\"", &keys, second);
            let drops = run.summary.flows[1].drops;
            let [cwnd, ssthresh] = ["cwnd", "ssthresh"].map(|name| last(&column(&run, 0, name)));
            assert!(
                cwnd > ssthresh,
                "{cc}: ends in congestion avoidance: {cwnd} {ssthresh}"
            );
            let of_second = column(&run, 1, "ssthresh");
            (drops, (cwnd / 2.0).max(ssthresh), of_second[0])
        };
        let (drops, _, infinite) = transfers("linux", "");
        assert!(drops > 0 && infinite.is_nan(), "{cc}: {drops} {infinite}");
        let (drops, left, found) = transfers("ssthresh", "");
        assert_eq!(drops, 0, "{cc}: from {found} on the window grows slowly");
        assert!(
            (0.0..1448.0).contains(&(left - found)),
            "{cc}: {left} {found}"
        );
        // Other hosts have a cache of their own.
        let (_, _, found) = transfers("ssthresh", "rtt = \"+1ms\"");
        assert!(found.is_nan(), "{cc}: {found}");
    }
}

#[test]
fn the_first_timeout_follows_the_rtt_of_the_earlier_transfer() {
    // The first window and its loss probe are lost. The handshake took 40 ms: a timeout of 240 ms.
    // With the smoothed RTT r of the first transfer, which filled the buffer, it is r + max(2r, 200
    // ms).
    let path = "buffer = \"4bdp\"\nloss = \"list 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\"";
    let transfers = |cache: &str| {
        let keys = format!("cc = \"cubic\"\nmetrics_cache = \"{cache}\"");
        let run = transfers(path, &keys, "");
        let srtt = last(&column(&run, 0, "srtt"));
        (srtt, run.summary.flows[1].completion_s.unwrap())
    };
    let (_, without) = transfers("off");
    let (srtt, with) = transfers("linux");
    assert!((0.05..0.2).contains(&srtt), "{srtt}");
    let (handshake, later) = (0.04, with - without);
    let expected = srtt + (2.0 * srtt).max(0.2) - (handshake + 0.2);
    assert!((later - expected).abs() < 0.001, "{later} {expected}");
}
