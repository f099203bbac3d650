//! The decisions of the congestion controls for BPF agree with those of fullpipe-cc: windows within
//! 1 % and a segment, pacing rates within 1 %, at 99 % of the ACKs.

use std::collections::{BTreeMap, VecDeque};
use std::path;

use bpf_tests::{Call, History, Line, Native, Path, Sent, Twin, Unit, in_units_of_c, read};
use fullpipe_cc::{Domain, Param, ParamValue, Registry};
use fullpipe_units::Rng;

/// The sources in `bpf/`, the algorithm of fullpipe-cc, and its profile.
const ALGORITHMS: &[(&str, &str, &str)] = &[
    ("newreno", "newreno", "linux"),
    ("bbr3", "bbr3", "linux"),
    ("bbr2", "bbr2", ""),
    ("ledbatpp", "ledbat++", ""),
    ("copa", "copa", ""),
    ("prague", "prague", ""),
];

/// Without random waits, which both draw differently.
const WITHOUT_CHANCE: [(&str, f64); 2] = [("probe_wait_spread", 0.0), ("reno_rounds_choices", 1.0)];

fn twin(file: &str) -> (Twin, bool) {
    twin_with(file, &[])
}

fn twin_with(file: &str, others: &[(&'static str, ParamValue)]) -> (Twin, bool) {
    let (_, name, profile) = ALGORITHMS
        .iter()
        .find(|(known, ..)| *known == file)
        .expect("listed");
    let mut params: Vec<(&str, ParamValue)> = Vec::new();
    if !profile.is_empty() {
        params.push(("profile", ParamValue::Word((*profile).to_owned())));
    }
    let bbr = name.starts_with("bbr");
    if bbr {
        params.extend(WITHOUT_CHANCE.map(|(key, value)| (key, ParamValue::Number(value))));
    }
    params.extend(others.iter().cloned());
    let twin = Twin::new(file, name, &params);
    // The others leave pacing, and the window in recovery, to the kernel.
    let owns_window = bbr || matches!(*name, "copa" | "prague");
    if owns_window {
        (twin.paced(), false)
    } else {
        (twin, true)
    }
}

fn agree(file: &str, what: &str, line: Line, seconds: f64) {
    let (mut twin, prr) = twin(file);
    Path::new(line, prr).run(&mut twin, seconds);
    let share = twin.agreement.share();
    let acks = twin.agreement.acks;
    println!("{file} {what}: {acks} ACKs, {:.3} % agree", share * 100.0);
    assert!(acks > 100, "{what}: {acks} ACKs");
    assert!(
        share >= 0.99,
        "{file}, {what}: {:.3} % of {acks} ACKs; {:?}",
        share * 100.0,
        twin.agreement.first
    );
}

#[test]
fn parameters_have_the_defaults_of_the_descriptor() {
    for (file, name, profile) in ALGORITHMS {
        let descriptor = Registry::default().get(name).expect("a built-in algorithm");
        let native = Native::new(file);
        assert!(!native.params().is_empty(), "{file}");
        for param in native.params() {
            let declared = descriptor
                .params
                .iter()
                .find(|declared| declared.name == param.name)
                .unwrap_or_else(|| panic!("{file}: {} is no parameter of {name}", param.name));
            let expected = in_units_of_c(declared, &descriptor.default_of(declared, profile));
            let found = native.get(param);
            assert!(
                (found - expected).abs() <= 1.0 / 65_536.0,
                "{file}: {} = {found}, not {expected}",
                param.name
            );
            let units: &[Unit] = match declared.domain {
                Domain::Flag { .. } => &[Unit::Flag],
                Domain::Choice(_) => &[Unit::Word],
                Domain::Number { .. } if matches!(declared.unit, "s" | "ms") => &[Unit::Us],
                Domain::Number { .. } => &[Unit::Q16, Unit::Count],
            };
            assert!(
                units.contains(&param.unit),
                "{file}: unit of {}",
                param.name
            );
        }
    }
}

/// Indices of BBR's states among their labels.
const DOWN: u8 = 2;
const REFILL: u8 = 4;

/// Waits in C, in seconds and in round trips.
type InC = Vec<(f64, u32)>;
/// Waits in Rust, in seconds and in rounds that count as over.
type InRust = Vec<(f64, f64)>;

/// Returns BBRv3's waits between two probes on a line of 5 Mbit/s and 200 ms: those that passed in
/// C, and those that were drawn in Rust.
fn waits(base: f64) -> (InC, InRust) {
    let params = [
        ("profile", ParamValue::Word("linux".to_owned())),
        ("probe_wait_base", ParamValue::Number(base)),
        // It would begin a wait anew.
        ("probe_rtt_interval", ParamValue::Number(3_600.0)),
        ("min_rtt_window", ParamValue::Number(3_600.0)),
    ];
    let mut twin = Twin::new("bbr3", "bbr3", &params);
    (twin.visits, twin.waits) = (Some(Vec::new()), Some(Vec::new()));
    Path::new(Line::new(5.0, 200_000, 2_000), false).run(&mut twin, 3_000.0);
    let visits = twin.visits.unwrap_or_default();
    let mut down = None;
    let mut found = Vec::new();
    for visit in &visits {
        match visit.state {
            DOWN => down = Some(*visit),
            REFILL => {
                if let Some(down) = down.take() {
                    let took = (visit.at - down.at) as f64 / 1e6;
                    found.push((took, visit.round - down.round));
                }
            }
            _ => {}
        }
    }
    (found, twin.waits.unwrap_or_default())
}

/// Kolmogorov's and Smirnov's distance of two samples.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    let share = |of: &[f64], at: f64| {
        of.iter().filter(|value| **value <= at).count() as f64 / of.len() as f64
    };
    one.iter()
        .chain(other)
        .map(|at| (share(one, *at) - share(other, *at)).abs())
        .fold(0.0, f64::max)
}

