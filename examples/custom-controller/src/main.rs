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
        if let Some(queue) = run.trace.as_ref().and_then(|trace| mean(trace, "delayaimd.queue")) {
            println!("{:20} what ours believed, by its own trace: {queue:.1} ms", "", queue = queue * 1e3);
        }
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

/// The mean of a column of the flows' table; NaN is "none".
fn mean(trace: &Trace, name: &str) -> Option<f64> {
    let flows = trace.tables.iter().find(|table| table.name == "flows")?;
    let Data::F64(values) = &flows.columns.iter().find(|column| column.name == name)?.data else { return None };
    let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    Some(known.iter().sum::<f64>() / known.len() as f64)
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
