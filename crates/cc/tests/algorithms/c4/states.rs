//! States, eras and nominal values (§3, §4).

use fullpipe_units::{Bytes, Rate, Span, Time};

use super::{FAST, Flow, MS, RTT, SLOW, near};
use crate::algorithms::driver::SMSS;
use crate::algorithms::path::Path;

/// §4.2: the increment is shifted by 3 bits for each era without an increase.
#[test]
fn the_window_of_initial_doubles_while_the_rate_grows_and_hardly_grows_afterwards() {
    let mut flow = Flow::new(Some(Rate::from_bps(100_000)));
    flow.era(RTT);
    assert_eq!(flow.driver.cwnd(), 20.0);
    flow.driver.rate = Some(Rate::from_bps(200_000));
    flow.era(RTT);
    assert_eq!(flow.driver.cwnd(), 40.0);
    // The first ACK of this era shows that the one before had no increase.
    flow.era(RTT);
    assert_eq!(flow.driver.cwnd(), 41.0 + 39.0 / 8.0);
    let window = flow.driver.cwnd() + (181.0 + 44.0 * 22.0) / SMSS.as_f64();
    flow.era(RTT);
    near(flow.driver.cwnd(), window);
    assert!(flow.log().is_empty());
    flow.end_era(RTT);
    assert_eq!(flow.log(), ["recovery: no increase in three eras"]);
    // §4.2: half of the window, per nominal rate.
    let half = flow.driver.ssthresh() * SMSS.as_f64();
    near(flow.get("nominal_max_rtt"), half / 25_000.0);
    near(half, window * SMSS.as_f64() / 2.0);
    assert_eq!(flow.get("alpha"), 0.875, "§5.7: after Initial");
}

/// §4.1.
#[test]
fn initial_begins_unpaced_and_is_paced_at_a_megabit_at_least() {
    let mut flow = Flow::new(None);
    flow.era(RTT);
    assert_eq!(flow.driver.decision().pacing_rate, None);
    flow.driver.rate = Some(SLOW);
    flow.era(RTT);
    assert_eq!(flow.pacing_rate(), 1_048_576.0);
    flow.driver.rate = Some(FAST);
    flow.era(RTT);
    assert_eq!(flow.pacing_rate(), 40e6);
    // Twice the nominal rate times the first RTT, more than the initial window that has doubled.
    near(flow.driver.decision().cwnd.as_f64(), 5e6 * 0.1);
}

/// §4.2: eras in which the application limits the flow do not count.
#[test]
fn an_application_limited_flow_stays_in_initial_with_its_window() {
    let mut flow = Flow::new(Some(SLOW));
    flow.era(RTT);
    let window = flow.driver.cwnd();
    flow.driver.conn.app_limited = true;
    for _ in 0..10 {
        flow.era(RTT);
    }
    assert!(flow.log().is_empty());
    assert_eq!(flow.driver.cwnd(), window);
}

/// §4.4 to §4.6.
#[test]
fn a_cycle_has_two_eras_of_cruising_one_of_probing_and_one_of_recovery() {
    let mut flow = Flow::cruising(FAST);
    let mut alphas = vec![];
    for ms in [101, 102, 103, 104, 105] {
        alphas.push(flow.get("alpha"));
        flow.era(MS(ms));
    }
    // The RTTs grow, so the nominal max RTT does not shrink, and Recovery does not drain.
    assert_eq!(alphas, [1.0, 1.0, 1.0625, 0.9375, 1.0]);
    let cycle = [
        "probing: time to probe",
        "recovery: one era of probing",
        "cruising: recovered",
    ];
    assert_eq!(flow.log(), cycle);
}

/// §5.7: the nominal max RTT decreased in the cycle.
#[test]
fn recovery_drains_after_the_nominal_max_rtt_has_shrunk() {
    let mut flow = Flow::cruising(FAST);
    for _ in 0..3 {
        flow.era(MS(99));
    }
    assert_eq!(flow.get("alpha"), 0.875);
}

/// §4.6.
#[test]
fn probing_is_half_as_fast_once_a_packet_was_marked() {
    let mut flow = Flow::cruising(FAST);
    flow.driver.marked = 0.01;
    flow.ack(RTT);
    flow.driver.marked = 0.0;
    flow.until("probing");
    assert_eq!(flow.get("alpha"), 33.0 / 32.0);
}

/// §4; design, "Coordinated Pushing".
#[test]
fn cruising_lasts_while_the_application_limits_the_flow() {
    let mut flow = Flow::cruising(FAST);
    flow.driver.conn.app_limited = true;
    for _ in 0..10 {
        flow.era(RTT);
    }
    assert!(flow.log().is_empty());
    flow.driver.conn.app_limited = false;
    flow.end_era(RTT);
    assert_eq!(flow.log(), ["probing: time to probe"]);
}

/// Returns a flow that has found a higher rate by probing.
fn pushing() -> Flow {
    let mut flow = Flow::cruising(FAST);
    flow.until("recovery");
    flow.driver.rate = Some(FAST.mul_f64(1.05));
    flow.ack(RTT);
    flow.until("pushing");
    assert_eq!(flow.get("alpha"), 1.25);
    near(flow.rate(), 21e6);
    flow.driver.log.0.clear();
    flow
}