#[test]
fn random_waits_have_the_distribution_of_the_reference() {
    let (native, reference) = waits(2.0);
    let native: Vec<f64> = native.iter().map(|wait| wait.0).collect();
    let reference: Vec<f64> = reference.iter().map(|wait| wait.0).collect();
    assert!(native.len() > 500, "{} waits", native.len());
    assert!(reference.len() > 500, "{} waits", reference.len());
    // An ACK ends a wait; ACKs are 1.6 ms apart.
    assert!(
        native.iter().all(|wait| (2.0..3.01).contains(wait)),
        "{native:?}"
    );
    let (n, m) = (native.len() as f64, reference.len() as f64);
    // The critical distance at a level of 0.001.
    let most = 1.95 * ((n + m) / (n * m)).sqrt();
    let found = distance(&native, &reference);
    println!("waits: {n} in C, {m} in Rust, distance {found:.3}, critical {most:.3}");
    assert!(found < most, "{found} of {most}");
}

#[test]
fn the_rounds_of_a_wait_begin_at_zero_or_one_as_often() {
    let (native, reference) = waits(3_000.0);
    let most = native.iter().map(|wait| wait.1).max().unwrap_or(0);
    assert_eq!(most, 63, "reno_rounds");
    let in_c = native.iter().filter(|wait| wait.1 < most).count() as f64 / native.len() as f64;
    assert!(native.iter().all(|wait| wait.1 + 1 >= most), "{native:?}");
    let in_rust = reference.iter().map(|wait| wait.1).sum::<f64>() / reference.len() as f64;
    println!(
        "rounds: {} waits in C, {in_c:.2} begin at one, {in_rust:.2} in Rust",
        native.len()
    );
    // 3.3 standard deviations of a fair coin: a level of 0.001.
    for (share, count) in [(in_c, native.len()), (in_rust, reference.len())] {
        assert!(
            (share - 0.5).abs() < 1.65 / (count as f64).sqrt(),
            "{share} of {count}"
        );
    }
}

/// Sends windows of packets in order, and returns the shares of ACKs for which the records give the
/// inflight and the losses at the time of sending.
fn recalled(cwnd: u32, loss: f64) -> (f64, f64) {
    const MSS: u32 = 1_000;
    let rng = &mut Rng::stream(u64::from(cwnd), "history", "loss");
    let mut history = History::new();
    // The counters wrap during the test.
    let mut now = Sent {
        delivered: u32::MAX - 5_000,
        lost: u32::MAX - 50,
        inflight: 0,
        snd_nxt: u32::MAX - 5_000_000,
    };
    let mut flight: VecDeque<(u32, Sent)> = VecDeque::new();
    let (mut acks, mut inflights, mut losses) = (0_u32, 0_u32, 0_u32);
    for _ in 0..20_000 {
        while now.inflight < cwnd {
            history.note(&now, cwnd);
            for _ in 0..2 {
                now.inflight += 1;
                now.snd_nxt = now.snd_nxt.wrapping_add(MSS);
                flight.push_back((now.snd_nxt, now));
            }
        }
        let (end_seq, then) = flight.pop_front().expect("a packet in flight");
        now.inflight -= 1;
        if rng.chance(loss) {
            now.lost = now.lost.wrapping_add(1);
            continue;
        }
        now.delivered = now.delivered.wrapping_add(1);
        let mut call = Call {
            mss: MSS,
            prior_delivered: then.delivered,
            prior_inflight: now.inflight + 1,
            lost: now.lost,
            ..Call::default()
        };
        history.recall(&mut call, end_seq);
        acks += 1;
        inflights += u32::from(call.tx_inflight.abs_diff(then.inflight) <= 1 + then.inflight / 100);
        losses += u32::from(then.lost.wrapping_sub(call.tx_lost) <= cwnd / 1024);
    }
    let share = |count: u32| f64::from(count) / f64::from(acks);
    (share(inflights), share(losses))
}

