//! Instructions per data packet of algorithms in libraries, compared with the same ones in the program: counted by
//! callgrind. `cargo run --release -p plugin-tests --example speed` prints the table of
//! `docs/notebook/performance.md`, with exit code 1 if a library takes over 10 % more.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

use custom_controller::delay_aimd;
use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::TraceLevel;

/// The algorithm, in the program and in a library.
const PAIRS: [(&str, &str, &str); 2] = [
    ("delayaimd, Rust", "delayaimd", "delayaimd-library"),
    ("NewReno, C", "newreno", "newreno-library"),
];
const MOST_PERCENT: f64 = 10.0;

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    if let [option, name] = &words[..] {
        assert_eq!(option, "--run");
        println!("{}", run(name));
        return;
    }
    println!("{:18}{:>9}{:>9}{:>9}", "", "program", "library", "");
    let mut within = true;
    for (title, program, library) in PAIRS {
        let [program, library] = [program, library].map(instructions_per_packet);
        let more = (library / program - 1.0) * 100.0;
        within &= more <= MOST_PERCENT;
        println!("{title:18}{program:>9.0}{library:>9.0}{more:>+7.1} %");
    }
    exit(i32::from(!within));
}

/// Runs an algorithm for two seconds; returns the number of data packets.
fn run(name: &str) -> u64 {
    let registry = Registry::default();
    let load = |file: &Path| {
        let loaded = fullpipe_plugin::load(file, Some(name), false);
        loaded
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
            .descriptor
    };
    let registry = match name {
        "delayaimd-library" => registry.with(load(&built("custom_controller"))),
        "newreno-library" => registry.with(load(&in_c())),
        _ => registry.with(&delay_aimd::DESCRIPTOR),
    };
    let text = format!(
        "duration = \"2s\"\n[path]\nrate = \"1gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"\n[[flow]]\ncc = {name:?}\n"
    );
    let scenario = Scenario::parse(&text, "speed.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = fullpipe_sim::run(&scenario, &registry, TraceLevel::Off);
    run.unwrap_or_else(|error| panic!("{error}"))
        .summary
        .packets
}

fn built(name: &str) -> PathBuf {
    let here = env::current_exe().expect("the program is a file");
    let profile = here
        .parent()
        .and_then(Path::parent)
        .expect("target/PROFILE/examples");
    let (before, after) = (env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    profile.join("deps").join(format!("{before}{name}{after}"))
}

/// Returns the example in C, compiled.
fn in_c() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = env::temp_dir().join("libfullpipe-speed.so");
    if env::var_os("FULLPIPE_COMPILED").is_none() {
        let compiled = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-I"])
            .arg(root.join("crates/plugin/include"))
            .arg(root.join("examples/c-controller/newreno.c"))
            .arg("-o")
            .arg(&file)
            .status();
        assert!(compiled.expect("cc runs").success());
    }
    file
}

fn instructions_per_packet(name: &str) -> f64 {
    if name == "newreno-library" {
        in_c();
    }
    let program = env::current_exe().expect("the program is a file");
    let profile = env::temp_dir().join(format!("fullpipe-speed-{name}"));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(["--run", name])
        .env("FULLPIPE_COMPILED", "1")
        .output()
        .expect("valgrind runs; `make apt` installs it");
    let text = String::from_utf8_lossy(&output.stdout);
    let packets: f64 = text.trim().parse().unwrap_or_else(|_| {
        panic!("{name}: {}", String::from_utf8_lossy(&output.stderr));
    });
    let lines = fs::read_to_string(&profile).expect("callgrind writes its profile");
    fs::remove_file(&profile).expect("the profile can be removed");
    let total = lines.lines().find_map(|line| line.strip_prefix("totals: "));
    let total: f64 = total
        .and_then(|total| total.trim().parse().ok())
        .expect("totals");
    total / packets
}
