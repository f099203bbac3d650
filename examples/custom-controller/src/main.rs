//! A congestion controller of one's own, alone and against CUBIC: `cargo run`.

mod delay_aimd;

use cc::Registry;
use scenario::{Error, Scenario};
use sim::{Run, TraceLevel};
use trace::{Data, Trace};
use units::Span;

const SCENARIO: &str = include_str!("../scenario.toml");

fn main() -> Result<(), Error> {
    println!("{:20} {:12} {:>7} {:>8} {:>9}", "run", "flow", "Mbit/s", "RTT ms", "queue ms");
    for (title, flows) in [
        ("CUBIC alone", ["cubic", "cubic"]),
        ("ours alone", ["delayaimd", "delayaimd"]),
        ("ours against CUBIC", ["delayaimd", "cubic"]),
    ] {
        let run = compare(flows)?;
        for flow in &run.summary.flows {
            let ms = |seconds: Option<f64>| seconds.unwrap_or(f64::NAN) * 1e3;
            let (rate, rtt, queue) = (flow.goodput_bps / 1e6, ms(flow.rtt_s.mean), ms(flow.queue_delay_s.mean));
            println!("{title:20} {:12} {rate:>7.2} {rtt:>8.1} {queue:>9.1}", flow.name);
        }
        let reductions = run.trace.as_ref().map_or(0, |trace| transitions(trace, "queue above the target"));
        println!("{:20} {reductions} reductions for a queue above the target", "");
    }
    Ok(())
}

/// Runs the scenario with these two algorithms. Ours has a name once the registry has its descriptor.
fn compare(flows: [&str; 2]) -> Result<Run, Error> {
    let registry = Registry::default().with(&delay_aimd::DESCRIPTOR);
    let set = |(number, cc): (usize, &str)| (format!("flow.{number}.cc"), cc.to_owned());
    let overrides: Vec<_> = flows.into_iter().enumerate().map(set).collect();
    let scenario = Scenario::parse_with(SCENARIO, "scenario.toml", &overrides, None)?;
    sim::run(&scenario, &registry, TraceLevel::Every(Span::from_millis(100)))
}

/// How often the trace's table of transitions has that reason.
fn transitions(trace: &Trace, reason: &str) -> usize {
    let table = trace.tables.iter().find(|table| table.name == "transitions");
    let column = table.and_then(|table| table.columns.iter().find(|column| column.name == "reason"));
    let Some(Data::Label { codes, labels }) = column.map(|column| &column.data) else { return 0 };
    codes.iter().filter(|code| labels[usize::from(**code)] == reason).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_it_fills_the_link_and_keeps_the_queue_short() -> Result<(), Error> {
        let run = compare(["delayaimd", "delayaimd"])?;
        assert!(run.summary.links[0].utilisation > 0.95);
        assert!(run.summary.links[0].queue_delay_s.mean.is_some_and(|queue| queue < 0.010));
        Ok(())
    }

    #[test]
    fn its_parameters_are_checked_like_those_of_the_built_in_ones() {
        let text = SCENARIO.replacen("cc = \"cubic\"", "cc = \"delayaimd\"\nparams = { taget = 0.01 }", 1);
        let scenario = Scenario::parse(&text, "scenario.toml").expect("parameters are checked by the runner");
        let registry = Registry::default().with(&delay_aimd::DESCRIPTOR);
        let refused = sim::run(&scenario, &registry, TraceLevel::Off).expect_err("there is no taget");
        assert!(refused.fix().contains("target"), "{refused}");
    }
}
