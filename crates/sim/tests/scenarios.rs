//! A run as its user sees it: figures that can be derived by hand, limits, and refusals.

use fullpipe_cc::Registry;
use fullpipe_scenario::{Error, Scenario};
use fullpipe_sim::run;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{Data, Summary};
use fullpipe_units::Span;

fn summary(flows: &str, path: &str) -> Summary {
    let text = format!("duration = \"20s\"\n[path]\n{path}\n{flows}");
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"))
        .summary
}

fn refusal(flow: &str) -> Error {
    let text = format!(
        "duration = \"2s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"\n[[flow]]\n{flow}\n"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, &Registry::default(), TraceLevel::Off).expect_err("it should be refused")
}

const PATH: &str = "rate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"";

#[test]
fn a_full_link_gives_the_payloads_share_of_its_rate() {
    let summary = summary("[[flow]]\ncc = \"cubic\"\n", PATH);
    let goodput = summary.flows[0].goodput_bps;
    assert!(
        (goodput / (10e6 * 1448.0 / 1500.0) - 1.0).abs() < 0.02,
        "{goodput}"
    );
    assert!(summary.links[0].utilization > 0.98);
    assert_eq!(summary.jain, Some(1.0));
    // 2 BDP are 66 packets of 1.2 ms: the longest wait, plus the RTT and the packet's times on link
    // and access link.
    let longest = summary.flows[0].rtt_s.max.expect("there are samples");
    assert!(
        (longest - (0.040 + 67.0 * 0.0012)).abs() < 0.002,
        "{longest}"
    );
}

#[test]
fn a_receive_window_of_half_a_bdp_gives_half_the_rate() {
    let summary = summary(
        "[[flow]]\ncc = \"cubic\"\nreceive_window = \"24kB\"\n",
        PATH,
    );
    // 16 segments per RTT of 40 ms plus the times of the two packets that an ACK answers, 1.2 ms
    // each, and 0.12 ms on the access link.
    let expected = 16.0 * 1448.0 * 8.0 / 0.04264;
    let flow = &summary.flows[0];
    assert!(
        (flow.goodput_bps / expected - 1.0).abs() < 0.02,
        "{} of {expected}",
        flow.goodput_bps
    );
    assert!(
        flow.limited_by["receive_window"] > 0.95,
        "{:?}",
        flow.limited_by
    );
    assert_eq!(flow.retransmits, 0);
}

#[test]
fn a_paced_application_gets_what_it_asks_for() {
    let summary = summary("[[flow]]\ncc = \"bbr1\"\napp_rate = \"2mbit\"\n", PATH);
    let flow = &summary.flows[0];
    assert!(
        (flow.goodput_bps / 2e6 - 1.0).abs() < 0.01,
        "{}",
        flow.goodput_bps
    );
    assert!(
        flow.limited_by["application"] > 0.9,
        "{:?}",
        flow.limited_by
    );
}

#[test]
fn an_application_pauses_and_goes_on_as_its_schedule_says() {
    let schedule = "app_rate = \"2mbit\"\napp_schedule = \"2s pause, 4s unlimited, 5s 1mbit\"\n";
    let text = format!(
        "stack = \"rfc\"\nduration = \"6s\"\n[path]\n{PATH}\n[[flow]]\ncc = \"cubic\"\n{schedule}"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap();
    let run = run(
        &scenario,
        &Registry::default(),
        TraceLevel::Every(Span::from_millis(100)),
    )
    .unwrap();
    let trace = run.trace.unwrap();
    let column = |name: &str| match &trace.tables[0]
        .columns
        .iter()
        .find(|column| column.name == name)
        .unwrap()
        .data
    {
        Data::U64(values) => values.to_vec(),
        other => panic!("{other:?}"),
    };
    let (times, delivered) = (column("time"), column("delivered"));
    let at = |ms: u64| {
        delivered[times
            .iter()
            .position(|time| *time == ms * 1_000_000)
            .unwrap()]
    };
    // Rate in bit/s over half seconds in which the transient of the previous phase is over.
    let rate = |from: u64| (at(from + 500) - at(from)) as f64 * 8.0 / 0.5;
    for (from, expected) in [(1_000, 2e6), (3_000, 0.0), (4_400, 9.65e6), (5_400, 1e6)] {
        // Tolerance of one ACK per half second.
        assert!(
            (rate(from) - expected).abs() < 0.05e6,
            "{from} ms: {} bit/s",
            rate(from)
        );
    }
}

#[test]
fn unresponsive_traffic_keeps_its_rate_whatever_happens() {
    let flows = "[[flow]]\ncc = \"cubic\"\n[[flow]]\ncc = \"none\"\napp_rate = \"4mbit\"\n";
    let summary = summary(flows, PATH);
    let constant = &summary.flows[1];
    assert!(
        constant.goodput_bps > 3.7e6 && constant.goodput_bps <= 4.001e6,
        "{}",
        constant.goodput_bps
    );
    assert_eq!(
        summary.jain,
        Some(1.0),
        "Jain's index counts only responsive flows"
    );
}

#[test]
fn unresponsive_traffic_comes_in_bursts_of_its_schedule() {
    let bursts = "app_rate = \"4mbit\"\napp_schedule = \"100ms pause every 400ms\"\n";
    let flows = format!("[[flow]]\ncc = \"none\"\n{bursts}");
    let flow = &summary(&flows, PATH).flows[0];
    // 100 ms at 4 Mbit/s are 34.5 packets; each burst begins with a packet, so it has 35.
    let expected = 35.0 * 1448.0 * 8.0 / 0.4;
    assert!(
        (flow.goodput_bps - expected).abs() < 0.01 * expected,
        "{} of {expected}",
        flow.goodput_bps
    );
}

#[test]
fn bursts_beyond_the_access_link_are_refused_by_their_key() {
    let error = refusal("cc = \"none\"\napp_rate = \"1mbit\"\napp_schedule = \"1s 2gbit\"");
    assert!(error.to_string().contains("flow.0.app_schedule"), "{error}");
}

#[test]
fn a_transfer_completes_and_says_when() {
    let summary = summary(
        "[[flow]]\ncc = \"newreno\"\nstart = \"1s\"\nbytes = \"10kB\"\n",
        PATH,
    );
    let flow = &summary.flows[0];
    // SYN, SYN-ACK, then seven segments in the initial window: one and a half RTTs, and the time of
    // seven packets.
    let expected = 0.060 + 7.0 * 0.0012;
    let completion = flow.completion_s.expect("the transfer completes");
    assert!(
        (completion - expected).abs() < 0.002,
        "{completion} of {expected}"
    );
    assert!((flow.goodput_bps - 80_000.0 / completion).abs() < 1_000.0);
    assert_eq!(
        (flow.sent, summary.packets),
        (7, 7),
        "the SYN is not a data packet"
    );
}

#[test]
fn random_loss_is_what_was_asked_for() {
    let path = format!("{PATH}\nloss = \"1%\"");
    let summary = summary("[[flow]]\ncc = \"bbr1\"\n", &path);
    let flow = &summary.flows[0];
    assert!(
        (0.006..0.015).contains(&flow.loss_fraction),
        "{}",
        flow.loss_fraction
    );
    assert_eq!(flow.drops, summary.links[0].losses + summary.links[0].drops);
    assert!(
        flow.drops.abs_diff(flow.retransmits) <= 3,
        "lost packets were retransmitted once"
    );
}

#[test]
fn shares_of_the_limits_sum_to_one() {
    let flows =
        "[[flow]]\ncc = \"cubic\"\n[[flow]]\ncc = \"bbr1\"\nstart = \"3s\"\nbytes = \"2MB\"\n";
    for flow in summary(flows, PATH).flows {
        let sum: f64 = flow.limited_by.values().sum();
        assert!(
            (sum - 1.0).abs() < 1e-9,
            "{}: {:?}",
            flow.name,
            flow.limited_by
        );
    }
}

#[test]
fn a_trace_has_a_row_each_interval_while_the_flow_lives() {
    let text = format!(
        "duration = \"5s\"\n[path]\n{PATH}\n[[flow]]\ncc = \"cubic\"\nstart = \"1s\"\nbytes = \"100kB\"\n"
    );
    let scenario = Scenario::parse(&text, "test.toml").expect("a valid scenario");
    let run = run(
        &scenario,
        &Registry::default(),
        TraceLevel::Every(Span::from_millis(10)),
    )
    .expect("it runs");
    let trace = run.trace.expect("traced");
    let times = |table: usize| match &trace.tables[table].columns[0].data {
        Data::U64(times) => times.to_vec(),
        other => panic!("time is {other:?}"),
    };
    let (flows, links) = (times(0), times(1));
    assert_eq!(flows[0], 1_000_000_000);
    let completion = run.summary.flows[0].completion_s.expect("it completes");
    let rows = (completion * 100.0) as usize;
    assert!(
        (rows..rows + 10).contains(&flows.len()),
        "{} rows for {completion} s",
        flows.len()
    );
    assert_eq!(links.len(), 500);
    for table in &trace.tables {
        let lengths = table.columns.iter().map(|column| match &column.data {
            Data::U64(values) => values.len(),
            Data::U32(values) => values.len(),
            Data::F32(values) => values.len(),
            Data::Label { codes, .. } => codes.len(),
        });
        let lengths: std::collections::BTreeSet<usize> = lengths.collect();
        assert_eq!(lengths.len(), 1, "all columns have one length");
    }
}

/// The saved scenario contains the defaults of algorithms and path, and gives the same run.
#[test]
fn a_resolved_scenario_leaves_nothing_to_defaults() {
    let flows = "[[flow]]\ncc = \"cubic\"\n[[flow]]\ncc = \"bbr1\"\nparams = { cwnd_gain = 2.5 }\n";
    let text = format!("duration = \"5s\"\n[path]\n{PATH}\n{flows}");
    let scenario = Scenario::parse(&text, "test.toml").expect("a valid scenario");
    let written = fullpipe_setup::resolved(&scenario, &Registry::default()).to_toml();
    for line in [
        "slow_start = \"hystart\"",
        "beta = 0.7",
        "cwnd_gain = 2.5",
        "receive_window = ",
    ] {
        assert!(written.contains(line), "{line} in\n{written}");
    }
    let again = Scenario::parse(&written, "resolved.toml").expect("a valid scenario");
    let hash = |scenario| {
        let run = run(scenario, &Registry::default(), TraceLevel::Acks).expect("it runs");
        run.trace.expect("traced").hash()
    };
    assert_eq!(hash(&scenario), hash(&again));
}

#[test]
fn a_trace_fits_in_the_memory_that_was_estimated() {
    let flows = ["bbr1", "cubic", "newreno"]
        .map(|cc| format!("[[flow]]\ncc = \"{cc}\"\n"))
        .concat();
    let text = format!("duration = \"20s\"\n[path]\n{PATH}\n{flows}");
    let scenario = Scenario::parse(&text, "test.toml").expect("a valid scenario");
    for level in [TraceLevel::Every(Span::from_millis(1)), TraceLevel::Acks] {
        let (used, estimate) = trace_memory(&scenario, level);
        assert!(
            used < estimate && estimate < 10 * used,
            "{level:?}: {used} B of {estimate} B"
        );
    }
}

/// However fast the path and however long the run: a transfer has no more ACKs than segments that
/// arrive.
#[test]
fn a_trace_of_transfers_needs_no_memory_for_when_they_are_over() {
    let still = "loss = \"0%\"";
    let bad = "loss = \"5%\"\nreverse_loss = \"5%\"\nduplicate = \"50%\"\nreverse_duplicate = \"50%\"\njitter = \"1ms reorder\"";
    for (way, bytes) in [(still, "20MB"), (bad, "5MB")] {
        let flows = format!(
            "[[flow]]\ncc = \"bbr3\"\nbytes = \"{bytes}\"\ndelayed_ack = 1\n[[flow]]\ncc = \"none\"\napp_rate = \"1mbit\"\n"
        );
        let path = "rate = \"10gbit\"\nrtt = \"5ms\"\nbuffer = \"1bdp\"";
        let text = format!("duration = \"20s\"\n[path]\n{path}\n{way}\n{flows}");
        let scenario = Scenario::parse(&text, "test.toml").expect("a valid scenario");
        let (used, estimate) = trace_memory(&scenario, TraceLevel::Acks);
        assert!(
            used < estimate && estimate < 30 * used,
            "{way}: {used} B of {estimate} B"
        );
    }
}

/// Memory of a run's trace, and the estimate for the run.
fn trace_memory(scenario: &Scenario, level: TraceLevel) -> (usize, usize) {
    let trace = run(scenario, &Registry::default(), level)
        .expect("it runs")
        .trace
        .expect("traced");
    let bytes = |data: &Data| match data {
        Data::U64(values) => values.memory(),
        Data::U32(values) => values.memory(),
        Data::F32(values) => values.memory(),
        Data::Label { codes, .. } => codes.memory(),
    };
    let used = trace
        .tables
        .iter()
        .flat_map(|table| &table.columns)
        .map(|column| bytes(&column.data))
        .sum();
    (
        used,
        fullpipe_sim::memory_needed(scenario, level).get() as usize,
    )
}

#[test]
fn refusals_name_file_key_value_and_fix() {
    assert_eq!(
        refusal("cc = \"none\"\napp_rate = \"1gbit\"").to_string(),
        "test.toml:8: flow.0.app_rate = \"1gbit\": faster than its access link, which is 10 x the fastest link, headers included\n  \
         fix: give at most \"96.533333mbit\""
    );
    let names = Registry::default().names().join(", ");
    assert_eq!(
        refusal("cc = \"cubik\"").to_string(),
        format!(
            "test.toml:7: flow.0.cc = \"cubik\": no algorithm of this name\n  \
             fix: did you mean \"cubic\"? there are {names} (and \"none\")"
        )
    );
    assert_eq!(
        refusal("cc = \"cubic\"\nparams = { beata = 0.5 }").to_string(),
        "test.toml:8: flow.0.params.beata = 0.5: cubic has no parameter \"beata\"\n  \
         fix: did you mean \"beta\"? it has profile, slow_start, c, beta, beta_ecn, fast_convergence"
    );
    assert_eq!(
        refusal("cc = \"cubic\"\nparams = { beta = 1.5 }").to_string(),
        "test.toml:8: flow.0.params.beta = 1.5: beta can't be 1.5\n  fix: give a number from 0.1 to 0.99"
    );
    let word = refusal("cc = \"cubic\"\nparams = { slow_start = \"slow\" }").to_string();
    assert!(
        word.contains("fix: give one of \"hystart++\", \"hystart\", \"hystart-5.16\", \"classic\""),
        "{word}"
    );
}
