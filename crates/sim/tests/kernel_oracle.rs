//! The simulator against a real kernel: every cell of `tests/oracle/kernel.toml`, run from its file in
//! `scenarios/oracle/`. Side by side:
//!
//! `cargo test -p fullpipe-sim --test kernel_oracle -- --nocapture`

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use cc::Registry;
use scenario::Scenario;
use sim::{Run, TraceLevel};
use toml::{Table, Value};
use trace::{Data, Trace};
use units::Span;

static ORACLE: LazyLock<Table> =
    LazyLock::new(|| read("tests/oracle/kernel.toml").parse().expect("tests/oracle/kernel.toml is TOML"));

/// A file of the project.
fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn number(value: &Value) -> f64 {
    value.as_float().or(value.as_integer().map(|n| n as f64)).expect("a number")
}

fn tolerance(name: &str) -> f64 {
    number(&ORACLE["tolerance"][name])
}

/// What our runs gave of one flow, one value a seed.
struct Ours {
    goodput_whole: Vec<f64>,
    retransmits: Vec<f64>,
    goodput: Vec<f64>,
    rtt: [Vec<f64>; 3],
    /// Mean time between two ProbeBW_UPs, where there were two.
    up_interval: Vec<f64>,
    /// When each ProbeRTT began.
    probe_rtt: Vec<Vec<f64>>,
}

/// The RTT's figures that are compared, by their names in the tables.
const RTT: [&str; 3] = ["mean", "p95", "p99"];

fn runs(cell: &str, flows: usize, seeds: u64) -> Vec<Ours> {
    let file = format!("scenarios/oracle/{cell}.toml");
    let text = read(&file);
    let run = |seed: u64, measure_from: &str, level: TraceLevel| -> Run {
        let overrides = [("measure_from".to_owned(), format!("\"{measure_from}\""))];
        let scenario = Scenario::parse_with(&text, &file, &overrides, Some(seed)).unwrap_or_else(|e| panic!("{e}"));
        sim::run(&scenario, &Registry::default(), level).unwrap_or_else(|e| panic!("{e}"))
    };
    let empty = || Ours {
        goodput_whole: vec![],
        retransmits: vec![],
        goodput: vec![],
        rtt: Default::default(),
        up_interval: vec![],
        probe_rtt: vec![],
    };
    let mut ours: Vec<Ours> = (0..flows).map(|_| empty()).collect();
    for seed in 1..=seeds {
        let whole = run(seed, "0s", TraceLevel::Off).summary.flows;
        let after = run(seed, "2s", TraceLevel::Every(Span::from_secs(1)));
        let trace = after.trace.expect("it was asked for");
        for (index, ours) in ours.iter_mut().enumerate() {
            let after = &after.summary.flows[index];
            ours.goodput_whole.push(whole[index].goodput_bps / 1e6);
            ours.retransmits.push(whole[index].retransmits as f64);
            ours.goodput.push(after.goodput_bps / 1e6);
            let rtt = [after.rtt_s.mean, after.rtt_s.p95, after.rtt_s.p99];
            for (all, one) in ours.rtt.iter_mut().zip(rtt) {
                all.push(one.expect("RTT samples") * 1e3);
            }
            let ups = entries(&trace, index, "probe_bw_up");
            if ups.len() > 1 {
                ours.up_interval.push((ups[ups.len() - 1] - ups[0]) / (ups.len() - 1) as f64);
            }
            ours.probe_rtt.push(entries(&trace, index, "probe_rtt"));
        }
    }
    ours
}