#[test]
fn records_of_sending_give_inflight_and_losses() {
    for cwnd in [4, 10, 64, 65, 300, 5_000] {
        assert_eq!(recalled(cwnd, 0.0), (1.0, 1.0), "window of {cwnd}");
        let (inflight, lost) = recalled(cwnd, 0.01);
        assert!(
            inflight > 0.99 && lost > 0.99,
            "window of {cwnd}: {inflight}, {lost}"
        );
    }
}

#[test]
fn newreno_agrees() {
    on_all_lines("newreno");
}

#[test]
fn bbr3_agrees() {
    on_all_lines("bbr3");
    on_random_lines("bbr3", &[("ecn", ParamValue::Flag(true))]);
}

/// Replays what a kernel recorded: the C decides the same here, and the reference agrees.
fn replay(file: &str, recording: &path::Path) {
    let mut twins: BTreeMap<u64, Twin> = BTreeMap::new();
    let (mut acks, mut agreeing, mut rows) = (0, 0, 0);
    for row in read(recording) {
        let twin = twins.entry(row.connection).or_insert_with(|| twin(file).0);
        let decided = twin.replay(row.call);
        let (found, there) = (
            (decided.cwnd, decided.ssthresh, decided.pacing_rate),
            (row.cwnd, row.ssthresh, row.pacing_rate),
        );
        assert_eq!(
            found,
            there,
            "{file}: row {rows} of {}: {:?}",
            recording.display(),
            row.call
        );
        rows += 1;
    }
    for twin in twins.values() {
        acks += twin.agreement.acks;
        agreeing += twin.agreement.agreeing;
        if let Some(first) = &twin.agreement.first {
            println!("{first}");
        }
    }
    let share = agreeing as f64 / acks as f64;
    println!(
        "{}: {rows} calls, {:.3} % of {acks} ACKs agree",
        recording.display(),
        share * 100.0
    );
    assert!(
        share >= 0.99,
        "{}: {:.3} %",
        recording.display(),
        share * 100.0
    );
}

#[test]
fn recordings_of_a_kernel_are_decided_the_same() {
    let folder = path::Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    for (file, ..) in ALGORITHMS {
        replay(file, &folder.join(format!("{file}.gz")));
    }
}

#[test]
fn ledbatpp_agrees() {
    on_all_lines("ledbatpp");
    on_random_lines("ledbatpp", &[("ramp", ParamValue::Word("full".to_owned()))]);
}

#[test]
fn copa_agrees() {
    on_all_lines("copa");
    on_random_lines("copa", &[("modes", ParamValue::Word("default".to_owned()))]);
}

#[test]
fn prague_agrees() {
    on_all_lines("prague");
    on_random_lines("prague", &[("rtt_transition", ParamValue::Number(10.0))]);
}

#[test]
fn bbr2_agrees() {
    on_all_lines("bbr2");
    on_random_lines("bbr2", &[("ecn", ParamValue::Flag(true))]);
}

/// Each parameter with other values than its default, on lines of its own.
#[test]
fn other_parameters_agree() {
    for (file, name, _) in ALGORITHMS {
        let descriptor = Registry::default().get(name).expect("a built-in algorithm");
        let (mut acks, mut agreeing, mut seed) = (0, 0, 1_000);
        for param in Native::new(file).params() {
            if WITHOUT_CHANCE.iter().any(|(key, _)| *key == param.name) {
                continue;
            }
            let declared = descriptor
                .params
                .iter()
                .find(|declared| declared.name == param.name)
                .expect("declared");
            for _ in 0..3 {
                seed += 1;
                let value = other_value(declared, param.unit, seed);
                let (mut twin, prr) = twin_with(file, &[(declared.name, value)]);
                let (line, seconds) = random_line(seed);
                Path::new(line, prr).run(&mut twin, seconds.min(5.0));
                acks += twin.agreement.acks;
                agreeing += twin.agreement.agreeing;
            }
        }
        let share = agreeing as f64 / acks as f64;
        println!(
            "{file} with other parameters: {acks} ACKs, {:.3} % agree",
            share * 100.0
        );
        assert!(
            share >= 0.99,
            "{file}: {:.3} % of {acks} ACKs",
            share * 100.0
        );
    }
}

