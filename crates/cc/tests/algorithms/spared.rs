//! Sent packets that a transport may keep to itself.

use fullpipe_cc::{Controller, Registry, Signals, Snapshot};
use fullpipe_units::{Bytes, Span};

use super::driver::{Driver, SMSS};

/// A packet that a controller does not want would not have changed it, before the first RTT or later,
/// also if the application limits the flow.
#[test]
fn a_packet_that_is_not_wanted_changes_nothing() {
    let mut spared = 0;
    // The driver has no call for each acknowledged packet.
    let registry = Registry::default();
    let all = registry
        .iter()
        .filter(|known| !known.needs.has(Signals::ACKED_EACH));
    for name in all.map(|known| known.name) {
        let mut driver = Driver::new(name, &[]);
        for round in 0..20 {
            for (from_idle, app_limited) in
                [(true, false), (true, true), (false, false), (false, true)]
            {
                driver.conn.app_limited = app_limited;
                let inflight = if from_idle { SMSS } else { SMSS * 3 };
                let packet = Snapshot {
                    inflight,
                    size: SMSS.get() as u16,
                    ..driver.packet(Bytes::ZERO)
                };
                if driver.cc.wants_sent(driver.now, from_idle) {
                    continue;
                }
                let before = format!("{:?}", driver.cc);
                let changes = driver.call(|cc, cx| cc.on_sent(cx, &packet));
                assert!(!changes, "{name}: {packet:?}");
                assert_eq!(before, format!("{:?}", driver.cc));
                spared += 1;
            }
            driver.conn.app_limited = false;
            driver.round(Span::from_millis(40 + round % 3));
        }
    }
    assert!(spared > 100, "classic windows and BBR want few packets");
}
