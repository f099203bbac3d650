//! A custom congestion controller, alone and against CUBIC: `cargo run`.

use custom_controller::delay_aimd;
use fullpipe::prelude::*;
use fullpipe::{Error, conformance};

const SCENARIO: &str = include_str!("../scenario.toml");

fn main() -> Result<(), Error> {
    println!(
        "{:20} {:12} {:>7} {:>8} {:>9}",
        "run", "flow", "Mbit/s", "RTT ms", "queue ms"
    );
    for (title, flows) in [
        ("CUBIC alone", ["cubic", "cubic"]),
        ("ours alone", ["delayaimd", "delayaimd"]),
        ("ours against CUBIC", ["delayaimd", "cubic"]),
    ] {
        let run = compare(flows)?;
        for flow in &run.summary.flows {
            let ms = |seconds: Option<f64>| seconds.unwrap_or(f64::NAN) * 1e3;
            let (rate, rtt, queue) = (
                flow.goodput_bps / 1e6,
                ms(flow.rtt_s.mean),
                ms(flow.queue_delay_s.mean),
            );
            println!(
                "{title:20} {:12} {rate:>7.2} {rtt:>8.1} {queue:>9.1}",
                flow.name
            );
        }
        let reductions = run
            .trace
            .as_ref()
            .map_or(0, |trace| transitions(trace, "queue above the target"));
        println!(
            "{:20} {reductions} reductions for a queue above the target",
            ""
        );
    }
    // BBR's test cases check the states that a controller declares; a controller that is not a BBR
    // has none of BBR's states.
    let cases = conformance::run(&registry(), "delayaimd", &[])?;
    let skipped = cases.count(conformance::Verdict::Skipped);
    println!(
        "BBR's test cases: {} met, {skipped} skipped: {}",
        cases.count(conformance::Verdict::Met),
        why(&cases)
    );
    Ok(())
}

/// Returns the built-in algorithms and ours.
fn registry() -> Registry {
    Registry::default().with(&delay_aimd::DESCRIPTOR)
}

/// Returns the reason why the first condition could not be measured.
fn why(cases: &conformance::Report) -> &str {
    cases.outcomes[0]
        .judged()
        .next()
        .map_or("", |judged| &judged.why)
}

/// Runs the scenario with these two algorithms. The registry's descriptor gives ours its name.
fn compare(flows: [&str; 2]) -> Result<Run, Error> {
    let set = |(number, cc): (usize, &str)| (format!("flow.{number}.cc"), cc.to_owned());
    let overrides: Vec<_> = flows.into_iter().enumerate().map(set).collect();
    let scenario = Scenario::parse_with(SCENARIO, "scenario.toml", &overrides, None)?;
    fullpipe::run(
        &scenario,
        &registry(),
        TraceLevel::Every(Span::from_millis(100)),
    )
}

/// Returns the number of state transitions in the trace with that reason.
fn transitions(trace: &Trace, reason: &str) -> usize {
    let reasons = trace
        .table("transitions")
        .and_then(|table| table.column("reason"));
    reasons.map_or(0, |column| {
        column.labels().filter(|found| *found == reason).count()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe::cc::algo::bbr::BBR3;

    #[test]
    fn alone_it_fills_the_link_and_keeps_the_queue_short() -> Result<(), Error> {
        let run = compare(["delayaimd", "delayaimd"])?;
        assert!(run.summary.links[0].utilization > 0.95);
        assert!(
            run.summary.links[0]
                .queue_delay_s
                .mean
                .is_some_and(|queue| queue < 0.010)
        );
        Ok(())
    }

    #[test]
    fn it_holds_the_contract() {
        fullpipe::cc::check::contract(&delay_aimd::DESCRIPTOR, 200)
            .unwrap_or_else(|broken| panic!("{broken}"));
    }

    #[test]
    fn bbrs_test_cases_run_for_it_and_for_a_bbr_of_ones_own() -> Result<(), Error> {
        assert_eq!(
            why(&conformance::run(&registry(), "delayaimd", &[])?),
            "delayaimd has no state startup"
        );
        // Declares the same as BBRv3 under another name, as a modified copy would.
        static OURS: Descriptor = Descriptor {
            name: "ourbbr",
            ..BBR3
        };
        let report = conformance::run(&registry().with(&OURS), "ourbbr", &[])?;
        assert!(report.is_met(), "{report}");
        Ok(())
    }

    #[test]
    fn its_parameters_are_checked_like_those_of_the_built_in_ones() {
        let text = SCENARIO.replacen(
            "cc = \"cubic\"",
            "cc = \"delayaimd\"\nparams = { taget = 0.01 }",
            1,
        );
        let scenario = Scenario::parse(&text, "scenario.toml")
            .expect("parameters are checked only by the runner");
        let refused = fullpipe::run(&scenario, &registry(), TraceLevel::Off)
            .expect_err("there is no parameter taget");
        assert!(refused.fix().contains("target"), "{refused}");
    }
}
