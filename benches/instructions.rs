//! Instructions per data packet, counted by callgrind and compared with `benches/instructions.txt`.
//!
//! `make bench-instructions`, or `cargo bench -p fullpipe-benches --bench instructions -- [NAME…]`
//!
//! Counts of one program differ by less than 0.1 % between runs and machines, where times differ by 40 %. With
//! `FULLPIPE_BLESS=1` the table is written anew. `--run NAME` is what callgrind runs.

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::{env, fs};

use cases::{CASES, Case};
use fullpipe_cc::Registry;
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;

type Counted = (&'static str, &'static str, &'static str, u32, bool);

/// Name in the table, run, `stack`, seconds of virtual time, whether there is a row at every ACK.
const COUNTED: &[Counted] = &[
    ("cubic-1g", "cubic-1g", "rfc", 2, false),
    ("bbr3-1g", "bbr3-1g", "rfc", 2, false),
    ("bbr1-lossy", "bbr1-lossy", "rfc", 2, false),
    ("cubic-10-flows", "cubic-10-flows", "rfc", 2, false),
    ("cubic-1000-flows", "cubic-1000-flows", "rfc", 2, false),
    ("fq_codel-10-flows", "fq_codel-10-flows", "rfc", 2, false),
    ("cubic-1g, every ACK", "cubic-1g", "rfc", 1, true),
    ("cubic-1g, linux", "cubic-1g", "linux", 2, false),
    ("cubic-1g, linux-fq", "cubic-1g", "linux-fq", 2, false),
    ("bbr3-1g, linux", "bbr3-1g", "linux", 2, false),
    ("bbr3-1g, linux-fq", "bbr3-1g", "linux-fq", 2, false),
    ("small, with set-up", "small", "rfc", 1, false),
];

/// Difference from the table that fails, in percent: with the table's compiler, and with another.
const TOLERANCE: (f64, f64) = (2.0, 10.0);

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("--test") => drop(run(COUNTED[0])),
        Some("--run") => println!("{}", run(counted(&arguments[1]))),
        _ => process::exit(i32::from(!compare(&arguments))),
    }
}

fn counted(name: &str) -> Counted {
    let found = COUNTED.iter().find(|(known, ..)| *known == name);
    *found.unwrap_or_else(|| {
        let known: Vec<&str> = COUNTED.iter().map(|(name, ..)| *name).collect();
        eprintln!("{name:?} is not a run; runs are {}", known.join("; "));
        process::exit(2)
    })
}

/// Runs a case; returns the number of data packets.
fn run((_, case, stack, seconds, traced): Counted) -> u64 {
    let case: &Case = CASES
        .iter()
        .find(|known| known.name == case)
        .expect("a run of the table");
    let level = if traced {
        TraceLevel::Acks
    } else {
        TraceLevel::Off
    };
    let mut simulation = Simulation::new(
        &case.with_stack(stack, seconds),
        &Registry::default(),
        level,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    while !simulation.advance(u64::MAX) {}
    simulation.finish().summary.packets
}

/// Counts the runs named, or all, and compares them with the table; returns whether all are within the
/// tolerance.
fn compare(names: &[String]) -> bool {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.txt");
    let table = fs::read_to_string(&file).unwrap_or_default();
    let bless = env::var_os("FULLPIPE_BLESS").is_some();
    let compiler = compiler();
    let same = table
        .lines()
        .next()
        .is_some_and(|line| line.ends_with(&compiler));
    let tolerance = if same { TOLERANCE.0 } else { TOLERANCE.1 };
    println!("compiler {compiler}, tolerance {tolerance} %");
    let mut new = format!("# Instructions per data packet, with {compiler}\n");
    let mut within = true;
    for &(name, ..) in COUNTED {
        let before = expected(&table, name);
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            if let Some(before) = before {
                new += &format!("{name:24}{before:>8.0}\n");
            }
            continue;
        }
        let now = instructions_per_packet(name);
        new += &format!("{name:24}{now:>8.0}\n");
        let change = before.map_or(f64::INFINITY, |before| (now / before - 1.0) * 100.0);
        let fine = change.abs() <= tolerance;
        within &= fine;
        println!(
            "{name:24}{now:>8.0}{change:>+8.1} %{}",
            if fine { "" } else { "  differs" }
        );
    }
    if bless {
        fs::write(&file, new).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    } else if !within {
        println!(
            "Instructions differ from benches/instructions.txt. If that is intended, write the table anew: \
             FULLPIPE_BLESS=1 make bench-instructions"
        );
    }
    bless || within
}

/// Returns the number in the table's line of this name.
fn expected(table: &str, name: &str) -> Option<f64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}

/// Runs callgrind on this program.
fn instructions_per_packet(name: &str) -> f64 {
    let out: PathBuf = env::temp_dir().join(format!("fullpipe-callgrind-{}", process::id()));
    let program = env::current_exe().expect("the program's path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args(["--run", name])
        .output()
        .unwrap_or_else(|error| {
            eprintln!("valgrind: {error}; `make apt` installs it");
            process::exit(2)
        });
    let text = String::from_utf8_lossy(&output.stdout);
    let packets: f64 = text.trim().parse().unwrap_or_else(|_| {
        panic!(
            "{name}: no number of packets in {text:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    let profile = fs::read_to_string(&out).expect("callgrind writes its profile");
    fs::remove_file(&out).expect("the profile can be removed");
    let total = profile
        .lines()
        .find_map(|line| line.strip_prefix("totals: ")?.trim().parse::<f64>().ok());
    total.expect("a profile has totals") / packets
}

/// Returns the version of the compiler.
fn compiler() -> String {
    let output = Command::new("rustc")
        .arg("--version")
        .output()
        .expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}