/// When flow `index` entered `state`, in seconds.
fn entries(trace: &Trace, index: usize, state: &str) -> Vec<f64> {
    let table = trace.tables.iter().find(|table| table.name == "transitions").expect("the table of transitions");
    let column = |name: &str| &table.columns.iter().find(|column| column.name == name).expect("a column").data;
    let (Data::U64(times), Data::U32(flows), Data::Label { codes, labels }) =
        (column("time"), column("flow"), column("to"))
    else {
        panic!("time, flow and state are what they are")
    };
    let rows = times.iter().zip(flows).zip(codes);
    rows.filter(|((_, flow), code)| **flow as usize == index && labels[usize::from(**code)] == state)
        .map(|((time, _), _)| *time as f64 * 1e-9)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Compares a cell and collects what is outside of its tolerance.
struct Comparison {
    /// How many standard deviations of one run chance may put between our mean and the kernel's.
    deviations: f64,
    /// Metrics that are known to differ, each with its reason.
    declared: Table,
    line: String,
    outside: Vec<String>,
}

impl Comparison {
    /// `ours` may be off by `allowed`, and by what chance explains.
    fn metric(&mut self, name: &str, ours: &[f64], kernel: f64, allowed: f64) {
        let found = mean(ours);
        let variance = match ours.len() {
            1 => 0.0,
            n => ours.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / (n - 1) as f64,
        };
        let allowed = allowed + self.deviations * variance.sqrt();
        let ratio = if kernel == 0.0 { String::new() } else { format!(" | {:.3}", found / kernel) };
        let digits = if name == "retransmits" { 0 } else { 2 };
        let shown = format!("{name} {found:.digits$} | {kernel:.digits$}{ratio}");
        let _ = write!(self.line, "  {shown:36}");
        if (found - kernel).abs() > allowed {
            self.differs(name, format!("{shown}: differ by more than {allowed:.2}"));
        }
    }
}

impl Comparison {
    /// `what` of metric `name` is outside of its tolerance.
    fn differs(&mut self, name: &str, what: String) {
        match self.declared.get(name) {
            Some(why) => {
                let _ = write!(self.line, "\n  declared: {what}, since {}", why.as_str().expect("a reason"));
            }
            None => self.outside.push(what),
        }
    }

    /// Each run of `ours` has these times, give or take `allowed`.
    fn times(&mut self, name: &str, ours: &[Vec<f64>], kernel: &[f64], allowed: f64) {
        let off = |run: &Vec<f64>| {
            let worst = run.iter().zip(kernel).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if run.len() < kernel.len() { f64::INFINITY } else { worst }
        };
        let worst = ours.iter().map(off).fold(0.0, f64::max);
        let _ = write!(self.line, "  {name} off by {worst:.2} at most");
        if worst > allowed {
            self.differs(name, format!("{name} at {ours:.2?} | {kernel:.2?}: differ by more than {allowed} s"));
        }
    }
}

/// Holds a cell against the kernel.
fn compare(name: &str) {
    let cells = ORACLE["cell"].as_array().expect("cells");
    let cell = cells.iter().find(|cell| cell["name"].as_str() == Some(name)).expect("the cell is in kernel.toml");
    let kernel = cell["flow"].as_array().expect("flows");
    let random = cell.get("random").is_some_and(|random| random.as_bool() == Some(true));
    let seeds = if random { tolerance("seeds") } else { 1.0 };
    let chance = tolerance("standard_errors") * (1.0 / seeds + 1.0 / number(&cell["repeats"])).sqrt();

    let ours = runs(name, kernel.len(), seeds as u64);
    let declared = cell.get("declared").and_then(Value::as_table).cloned().unwrap_or_default();
    let mut comparison = Comparison { deviations: chance, declared, line: String::new(), outside: vec![] };
    let competing = kernel.len() > 1;
    let sum = |of: &dyn Fn(usize) -> f64| (0..kernel.len()).map(of).sum::<f64>();
    for (index, (kernel_flow, ours_flow)) in kernel.iter().zip(&ours).enumerate() {
        let _ = write!(comparison.line, "\n{name:16} {:7}", kernel_flow["name"].as_str().expect("a name"));
        for (metric, values) in [("goodput_whole", &ours_flow.goodput_whole), ("goodput", &ours_flow.goodput)] {
            let figure = number(&kernel_flow[metric]);
            if !competing {
                comparison.metric(metric, values, figure, figure * tolerance("goodput"));
            } else if metric == "goodput" {
                let total = sum(&|i| number(&kernel[i][metric]));
                let share = |seed: usize| 100.0 * values[seed] / sum(&|i| ours[i].goodput[seed]);
                let shares: Vec<f64> = (0..values.len()).map(share).collect();
                comparison.metric("share", &shares, 100.0 * figure / total, tolerance("share_points"));
                if index == 0 {
                    let sums: Vec<f64> = (0..values.len()).map(|seed| sum(&|i| ours[i].goodput[seed])).collect();
                    comparison.metric("sum", &sums, total, total * tolerance("goodput"));
                }
            }
        }
        let figure = number(&kernel_flow["retransmits"]);
        let factor = tolerance("retransmits_factor");
        let fewer = mean(&ours_flow.retransmits) < figure;
        let by_factor = if fewer { figure * (1.0 - 1.0 / factor) } else { figure * (factor - 1.0) };
        let allowed = by_factor.max(tolerance("retransmits_packets"));
        comparison.metric("retransmits", &ours_flow.retransmits, figure, allowed);
        for (metric, values) in RTT.iter().zip(&ours_flow.rtt) {
            let figure = number(&kernel_flow["rtt_ms"][metric]);
            let metric = format!("rtt_{metric}");
            comparison.metric(&metric, values, figure, figure * tolerance(&metric));
        }
        if let Some(figure) = kernel_flow.get("up_interval_s").map(number) {
            comparison.metric("up_interval", &ours_flow.up_interval, figure, figure * tolerance("up_interval"));
        }
        if let Some(figures) = cell.get("probe_rtt_s").and_then(Value::as_array) {
            let figures: Vec<f64> = figures.iter().map(number).collect();
            comparison.times("probe_rtt_s", &ours_flow.probe_rtt, &figures, tolerance("probe_rtt_s"));
        }
        if let Some(figure) = cell.get("probe_rtt_every_s").map(number) {
            let every = |times: &Vec<f64>| (times[times.len() - 1] - times[0]) / (times.len() - 1) as f64;
            let ours: Vec<f64> = ours_flow.probe_rtt.iter().map(every).collect();
            comparison.metric("probe_rtt_every_s", &ours, figure, tolerance("probe_rtt_s"));
        }
    }
    println!("{}", comparison.line.trim_start());
    assert!(comparison.outside.is_empty(), "ours | kernel | ratio\n{}", comparison.outside.join("\n"));
}

macro_rules! cells {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                compare($name);
            }
        )*

        #[test]
        fn every_cell_has_its_test() {
            let tested = [$($name),*];
            for cell in ORACLE["cell"].as_array().expect("cells") {
                let name = cell["name"].as_str().expect("a name");
                assert!(tested.contains(&name), "no test of {name}");
            }
        }
    };
}

