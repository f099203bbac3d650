//! C4: the rules and numbers of draft-huitema-ccwg-c4-spec, in the text that follows version -04.

mod congestion;
mod states;

use fullpipe_cc::{Controller, PathChange};
use fullpipe_units::{Bytes, Rate, Span};

use super::driver::{Driver, SMSS};

const MS: fn(u64) -> Span = Span::from_millis;
const RTT: Span = Span::from_millis(100);
/// A rate whose delay threshold is 7.5 % of the nominal max RTT, and whose ECN threshold is 10 %.
const FAST: Rate = Rate::from_mbps(20);
/// The highest rate with sensitivity 0: 50 kB/s.
const SLOW: Rate = Rate::from_bps(400_000);

/// A flow whose eras the test ends.
struct Flow {
    driver: Driver,
    /// Data acknowledged when the packets of the current era were sent.
    sent_at: Bytes,
}

impl Flow {
    fn new(rate: Option<Rate>) -> Flow {
        let mut driver = Driver::new("c4", &[]);
        driver.rate = rate;
        Flow {
            driver,
            sent_at: Bytes::ZERO,
        }
    }

    /// Returns a flow at the start of the first era of Cruising that has measured this rate and an
    /// RTT of 100 ms for so long that nothing is left of other values.
    fn cruising(rate: Rate) -> Flow {
        let mut flow = Flow::new(Some(rate));
        for _ in 0..300 {
            flow.era(RTT);
        }
        flow.until("cruising");
        near(flow.get("nominal_max_rtt"), 0.1);
        near(flow.rate(), rate.as_f64());
        flow.driver.log.0.clear();
        flow
    }

    /// Ends an era, with the first ACK of the next one.
    fn end_era(&mut self, rtt: Span) {
        self.sent_at = self.driver.conn.delivered;
        self.ack(rtt);
    }

    /// Acknowledges a packet of the current era.
    fn ack(&mut self, rtt: Span) {
        self.driver.now += MS(1);
        self.driver.ack(self.sent_at, SMSS, rtt);
    }

    /// Ends an era, and acknowledges the rest of the next one.
    fn era(&mut self, rtt: Span) {
        let packets = self.driver.cwnd() as u64;
        self.end_era(rtt);
        for _ in 1..packets {
            self.ack(rtt);
        }
    }

    /// Makes eras until the first ACK of one leads to `state`.
    fn until(&mut self, state: &str) {
        for _ in 0..20 {
            let entered = self.driver.log.0.len();
            self.end_era(RTT);
            let log = &self.driver.log.0[entered..];
            if log.last().is_some_and(|(_, change)| change.to == state) {
                return;
            }
            self.ack(RTT);
        }
        panic!("no {state} in 20 eras: {:?}", self.log());
    }

    fn seed(&mut self, bdp: Bytes) {
        let seed = PathChange::Seed { bdp };
        self.driver.call(|cc, cx| cc.on_path(cx, seed));
    }

    fn get(&self, field: &str) -> f64 {
        self.driver.field(field)
    }

    /// Nominal rate, in bit/s.
    fn rate(&self) -> f64 {
        self.get("nominal_rate")
    }

    fn pacing_rate(&self) -> f64 {
        self.driver.decision().pacing_rate.expect("paced").as_f64()
    }

    /// The states entered so far, with the reasons.
    fn log(&self) -> Vec<String> {
        let log = self.driver.log.0.iter();
        log.map(|(_, change)| format!("{}: {}", change.to, change.reason))
            .collect()
    }
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!(
        (value - expected).abs() <= 1e-4 * expected.abs(),
        "{value} instead of {expected}"
    );
}