/// §4.7.
#[test]
fn pushing_ends_with_the_first_era_but_one_that_grows_by_less_than_three_sixteenths() {
    let mut flow = pushing();
    flow.era(RTT);
    assert!(flow.log().is_empty(), "the first era has no condition");
    flow.driver.rate = Some(Rate::from_mbps(21).mul_f64(1.18));
    flow.end_era(RTT);
    assert_eq!(flow.log(), ["recovery: no further growth"]);
    assert_eq!(flow.get("alpha"), 0.875, "§5.7: after Pushing");
}

/// §4: after more than three round trips.
#[test]
fn growth_in_three_eras_of_pushing_leads_back_to_initial() {
    let mut flow = pushing();
    let mut rate = 21e6;
    for _ in 0..2 {
        flow.end_era(RTT);
        assert!(flow.log().is_empty());
        rate *= 1.2;
        flow.driver.rate = Some(Rate::from_bps_f64(rate));
    }
    flow.end_era(RTT);
    assert_eq!(flow.log(), ["initial: growth in three eras of pushing"]);
    // §4.2.1, §4.1: the larger of nominal rate times nominal max RTT, and twice that.
    near(flow.driver.decision().cwnd.as_f64(), 2.0 * rate / 8.0 * 0.1);
    near(flow.pacing_rate(), 2.0 * rate);
}

/// §3.2.
#[test]
fn the_nominal_max_rtt_rises_at_once_and_falls_by_an_eighth_an_era() {
    let mut flow = Flow::cruising(SLOW);
    flow.ack(MS(120));
    near(flow.get("nominal_max_rtt"), 0.1);
    flow.end_era(RTT);
    near(flow.get("nominal_max_rtt"), 0.12);
    flow.end_era(RTT);
    near(flow.get("nominal_max_rtt"), (7.0 * 0.12 + 0.1) / 8.0);
    // Samples of packets sent in Probing count neither here nor there.
    flow.end_era(RTT);
    let before = flow.get("nominal_max_rtt");
    flow.ack(MS(110));
    flow.end_era(RTT);
    assert_eq!(flow.get("nominal_max_rtt"), before);
}

/// §3.2: the running min RTT falls at once and rises by an eighth an era.
#[test]
fn the_running_min_rtt_is_its_mirror_image() {
    let mut flow = Flow::cruising(SLOW);
    flow.ack(MS(80));
    flow.end_era(RTT);
    near(flow.get("running_min_rtt"), 0.08);
    flow.end_era(RTT);
    near(flow.get("running_min_rtt"), (7.0 * 0.08 + 0.1) / 8.0);
}

/// §3.2: MAX_JITTER; §4.4.1.
#[test]
fn high_jitter_counts_up_to_250_ms_and_leads_back_to_initial() {
    let mut flow = Flow::cruising(FAST);
    flow.ack(MS(600));
    // The first sample belongs to the era that Recovery cuts short.
    assert_eq!(flow.log(), ["recovery: delay"]);
    flow.ack(MS(500));
    flow.end_era(RTT);
    near(flow.get("nominal_max_rtt"), 0.35);
    assert_eq!(flow.log()[1..], ["initial: high jitter"]);
}

/// §4.3.
#[test]
fn a_remembered_window_lasts_for_two_eras_once_the_rtt_is_known() {
    let mut flow = Flow::new(Some(SLOW));
    flow.seed(Bytes::new(1_000_000));
    assert_eq!(flow.driver.cwnd(), 10.0);
    flow.end_era(RTT);
    assert_eq!(flow.log(), ["resuming: window remembered"]);
    assert_eq!(flow.driver.decision().cwnd, Bytes::new(1_000_000));
    assert_eq!(flow.pacing_rate(), 80e6);
    flow.driver.conn.app_limited = true;
    flow.end_era(RTT);
    flow.end_era(RTT);
    flow.driver.conn.app_limited = false;
    flow.end_era(RTT);
    assert_eq!(flow.log().len(), 1, "an application-limited first era");
    flow.end_era(RTT);
    assert_eq!(flow.log()[1..], ["recovery: eras of the seed over"]);
}

/// §4.1: window, pacing rate and quantum after each ACK of a run; the largest packet is 1448 bytes.
#[test]
fn window_pacing_rate_and_quantum_follow_from_the_nominal_values() {
    for (mbps, ms) in [(1, 20), (20, 80), (300, 10)] {
        let mut path = Path::new("c4", &[], Rate::from_mbps(mbps), MS(ms), 10_000);
        let mut seen = [0; 6];
        path.run(Time::ZERO + Span::from_secs(10), |path, _| {
            let decision = fullpipe_cc::Controller::decision(&path.cc);
            let state = path.field("state") as usize;
            seen[state] += 1;
            let rate = path.field("alpha") * path.field("nominal_rate") / 8.0;
            let Some(pacing) = decision.pacing_rate else {
                return;
            };
            let pacing = pacing.as_f64() / 8.0;
            near(
                pacing,
                if state == 0 {
                    rate.max(131_072.0)
                } else {
                    rate
                },
            );
            let quantum = (0.004 * pacing).clamp(2_896.0, 65_536.0);
            assert!((decision.send_quantum.as_f64() - quantum).abs() <= 1.0);
            let rtt = path.field("nominal_max_rtt");
            let window = (rate * (rtt + (rtt / 4.0).min(0.015))).max(2_896.0);
            if state != 0 {
                assert!((decision.cwnd.as_f64() - window).abs() <= 1.0);
            }
        });
        assert!(
            [0, 2, 3, 4].iter().all(|state| seen[*state] > 0),
            "{seen:?}"
        );
    }
}
