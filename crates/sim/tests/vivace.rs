//! Vivace in whole runs (Dong et al., NSDI 2018): its steps, and their consequences.

use fullpipe_cc::Registry;
use fullpipe_sim::run;
use fullpipe_trace::{Run, TraceLevel};

use crate::traced;
use crate::users::of_specifications;

/// Runs flows over 100 Mbit/s and 30 ms, the paper's path, with `path` in addition; measured after
/// 20 s.
fn runs(path: &str, flows: &[&str], trace: TraceLevel) -> Run {
    let mut text = format!(
        "duration = \"60s\"\nmeasure_from = \"20s\"\n[path]\nrate = \"100mbit\"\nrtt = \"30ms\"\n{path}\n"
    );
    for (place, flow) in flows.iter().enumerate() {
        text += &format!(
            "[[flow]]\nname = \"{place}\"\ncc = \"vivace\"\nstart = \"{place}s\"\n{flow}\n"
        );
    }
    let scenario = of_specifications(&text);
    run(&scenario, &Registry::default(), trace).unwrap_or_else(|error| panic!("{error}"))
}

/// The utility of Vivace-Loss.
const LOSS: &str = "params = { rtt_gradient_coefficient = 0 }";

/// A column of Vivace's.
fn column(run: &Run, name: &str) -> Vec<f64> {
    traced::column(run, &format!("vivace.{name}"))
}

/// §5.1: each step follows the gradient of the utility, amplified by m(τ) and limited to
/// ω = ω0 + k δ of the rate. The steps are read from the trace of a whole run.
#[test]
fn each_step_is_the_amplified_gradient_within_its_boundary() {
    for flow in ["", LOSS] {
        let run = runs("buffer = \"75kB\"", &[flow], TraceLevel::Acks);
        let names = ["base_rate", "utility_gradient", "amplifier", "state"];
        let [rates, gradients, amplifiers, states] = names.map(|name| column(&run, name));
        let (mut steps, mut limited, mut k, mut tau) = (0, 0, 0.0_f64, 0.0_f64);
        for now in 1..rates.len() {
            let (before, after) = (rates[now - 1], rates[now]);
            // Restarts forget the sequence.
            if amplifiers[now] == 0.0 {
                (k, tau) = (0.0, 0.0);
            }
            if states[now - 1] == 0.0 || after == before || amplifiers[now] == 0.0 {
                continue;
            }
            let gradient = gradients[now];
            let sign = gradient.signum();
            tau = if tau * sign < 0.0 { sign } else { tau + sign };
            assert_eq!(amplifiers[now], tau, "τ at ACK {now}");
            let amplified = if tau.abs() <= 3.0 {
                tau.abs()
            } else {
                2.0 * tau.abs() - 3.0
            };
            let wanted = amplified * gradient * 1e6;
            if k * sign < 0.0 {
                k = 0.0;
            }
            let omega = (0.05 + 0.1 * k.abs()) * before;
            let change = if wanted.abs() > omega {
                k += sign;
                limited += 1;
                omega * sign
            } else {
                while k != 0.0 && wanted.abs() <= (0.05 + 0.1 * (k - sign).abs()) * before {
                    k -= sign;
                }
                wanted
            };
            let error = (after - before - change).abs() / before;
            assert!(
                error < 1e-5,
                "ACK {now}: {before} + {change} is not {after}"
            );
            steps += 1;
        }
        assert!(steps > 300, "{flow}: {steps} steps in 60 s");
        assert!(limited > 30, "{flow}: {limited} of them limited");
    }
}

/// §5: the starting phase doubles the rate with each result, until the utility decreases.
#[test]
fn the_starting_phase_doubles_the_rate_until_the_utility_decreases() {
    let run = runs("buffer = \"1bdp\"", &[""], TraceLevel::Acks);
    let (rates, states) = (column(&run, "base_rate"), column(&run, "state"));
    let learns = states
        .iter()
        .position(|state| *state > 0.0)
        .expect("it ends");
    let mut starting = rates[..learns].to_vec();
    starting.dedup();
    // Ten segments of 1448 bytes per 30 ms, and twice that after each round trip and interval.
    assert!((starting[0] - 10.0 * 1448.0 * 8.0 / 0.03).abs() < 0.01 * starting[0]);
    for pair in starting.windows(2) {
        assert!((pair[1] / pair[0] - 2.0).abs() < 1e-6, "{starting:?}");
    }
    // 3.9, 7.7, 15, 31, 62 Mbit/s pass; 124 Mbit/s builds a queue.
    assert_eq!(starting.len(), 6, "{starting:?}");
    assert!((rates[learns] / starting[5] - 0.5).abs() < 1e-6);
}

/// §6: Vivace-Latency uses the path with nearly no queue; both utilities do in a buffer of five
/// packets.
#[test]
fn alone_it_uses_the_path_in_deep_and_in_shallow_buffers() {
    for (buffer, flow, queue) in [
        ("375kB", "", 1e-3),
        ("375kB", LOSS, 1.0),
        ("7500B", "", 1e-3),
        ("7500B", LOSS, 1e-3),
    ] {
        let summary = runs(&format!("buffer = \"{buffer}\""), &[flow], TraceLevel::Off).summary;
        let link = &summary.links[0];
        let case = format!("{buffer} {flow}: {link:?}");
        assert!(link.utilization > 0.9, "{case}");
        assert!(link.queue_delay_s.mean.expect("samples") < queue, "{case}");
    }
}

/// §4.1: c = 11.35 makes the utility of 100 Mbit/s grow with the rate up to 5 % of random loss:
/// 0.9 x^-0.1 = c L at x = 100. Above that the best rate is smaller, and not the path's.
#[test]
fn vivace_loss_withstands_random_loss_below_five_percent() {
    let used = |loss: &str| {
        let path = format!("buffer = \"75kB\"\nloss = \"{loss}\"");
        runs(&path, &[LOSS], TraceLevel::Off).summary.links[0].utilization
    };
    let (two, three, eight) = (used("2%"), used("3%"), used("8%"));
    assert!(two > 0.75, "{two}");
    assert!(three > 0.7, "{three}");
    assert!(eight < 0.4, "{eight}");
}

/// §4.2: flows with the same utility function converge to equal rates.
#[test]
fn equal_flows_get_equal_shares() {
    for (flow, buffer) in [("", "75kB"), ("", "375kB"), (LOSS, "75kB")] {
        let path = format!("buffer = \"{buffer}\"");
        let summary = runs(&path, &[flow, flow], TraceLevel::Off).summary;
        let rates: Vec<f64> = summary.flows.iter().map(|flow| flow.goodput_bps).collect();
        let share = rates[0] / rates.iter().sum::<f64>();
        assert!((share - 0.5).abs() < 0.1, "{flow} {buffer}: {share}");
        assert!(summary.links[0].utilization > 0.85, "{flow} {buffer}");
    }
}

/// pcc.h, onTimeout: a timeout halves the rate. An outage ends the sending when feedback ends.
#[test]
fn an_outage_halves_the_rate_and_sending_stops() {
    let path = "buffer = \"375kB\"\n[[path.change]]\nat = \"30s\"\nloss = \"99.99%\"\n\
                [[path.change]]\nat = \"35s\"\nloss = \"0%\"";
    let run = runs(path, &[""], TraceLevel::Off);
    // Two products of rate and srtt in flight, and a few retransmissions by timer.
    assert!(
        run.summary.links[0].losses < 1000,
        "{:?}",
        run.summary.links[0]
    );
    assert!(
        run.summary.links[0].utilization > 0.6,
        "{:?}",
        run.summary.links[0]
    );
}