/// Draws a value that a user may give.
fn other_value(declared: &Param, unit: Unit, seed: u64) -> ParamValue {
    let rng = &mut Rng::stream(seed, declared.name, "value");
    match declared.domain {
        Domain::Flag { default } => ParamValue::Flag(!default),
        Domain::Choice(words) => ParamValue::Word((*words.last().expect("a word")).to_owned()),
        Domain::Number { default, min, max } => {
            let near = if default > 0.0 { default } else { max.min(1.0) };
            let value = (near * (0.5 + 1.5 * rng.unit())).clamp(min, max);
            ParamValue::Number(if unit == Unit::Count {
                value.round()
            } else {
                value
            })
        }
    }
}

/// Draws a line: up to 500 Mbit/s and 300 ms, about 20 000 packets.
fn random_line(seed: u64) -> (Line, f64) {
    let rng = &mut Rng::stream(seed, "line", "shape");
    let mbps = 0.5 * libm::pow(1_000.0, rng.unit());
    let delay = 200.0 * libm::pow(1_500.0, rng.unit());
    let bdp = mbps * delay / 8_000.0;
    let mut line = Line::new(mbps, delay as u64, (bdp * 4.0 * rng.unit()) as u64 + 2);
    line.seed = seed;
    if rng.chance(0.4) {
        line.loss = 0.05 * rng.unit() * rng.unit() * rng.unit();
    }
    if rng.chance(0.3) {
        line.ack_every = (delay * rng.unit() / 3.0) as u64;
    }
    if rng.chance(0.3) {
        line.on_off = (
            (500_000.0 * rng.unit()) as u64 + 100,
            (500_000.0 * rng.unit()) as u64 + 1,
        );
    }
    if rng.chance(0.3) {
        line.mark_above = line.limit / 3;
    }
    if rng.chance(0.3) {
        line.spurious = rng.unit();
    }
    let seconds = (20_000.0 / (mbps * 125.0)).clamp(3.0, 20.0);
    if rng.chance(0.3) {
        let begin = (seconds * 5e5 * rng.unit()) as u64;
        line.outage = (begin, begin + (1_500_000.0 * rng.unit()) as u64);
    }
    (line, seconds)
}

fn on_random_lines(file: &str, others: &[(&'static str, ParamValue)]) {
    let (mut acks, mut agreeing) = (0, 0);
    for seed in 0..100 {
        let (mut twin, prr) = twin_with(file, others);
        let (line, seconds) = random_line(seed);
        Path::new(line.clone(), prr).run(&mut twin, seconds);
        let share = twin.agreement.share();
        if share < 0.99 {
            println!(
                "{file}: {:.2} % of {} on {line:?}; {:?}",
                share * 100.0,
                twin.agreement.acks,
                twin.agreement.first
            );
        }
        acks += twin.agreement.acks;
        agreeing += twin.agreement.agreeing;
    }
    let share = agreeing as f64 / acks as f64;
    println!(
        "{file} on random lines: {acks} ACKs, {:.3} % agree",
        share * 100.0
    );
    assert!(
        share >= 0.99,
        "{file}: {:.3} % of {acks} ACKs",
        share * 100.0
    );
}

fn on_all_lines(file: &str) {
    on_random_lines(file, &[]);
    agree(file, "deep buffer", Line::new(50.0, 40_000, 600), 20.0);
    agree(file, "buffer of a BDP", Line::new(50.0, 40_000, 250), 20.0);
    agree(file, "shallow buffer", Line::new(50.0, 40_000, 25), 20.0);
    agree(file, "long path", Line::new(20.0, 300_000, 400), 20.0);
    agree(file, "short path", Line::new(200.0, 2_000, 100), 10.0);
    agree(file, "slow line", Line::new(1.0, 60_000, 30), 20.0);
    agree(
        file,
        "random loss",
        Line {
            loss: 0.01,
            ..Line::new(50.0, 40_000, 250)
        },
        20.0,
    );
    agree(
        file,
        "collected ACKs",
        Line {
            ack_every: 5_000,
            ..Line::new(50.0, 40_000, 250)
        },
        20.0,
    );
    agree(
        file,
        "pauses",
        Line {
            on_off: (300_000, 200_000),
            ..Line::new(50.0, 40_000, 250)
        },
        20.0,
    );
    agree(
        file,
        "limited",
        Line {
            on_off: (1_000, 4_000),
            ..Line::new(50.0, 40_000, 250)
        },
        20.0,
    );
    agree(
        file,
        "outage",
        Line {
            outage: (4_000_000, 5_500_000),
            ..Line::new(50.0, 40_000, 250)
        },
        20.0,
    );
    agree(
        file,
        "marks",
        Line {
            mark_above: 20,
            ..Line::new(50.0, 4_000, 250)
        },
        20.0,
    );
    agree(
        file,
        "spurious losses",
        Line {
            loss: 0.002,
            spurious: 0.5,
            ..Line::new(50.0, 40_000, 250)
        },
        20.0,
    );
}
