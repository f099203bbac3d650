//! Files of rates, delays and traces: no bytes make reading panic, an error names file and line,
//! and accepted values read back the same.

use std::fs;
use std::path::PathBuf;

use fullpipe_scenario::Scenario;
use proptest::prelude::*;

/// A file that is removed at the end of a test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("fullpipe-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns whether a scenario with the rate pattern `kind` from a file of these bytes is accepted.
fn accepts(kind: &str, file: &Scratch, bytes: &[u8]) -> bool {
    key_accepts("rate_pattern", &format!("{kind} file"), file, bytes)
}

/// Returns whether a scenario is accepted in which the value of the path's `key` is `before` and
/// the name of a file of these bytes.
fn key_accepts(key: &str, before: &str, file: &Scratch, bytes: &[u8]) -> bool {
    fs::write(&file.0, bytes).expect("the temporary folder is writable");
    let name = file
        .0
        .file_name()
        .expect("it has a name")
        .to_str()
        .expect("of ASCII");
    let rate = match key {
        "rate_pattern" => "",
        _ => "rate = \"9mbit\"\n",
    };
    let text = format!(
        "duration = \"9s\"\n[path]\n{key} = \"{before} {name}\"\n{rate}rtt = \"9ms\"\nbuffer = \"9packets\"\n\
         [[flow]]\ncc = \"cubic\"\n"
    );
    let beside = file.0.with_file_name("it.toml");
    match Scenario::parse(&text, beside.to_str().expect("of ASCII")) {
        Ok(scenario) => {
            let written = scenario.to_toml();
            assert_eq!(
                Scenario::parse(&written, "written.toml").unwrap(),
                scenario,
                "{written}"
            );
            true
        }
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.contains(&format!("it.toml:3: path.{key}")) && text.contains(name),
                "{text}"
            );
            assert_eq!(text.matches('\n').count(), 1, "two lines: {text}");
            assert!(text.len() < 2_000, "{} characters", text.len());
            false
        }
    }
}

fn lines(line: &'static str) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n").into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let file = Scratch::new("bytes");
        accepts("mahimahi", &file, &bytes);
        accepts("schedule", &file, &bytes);
        key_accepts("delay_trace", "file", &file, &bytes);
    }

    #[test]
    fn nearly_delays(bytes in lines("[0-9]{1,3}m?s[, ;]{1,2}[0-9]{1,3}(ms|us|min)|[0-9a-z ,.#-]{0,16}")) {
        key_accepts("reverse_delay_trace", "file", &Scratch::new("nearly-delays"), &bytes);
    }

    /// Compared with the definition: times that rise from zero, each with a delay of at most 100 s.
    #[test]
    fn delays_are_accepted_iff_their_times_rise_from_zero(
        steps in prop::collection::vec((0_u64..9, 0_u64..102), 0..6),
        sorted in any::<bool>(),
        from_zero in any::<bool>(),
    ) {
        let mut steps = steps;
        if let Some((first, _)) = steps.first_mut().filter(|_| from_zero) {
            *first = 0;
        }
        if sorted {
            steps.sort_unstable();
            steps.dedup_by_key(|(at, _)| *at);
        }
        let text: String = steps.iter().map(|(at, delay)| format!("{at}s, {delay}s\n")).collect();
        let rise = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let is_one = steps.first().is_some_and(|(at, _)| *at == 0) && rise && steps.iter().all(|(_, delay)| *delay <= 100);
        prop_assert_eq!(key_accepts("delay_trace", "file", &Scratch::new("iff-delays"), text.as_bytes()), is_one);
    }

    #[test]
    fn nearly_a_trace(bytes in lines("[0-9]{1,3}|[0-9 #.,+-]{0,8}|[0-9]{9,30}")) {
        accepts("mahimahi", &Scratch::new("nearly-trace"), &bytes);
    }

    #[test]
    fn nearly_a_schedule(bytes in lines("[0-9]{1,3}m?s[, ;]{1,2}[0-9]{1,3}[km]?bit|[0-9a-z ,.#-]{0,16}")) {
        accepts("schedule", &Scratch::new("nearly-schedule"), &bytes);
    }

    /// Compared with the definition: whole numbers of milliseconds that don't fall, the last one
    /// greater than zero.
    #[test]
    fn a_trace_is_accepted_iff_it_is_one(times in prop::collection::vec(0_u64..9, 0..6), sorted in any::<bool>()) {
        let mut times = times;
        if sorted {
            times.sort_unstable();
        }
        let text: String = times.iter().map(|time| format!("{time}\n")).collect();
        let is_one = times.is_sorted() && times.last().is_some_and(|last| *last > 0);
        prop_assert_eq!(accepts("mahimahi", &Scratch::new("iff"), text.as_bytes()), is_one);
    }
}

#[test]
fn files_of_other_systems_are_read() {
    let file = Scratch::new("systems");
    assert!(accepts(
        "mahimahi",
        &file,
        b"\xef\xbb\xbf1\r\n2\r\n\r\n# the end\r\n9\r\n"
    ));
    assert!(accepts("schedule", &file, b"0s,20mbit\r\n1s,\t30mbit\r\n"));
}

#[test]
fn a_line_without_end_is_refused_in_few_words() {
    let file = Scratch::new("line");
    assert!(!accepts("mahimahi", &file, &vec![b'7'; 10_000_000]));
    assert!(!accepts("schedule", &file, &vec![b'7'; 10_000_000]));
    // A file that is larger than any trace is refused before it is read.
    fs::File::create(&file.0)
        .and_then(|empty| empty.set_len(1 << 30))
        .expect("a sparse file");
    let name = file.0.to_str().expect("of ASCII");
    let text = format!(
        "duration = \"9s\"\n[path]\nrate_pattern = \"mahimahi file {name}\"\nrtt = \"9ms\"\nbuffer = \"9packets\"\n[[flow]]\ncc = \"cubic\"\n"
    );
    assert!(
        Scenario::parse(&text, "it.toml")
            .unwrap_err()
            .to_string()
            .contains("more than 64 MiB")
    );
}
