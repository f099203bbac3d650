//! Every algorithm with every ECN setting: marks are answered, or the flow is refused, or the
//! descriptor declares that they are ignored.

use fullpipe_cc::{Marks, Registry};
use fullpipe_scenario::Scenario;
use fullpipe_setup::choose;
use fullpipe_trace::TraceLevel;

use crate::users::of_specifications;

const SETTINGS: [&str; 4] = ["off", "auto", "ect0", "ect1"];
const FEEDBACK: [&str; 3] = ["accurate", "classic", "dctcp"];

/// Results that marks change if they are answered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Outcome {
    goodput_bps: f64,
    queue_s: f64,
    rtt_p99_s: f64,
}

/// Runs a flow alone, on a queue that marks above two packets (0.24 ms) and never drops here. The
/// RTT is within BBR's `ecn_max_rtt`. Returns the number of marks, too.
fn run(scenario: &Scenario) -> (u64, Outcome) {
    let run = fullpipe_sim::run(scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"));
    let flow = &run.summary.flows[0];
    let outcome = Outcome {
        goodput_bps: flow.goodput_bps,
        queue_s: flow.queue_delay_s.mean.expect("samples"),
        rtt_p99_s: flow.rtt_s.p99.expect("samples"),
    };
    (run.summary.links[0].marks, outcome)
}

fn scenario(cc: &str, params: &str, ecn: &str, feedback: &str) -> Scenario {
    let text = format!(
        "duration = \"10s\"\nmeasure_from = \"4s\"\n[path]\nrate = \"100mbit\"\nrtt = \"4ms\"\n\
         buffer = \"2000packets\"\nqueue = {{ kind = \"step_ecn\", threshold = \"2packets\" }}\n\
         [[flow]]\ncc = \"{cc}\"\nparams = {{ {params} }}\necn = \"{ecn}\"\necn_feedback = \"{feedback}\"\n"
    );
    of_specifications(&text)
}

/// Every algorithm, and parameters that change its response.
fn cases() -> Vec<(&'static str, &'static str)> {
    let registry = Registry::default();
    let names = registry.iter().map(|known| known.name);
    let windows = registry.receivers().map(|known| known.name);
    // Swift's default target, for a rack, would leave the queue empty here.
    let params = |name| match name {
        "swift" => "base_target = 6000",
        _ => "",
    };
    let mut cases: Vec<_> = names
        .chain(windows)
        .map(|name| (name, params(name)))
        .collect();
    cases.extend([
        ("bbr2", "ecn = true"),
        ("bbr3", "ecn = true"),
        ("bbr3", "ecn = true, ecn_max_rtt = 0.001"),
        ("bbr3", "profile = \"linux\""),
        ("bbr3", "profile = \"linux\", ecn = true"),
        ("bbr3", "profile = \"picoquic-2024-10\""),
        ("cubic", "profile = \"linux\""),
    ]);
    cases
}

/// Returns the declared response, or the refusal's text.
fn declared(scenario: &Scenario) -> Result<Marks, String> {
    let chosen = choose(scenario, &scenario.flows[0], &Registry::default());
    let chosen = chosen.map_err(|error| error.to_string())?;
    let (descriptor, config) = &chosen.sender;
    Ok((descriptor.marks)(config))
}

#[test]
fn marks_are_answered_refused_or_declared_as_ignored() {
    for (cc, params) in cases() {
        // Without feedback; an algorithm that needs marks is refused there.
        let mut unmarked = None;
        for (ecn, feedback) in SETTINGS.map(|ecn| FEEDBACK.map(|f| (ecn, f))).concat() {
            let name = format!("{cc} {{ {params} }}, {ecn}, {feedback}");
            let scenario = scenario(cc, params, ecn, feedback);
            let answer = match declared(&scenario) {
                Ok(answer) => answer,
                Err(refusal) => {
                    assert!(
                        refusal.contains("this flow's ecn and ecn_feedback"),
                        "{name}"
                    );
                    continue;
                }
            };
            let (marks, found) = run(&scenario);
            if ecn == "off" {
                assert_eq!(
                    (marks, found),
                    (0, *unmarked.get_or_insert(found)),
                    "{name}"
                );
                continue;
            }
            if ecn == "auto" && marks == 0 {
                assert_eq!(Some(found), unmarked, "{name}: not ECN-capable");
                continue;
            }
            assert!(marks > 0, "{name}");
            match (answer, unmarked) {
                // DCTCP and Prague: the queue is near the threshold.
                (Marks::Answered, None) => assert!(found.queue_s < 0.0005, "{name}: {found:?}"),
                (Marks::Answered, Some(without)) => assert!(
                    found.queue_s < 0.5 * without.queue_s,
                    "{name}: {found:?}, without marks {without:?}"
                ),
                // DCTCP's receiver sends further ACKs where marks begin and end, so the run differs.
                (Marks::Ignored, _) if feedback == "dctcp" => {}
                (Marks::Ignored, without) => assert_eq!(Some(found), without, "{name}"),
            }
        }
    }
}
