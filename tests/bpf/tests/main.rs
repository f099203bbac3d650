//! The decisions of the congestion controls for BPF agree with those of fullpipe-cc: windows within
//! 1 % and a segment, pacing rates within 1 %, at 99 % of the ACKs.

use bpf_tests::{Line, Native, Path, Twin, Unit};
use fullpipe_cc::{Domain, ParamValue, Registry};

/// The sources in `bpf/`, the algorithm of fullpipe-cc, and its profile.
const ALGORITHMS: &[(&str, &str, &str)] = &[
    ("newreno", "newreno", "linux"),
    ("bbr3", "bbr3", "linux"),
];

/// Without random waits, which both draw differently.
const WITHOUT_CHANCE: [(&str, f64); 2] = [("probe_wait_spread", 0.0), ("reno_rounds_choices", 1.0)];

fn twin(file: &str) -> (Twin, bool) {
    let (_, name, profile) = ALGORITHMS.iter().find(|(known, ..)| *known == file).expect("listed");
    let mut params: Vec<(&str, ParamValue)> = Vec::new();
    if !profile.is_empty() {
        params.push(("profile", ParamValue::Word((*profile).to_owned())));
    }
    let bbr = name.starts_with("bbr");
    if bbr {
        params.extend(WITHOUT_CHANCE.map(|(key, value)| (key, ParamValue::Number(value))));
    }
    let twin = Twin::new(file, name, &params);
    if bbr { (twin.paced(), false) } else { (twin, true) }
}

fn agree(file: &str, what: &str, line: Line, seconds: f64) {
    let (mut twin, prr) = twin(file);
    Path::new(line, prr).run(&mut twin, seconds);
    let share = twin.agreement.share();
    let acks = twin.agreement.acks;
    println!("{file} {what}: {acks} ACKs, {:.3} % agree", share * 100.0);
    assert!(acks > 100, "{what}: {acks} ACKs");
    assert!(share >= 0.99, "{file}, {what}: {:.3} % of {acks} ACKs; {:?}", share * 100.0, twin.agreement.first);
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
            let expected = match descriptor.default_of(declared, profile) {
                ParamValue::Number(number) => number,
                ParamValue::Flag(flag) => f64::from(u8::from(flag)),
                ParamValue::Word(word) => panic!("{file}: {} is {word}", param.name),
            };
            let found = native.get(param);
            assert!((found - expected).abs() <= 1.0 / 65_536.0, "{file}: {} = {found}, not {expected}", param.name);
            let flag = matches!(declared.domain, Domain::Flag { .. });
            assert_eq!(param.unit == Unit::Flag, flag, "{file}: unit of {}", param.name);
            assert_eq!(param.unit == Unit::Us, declared.unit == "s", "{file}: unit of {}", param.name);
        }
    }
}

#[test]
fn newreno_agrees() {
    on_all_lines("newreno");
}

#[test]
fn bbr3_agrees() {
    on_all_lines("bbr3");
}

fn on_all_lines(file: &str) {
    agree(file, "deep buffer", Line::new(50.0, 40_000, 600), 20.0);
    agree(file, "buffer of a BDP", Line::new(50.0, 40_000, 250), 20.0);
    agree(file, "shallow buffer", Line::new(50.0, 40_000, 25), 20.0);
    agree(file, "long path", Line::new(20.0, 300_000, 400), 20.0);
    agree(file, "short path", Line::new(200.0, 2_000, 100), 10.0);
    agree(file, "slow line", Line::new(1.0, 60_000, 30), 20.0);
    agree(file, "random loss", Line { loss: 0.01, ..Line::new(50.0, 40_000, 250) }, 20.0);
    agree(file, "collected ACKs", Line { ack_every: 5_000, ..Line::new(50.0, 40_000, 250) }, 20.0);
    agree(file, "pauses", Line { on_off: (300_000, 200_000), ..Line::new(50.0, 40_000, 250) }, 20.0);
    agree(file, "limited", Line { on_off: (1_000, 4_000), ..Line::new(50.0, 40_000, 250) }, 20.0);
    agree(file, "outage", Line { outage: (4_000_000, 5_500_000), ..Line::new(50.0, 40_000, 250) }, 20.0);
    agree(file, "marks", Line { mark_above: 20, ..Line::new(50.0, 4_000, 250) }, 20.0);
    agree(file, "spurious losses", Line { loss: 0.002, spurious: 0.5, ..Line::new(50.0, 40_000, 250) }, 20.0);
}
