//! Swift in whole runs (Kumar et al., SIGCOMM 2020).

use fullpipe_cc::Registry;
use fullpipe_trace::{Run, TraceLevel};

use crate::traced;
use crate::users::of_specifications;

/// Runs `flows` flows over 10 Gbit/s and 10 us, measured after 20 ms, with `host` and keys of the
/// flows in addition.
fn runs(flows: usize, host: &str, flow: &str, trace: TraceLevel) -> Run {
    let mut text = format!(
        "duration = \"120ms\"\nmeasure_from = \"20ms\"\n[path]\nrate = \"10gbit\"\nrtt = \"10us\"\nbuffer = \"4MB\"\n{host}\n"
    );
    for place in 0..flows {
        text += &format!(
            "[[flow]]\nname = \"{place}\"\ncc = \"swift\"\ndelayed_ack = 1\nstart = \"{}us\"\n{flow}\n",
            place * 7
        );
    }
    let scenario = of_specifications(&text);
    fullpipe_sim::run(&scenario, &Registry::default(), trace)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A column of Swift's.
fn column(run: &Run, name: &str) -> Vec<f64> {
    traced::column(run, &format!("swift.{name}"))
}

/// §3.5 with the default parameters: the fabric's target for a window, in seconds.
fn target(cwnd: f64) -> f64 {
    let alpha = 100e-6 / (1.0 / 0.1_f64.sqrt() - 1.0 / 100_f64.sqrt());
    let scaled = alpha / cwnd.sqrt() - alpha / 100_f64.sqrt();
    23.05e-6 + scaled.clamp(0.0, 100e-6)
}

/// Returns the RTT at which `flows` flows fill 10 Gbit/s with the delay at its target: each window is
/// a share of the product of rate and target.
fn equilibrium(flows: f64) -> f64 {
    let packets_per_second = 10e9 / 8.0 / 1500.0;
    let (mut low, mut high) = (1e-6, 1e-3);
    for _ in 0..60 {
        let rtt = 0.5 * (low + high);
        if target(packets_per_second * rtt / flows) > rtt {
            low = rtt;
        } else {
            high = rtt;
        }
    }
    low
}

/// §3.2 and §3.5: flows share the rate, and their RTT is the target of their windows, below one
/// packet (§3.3), too. The additive increase of each adds up to a packet of 1.2 us per flow.
#[test]
fn the_delay_is_at_the_target_for_any_number_of_flows() {
    for flows in [1, 4, 16, 64, 200] {
        let run = runs(flows, "", "", TraceLevel::Off);
        let summaries = &run.summary.flows;
        let rates: f64 = summaries.iter().map(|flow| flow.goodput_bps).sum();
        assert!(rates > 0.99 * 10e9 * 1448.0 / 1500.0, "{flows}: {rates}");
        let (rtt, expected) = (
            summaries[0].rtt_s.mean.expect("samples"),
            equilibrium(flows as f64),
        );
        let increases = flows as f64 * 1.2e-6;
        assert!(
            (0.98 * expected..expected + increases).contains(&rtt),
            "{flows}: {rtt} instead of {expected}"
        );
        assert!(
            run.summary.jain > Some(0.99),
            "{flows}: {:?}",
            run.summary.jain
        );
        assert!(summaries.iter().all(|flow| flow.retransmits == 0));
    }
}

/// Algorithm 1: each step of the fabric's window, from the traced delay and target.
#[test]
fn each_step_of_the_window_is_the_algorithms() {
    let run = runs(4, "", "", TraceLevel::Acks);
    let names = ["fcwnd", "fabric_delay", "target_delay"];
    let [windows, delays, targets] = names.map(|name| column(&run, name));
    let flows = traced::column(&run, "flow");
    let (mut increases, mut decreases, mut kept) = (0, 0, 0);
    let mut last: [Option<f64>; 4] = [None; 4];
    for row in 0..windows.len() {
        let (delay, to, flow) = (delays[row], targets[row], flows[row] as usize);
        let Some(before) = last[flow].replace(windows[row]) else {
            continue;
        };
        let (after, scale) = (windows[row], 1e-6 * before);
        if delay == 0.0 {
            continue; // before the first sample
        }
        // The trace has 24 bits of each value.
        if delay < to * (1.0 - 1e-6) {
            assert!((after - before - 1.0 / before).abs() < scale, "row {row}");
            increases += 1;
        } else if delay > to * (1.0 + 1e-6) {
            let factor = (1.0 - 0.8 * (delay - to) / delay).max(0.5);
            if after == before {
                kept += 1;
            } else {
                assert!((after / before - factor).abs() < 1e-6, "row {row}");
                decreases += 1;
            }
        }
    }
    assert!(
        increases > 10_000 && decreases > 3_000 && kept > 10_000,
        "{increases} {decreases} {kept}"
    );
}

/// §3.4: a slow receiver is the endpoints' congestion: their window limits the flow at their target,
/// and the fabric's stays out of it.
#[test]
fn congestion_of_a_host_is_answered_by_its_own_window() {
    let host = "[host]\nreceive = \"2us\"\nbatch = 4";
    let run = runs(1, host, "", TraceLevel::Acks);
    let flow = &run.summary.flows[0];
    assert!(
        flow.goodput_bps > 0.97 * 1448.0 * 8.0 / 2e-6,
        "{}",
        flow.goodput_bps
    );
    let rtt = flow.rtt_s.mean.expect("samples");
    assert!(
        (105e-6..130e-6).contains(&rtt),
        "{rtt}: fabric and target of 100 us"
    );
    let [limits, fabric, hosts] =
        ["limit", "fabric_delay", "endpoint_delay"].map(|name| column(&run, name));
    let late = |values: &[f64]| {
        let rest = &values[values.len() / 4..];
        rest.iter().sum::<f64>() / rest.len() as f64
    };
    assert!(late(&limits) > 0.99, "{}", late(&limits));
    assert!(late(&fabric) < 15e-6, "{}", late(&fabric));
    assert!((95e-6..110e-6).contains(&late(&hosts)), "{}", late(&hosts));
}

/// Algorithm 1, on a retransmission timeout: the fifth in a row leaves the minimum window, to which
/// the first ACK adds `ai`.
#[test]
fn timeouts_in_a_row_leave_the_minimum_window() {
    let text = "duration = \"30s\"\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"1MB\"\n\
         [[path.change]]\nat = \"5s\"\nloss = \"99.99%\"\n[[path.change]]\nat = \"15s\"\nloss = \"0%\"\n\
         [[flow]]\nname = \"0\"\ncc = \"swift\"\ndelayed_ack = 1\nparams = { base_target = 60000, max_mdf = 0.1 }\n";
    let scenario = of_specifications(text);
    let run = fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Acks)
        .unwrap_or_else(|error| panic!("{error}"));
    // Six decreases by a tenth would leave half of the window of 50 segments.
    let least = column(&run, "fcwnd").into_iter().fold(f64::MAX, f64::min);
    assert!((least - 1.01).abs() < 1e-3, "{least}");
    // 5 s before the outage, and 8 s after the first timeout that follows it.
    let flow = &run.summary.flows[0];
    assert!(flow.goodput_bps > 0.35 * 10e6, "{}", flow.goodput_bps);
}
