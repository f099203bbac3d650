//! Undo, reactions to marks, and a changed segment size.

use super::*;

#[test]
fn a_spurious_reduction_is_undone_with_all_it_changed() {
    for timeout in [false, true] {
        let mut driver = after_loss_at(cubic("rfc9438"), 1_000);
        run_for(&mut driver, RTT, Span::from_secs(2));
        let before = (
            driver.cwnd(),
            driver.ssthresh(),
            driver.field("w_max"),
            driver.field("k"),
            driver.field("w_est"),
        );
        if timeout {
            driver.time_out(false)
        } else {
            driver.lose()
        }
        assert!(driver.cwnd() < before.0);
        driver.conn.state = fullpipe_cc::CaState::Open;
        driver.recovery(Recovery::Spurious);
        let after = (
            driver.cwnd(),
            driver.ssthresh(),
            driver.field("w_max"),
            driver.field("k"),
            driver.field("w_est"),
        );
        assert_eq!(after, before);
    }
}

#[test]
fn linux_undoes_the_window_only() {
    let mut driver = after_loss_at(cubic("linux"), 1_000);
    run_for(&mut driver, RTT, Span::from_secs(2));
    let before = driver.cwnd();
    driver.lose();
    driver.conn.state = fullpipe_cc::CaState::Open;
    driver.recovery(Recovery::Spurious);
    assert_eq!(driver.cwnd(), before);
    driver.round(RTT);
    assert!(driver.field("t") < 0.2, "a new epoch");
}

#[test]
fn a_mark_may_leave_one_segment_where_a_loss_leaves_two() {
    let mut driver = after_loss_at(cubic("rfc9438"), 20);
    for _ in 0..12 {
        driver.recovery(Recovery::Enter(RecoveryCause::Ecn));
        driver.recovery(Recovery::Exit);
    }
    assert_eq!((driver.cwnd(), driver.ssthresh()), (1.0, 2.0));
    driver.recovery(Recovery::Enter(RecoveryCause::Loss));
    assert_eq!((driver.cwnd(), driver.ssthresh()), (2.0, 2.0));
}

#[test]
fn a_mark_takes_what_a_loss_takes_or_less_by_abe() {
    for (beta, left) in [(0.7, 70.0), (0.85, 85.0)] {
        let params = [
            ("beta_ecn", ParamValue::Number(beta)),
            ("slow_start", word("classic")),
        ];
        let mut driver = Driver::new("cubic", &params);
        grow_to(&mut driver, 100);
        driver.mark();
        assert!(
            (driver.cwnd() - left).abs() < 0.01,
            "RFC 9438 §4.6, RFC 8511 §3.1: {}",
            driver.cwnd()
        );
        driver.recover();
        driver.lose();
        assert!(
            (driver.cwnd() - 0.7 * left).abs() < 0.01,
            "{}",
            driver.cwnd()
        );
    }
}

#[test]
fn the_flight_counts_in_the_rfc_and_the_window_in_linux() {
    for (profile, left) in [("rfc9438", 0.7 * 30.0), ("linux", 70.0)] {
        let mut driver = cubic(profile);
        grow_to(&mut driver, 100);
        driver.conn.inflight = SMSS * 30;
        driver.conn.cwnd_limited = false;
        driver.lose();
        assert!(
            (driver.cwnd() - left).abs() < 0.01,
            "{profile}: {}",
            driver.cwnd()
        );
    }
}

#[test]
fn a_new_segment_size_keeps_the_window_in_bytes() {
    let mut driver = after_loss_at(cubic("rfc9438"), 100);
    let before = driver.decision().cwnd;
    driver.conn.smss = Bytes::new(1_200);
    driver.call(|cc, cx| cc.on_path(cx, PathChange::Mtu));
    assert!(driver.decision().cwnd.get().abs_diff(before.get()) <= 1);
}