cells! {
    a_cubic: "a_cubic",
    b_cubic: "b_cubic",
    c_cubic: "c_cubic",
    d0_cubic: "d0_cubic",
    e_cubic: "e_cubic",
    a_bbr1: "a_bbr1",
    b_bbr1: "b_bbr1",
    c_bbr1: "c_bbr1",
    d0_bbr1: "d0_bbr1",
    e_bbr1: "e_bbr1",
    k_loss_half_a_percent_cubic: "k_loss0.5_cubic",
    k_loss2_cubic: "k_loss2_cubic",
    k_loss_half_a_percent_bbr1: "k_loss0.5_bbr1",
    k_loss2_bbr1: "k_loss2_bbr1",
    gb_bbr1bbr1: "gb_bbr1bbr1",
    gb_bbr1cubic: "gb_bbr1cubic",
    a_bbr2: "a_bbr2",
    b_bbr2: "b_bbr2",
    c_bbr2: "c_bbr2",
    d0_bbr2: "d0_bbr2",
    e_bbr2: "e_bbr2",
    k_loss_half_a_percent_bbr2: "k_loss0.5_bbr2",
    k_loss2_bbr2: "k_loss2_bbr2",
    gb_bbr2bbr2: "gb_bbr2bbr2",
    gb_bbr2cubic: "gb_bbr2cubic",
    a_bbr3: "a_bbr3",
    b_bbr3: "b_bbr3",
    c_bbr3: "c_bbr3",
    d0_bbr3: "d0_bbr3",
    e_bbr3: "e_bbr3",
    k_loss_half_a_percent_bbr3: "k_loss0.5_bbr3",
    k_loss2_bbr3: "k_loss2_bbr3",
    gb_bbr3bbr3: "gb_bbr3bbr3",
    gb_bbr3cubic: "gb_bbr3cubic",
}
