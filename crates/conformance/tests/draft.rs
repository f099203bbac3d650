//! draft-ietf-ccwg-bbr-06, Appendix A, as claims about `bbr3` with the draft's profile; and the
//! results of each version of BBR, as documented.

use fullpipe_cc::Registry;
use fullpipe_conformance::{CASES, Report, Subject, Verdict};

fn holds(section: &str) {
    let registry = Registry::default();
    let subject = Subject::new(&registry, "bbr3", &[("profile", "draft")])
        .unwrap_or_else(|error| panic!("{error}"));
    let case = fullpipe_conformance::case(section).expect("a case of the appendix");
    let outcome = case.run(&subject).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.verdict(), Verdict::Met, "{outcome}");
}

macro_rules! claims {
    ($($claim:ident: $section:literal,)*) => {
        $(
            #[test]
            fn $claim() {
                holds($section);
            }
        )*

        #[test]
        fn every_case_has_its_claim() {
            let claimed = [$($section),*];
            let cases: Vec<&str> = CASES.iter().map(|case| case.section).collect();
            assert_eq!(claimed.to_vec(), cases);
        }
    };
}

claims! {
    startup_ends_at_a_bandwidth_plateau: "A.1",
    startup_ends_on_loss_though_the_application_limits: "A.2",
    drain_ends_when_the_queue_is_gone: "A.3",
    drain_ends_after_its_time_though_there_is_a_queue: "A.4",
    up_ends_at_a_bandwidth_plateau: "A.5",
    up_ends_on_loss_though_the_application_limits: "A.6",
    up_and_startup_never_end_while_the_application_limits_and_nothing_is_lost: "A.7",
    down_ends_when_there_is_headroom: "A.8",
    down_ends_when_it_is_time_to_probe_though_there_is_a_queue: "A.9",
    probe_rtt_comes_after_five_seconds_and_lasts_200_ms_and_a_round: "A.10",
    probe_rtt_is_skipped_after_idle: "A.11",
    startup_finds_the_bandwidth_of_a_path_that_aggregates_acks: "A.12",
    cruise_keeps_the_bandwidth_of_a_path_that_aggregates_acks: "A.13",
    a_bdp_below_a_packet_leaves_a_window_of_four: "A.14",
    ten_times_the_bandwidth_is_found_in_rounds_of_the_bdps_logarithm: "A.15",
    a_tenth_of_the_bandwidth_is_the_estimate_two_cycles_later: "A.16",
    a_policers_rate_is_kept_to_without_losing_all_the_time: "A.17",
    a_spurious_fast_recovery_is_undone: "A.18",
    a_spurious_timeout_is_undone: "A.19",
    probe_rtt_during_startup_goes_back_to_startup: "A.20",
    loss_in_up_lowers_the_long_term_bound_and_ends_it: "A.21",
    a_pause_in_refill_leaves_the_bandwidth_estimate_alone: "A.22",
}

#[test]
fn it_does_not_hang_on_the_seed() {
    let registry = Registry::default();
    for seed in 2..=5 {
        let subject = Subject::new(&registry, "bbr3", &[])
            .expect("bbr3 can run")
            .with_seed(seed);
        let report = subject.run().expect("all cases run");
        assert!(report.is_met(), "seed {seed}:\n{report}");
    }
}

#[test]
fn the_profile_loopback_meets_all_cases() {
    let profile = [("profile", "loopback")];
    let report =
        fullpipe_conformance::run(&Registry::default(), "bbr3", &profile).expect("all cases run");
    assert!(report.is_met(), "{report}");
}

/// The versions in the order of the documentation's columns.
fn versions() -> [Report; 5] {
    let linux: &[(&str, &str)] = &[("profile", "linux")];
    let versions = [
        ("bbr3", &[][..]),
        ("bbr3", linux),
        ("bbr3-picoquic-2024-10", &[]),
        ("bbr2", &[]),
        ("bbr1", &[]),
    ];
    versions.map(|(cc, params)| {
        fullpipe_conformance::run(&Registry::default(), cc, params)
            .unwrap_or_else(|error| panic!("{cc}: {error}"))
    })
}

#[test]
fn the_page_has_what_each_version_meets() {
    let versions = versions();
    let mut table =
        "| Case | | draft | Linux | picoquic | BBRv2 | BBRv1 |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for (index, case) in CASES.iter().enumerate() {
        table.push_str(&format!("| {} | {} |", case.section, case.title));
        for version in &versions {
            table.push_str(&format!(" {} |", version.outcomes[index].verdict().word()));
        }
        table.push('\n');
    }
    let met = versions
        .each_ref()
        .map(|version| version.count(Verdict::Met).to_string());
    table.push_str(&format!("| | of 22 met | {} |\n", met.join(" | ")));
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/evidence/conformance.md"
    );
    let text = std::fs::read_to_string(page).unwrap_or_default();
    assert!(
        text.contains(&table),
        "{page} does not have this table:\n{table}"
    );
}

#[test]
fn what_an_algorithm_does_not_declare_is_skipped_and_not_missed() {
    let registry = Registry::default();
    let report = Subject::new(&registry, "cubic", &[])
        .expect("cubic can run")
        .run()
        .expect("all cases run");
    assert_eq!(report.count(Verdict::Missed), 0, "{report}");
    assert!(!report.is_met(), "without a met condition");
    let first = report.outcomes[0].judged().next().expect("a condition");
    assert_eq!(first.why, "cubic has no state startup");
}

#[test]
fn a_scenario_with_its_steps_can_be_run_again() {
    let registry = Registry::default();
    let subject =
        Subject::new(&registry, "bbr3", &[("drain_pacing_gain", "0.4")]).expect("bbr3 can run");
    let outcome = fullpipe_conformance::case("4")
        .expect("A.4")
        .run(&subject)
        .expect("A.4 runs");
    let text = &outcome.scenes[0].scenario;
    assert!(
        text.contains("params = { drain_pacing_gain = 0.4 }") && text.contains("[[path.change]]"),
        "{text}"
    );
    let scenario = fullpipe_scenario::Scenario::parse(text, "again.toml")
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        scenario.title(),
        Some("A.4 Exiting Drain based on time (half)")
    );
    assert_eq!(scenario.path.changes.len(), 1);
}

#[test]
fn what_is_no_algorithm_or_parameter_is_refused() {
    let registry = Registry::default();
    let refused = |cc: &str, params: &[(&str, &str)]| {
        Subject::new(&registry, cc, params).expect_err("no such thing")
    };
    assert!(
        refused("bbr33", &[])
            .fix()
            .contains("did you mean \"bbr3\"")
    );
    assert!(refused("none", &[]).problem().contains("none"));
    assert!(
        refused("bbr3", &[("profle", "linux")])
            .fix()
            .contains("profile")
    );
    assert!(
        refused("bbr3", &[("profile", "lynux")])
            .fix()
            .contains("linux")
    );
}
