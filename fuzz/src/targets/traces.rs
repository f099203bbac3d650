//! Files that a scenario names: mahimahi traces, schedules of rates, delay traces, histograms of
//! jitter, lists of losses, and distributions of flow sizes. An accepted file is written into the
//! scenario's text and read as the same.

use std::path::PathBuf;
use std::sync::LazyLock;

use fullpipe_scenario::Scenario;

/// In memory, where the system has such a directory: each input is a file.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    let folder = base.join(format!("fullpipe-fuzz-traces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the input");
    folder
});

const KEYS: [&str; 6] = [
    "rate_pattern = \"mahimahi file it\"",
    "rate_pattern = \"schedule file it\"",
    "delay_trace = \"file it\"",
    "delay_trace = \"file it every 100s\"",
    "jitter = \"histogram file it\"",
    "loss = \"list file it\"",
];

fn text(kind: u8) -> String {
    let mut text = String::from("duration = \"1s\"\n[path]\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n");
    let key = KEYS.get(usize::from(kind) % (KEYS.len() + 1));
    let pattern = key.is_some_and(|key| key.starts_with("rate_pattern"));
    if !pattern {
        text += "rate = \"100mbit\"\n";
    }
    text += key.copied().unwrap_or_default();
    text += "\n[[flow]]\ncc = \"cubic\"\n";
    if key.is_none() {
        text += "[[workload]]\ncc = \"cubic\"\nmodel = \"cdf\"\nsource = \"it\"\nload = 0.5\n";
    }
    text
}

pub(crate) fn check((kind, content): (u8, &[u8])) {
    std::fs::write(FOLDER.join("it"), content).expect("the input is written");
    let file = FOLDER.join("fuzzed.toml").to_string_lossy().into_owned();
    match Scenario::parse(&text(kind), &file) {
        Ok(scenario) => {
            let written = scenario.to_toml();
            // The text has what a trace's file had, but only the name of a distribution's.
            let mut again = Scenario::parse(&written, "written.toml")
                .unwrap_or_else(|error| panic!("{error}\n{written}"));
            again.comment.clone_from(&scenario.comment);
            assert_eq!(again, scenario, "{written}");
        }
        Err(error) => {
            assert_eq!(error.file(), file);
            assert!(!error.fix().is_empty(), "{error}");
            assert_eq!(
                error.to_string().matches('\n').count(),
                1,
                "two lines: {error}"
            );
        }
    }
}
