//! An algorithm with a fault in each of its functions, one at a time: for the tests of the interface.

use fullpipe_plugin::cc::{Snapshot, words};
use fullpipe_plugin::prelude::*;

words! {
    /// The place of the fault.
    enum Place {
        None = "none",
        Build = "build",
        Ack = "on_ack",
        Sent = "on_sent",
        Decision = "decision",
        Observe = "observe",
        /// A window of zero.
        Window = "window",
        /// A pacing rate of zero.
        Pacing = "pacing",
        /// A timer that never moves on.
        Timer = "timer",
        /// A window that a larger segment exceeds.
        Mtu = "mtu",
    }
}

params! {
    struct Params {
        place: Place = Param::choice(Place::WORDS).says("place of the fault", "this file"),
        segments: f64 = Param::number(10.0, 1.0..=1000.0).unit("segments").says("window", "this file"),
    }
}

fields! {
    impl Faulty as cc {
        window: Field::value("B", "congestion window") => cc.cwnd,
    }
}

#[derive(Debug)]
struct Faulty {
    params: Params,
    cwnd: Bytes,
    at: Time,
}

static DESCRIPTOR: Descriptor = Descriptor {
    name: "faulty",
    purpose: "Has a fault, for tests.",
    specifications: &[],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Faulty::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::NONE,
    marks: |_| Marks::Ignored,
    random: false,
    build: |config, _| AnyController::User(Box::new(Faulty::new(config))),
};

fullpipe_plugin::plugin!(DESCRIPTOR);

impl Faulty {
    fn new(config: &Config) -> Faulty {
        let params = Params::read(config);
        assert!(params.place != Place::Build, "no controller today");
        let cwnd = config.smss.mul_f64(params.segments);
        let at = Time::ZERO;
        Faulty { params, cwnd, at }
    }

    fn is(&self, place: Place) -> bool {
        self.params.place == place && self.at > Time::ZERO
    }
}

impl Controller for Faulty {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    fn on_ack(&mut self, cx: &mut Context<'_>, _: &Ack) {
        self.at = cx.now;
        assert!(!self.is(Place::Ack), "this ACK is one too many");
    }

    fn on_sent(&mut self, _: &mut Context<'_>, _: &Snapshot) -> bool {
        assert!(!self.is(Place::Sent), "this packet is one too many");
        false
    }

    fn on_path(&mut self, cx: &mut Context<'_>, _: PathChange) {
        if !self.is(Place::Mtu) {
            self.cwnd = self.cwnd.max(cx.conn.smss);
        }
    }

    fn decision(&self) -> Decision {
        assert!(!self.is(Place::Decision), "undecided");
        let cwnd = if self.is(Place::Window) {
            Bytes::ZERO
        } else {
            self.cwnd
        };
        Decision {
            pacing_rate: self.is(Place::Pacing).then_some(Rate::ZERO),
            wake_at: self.is(Place::Timer).then_some(self.at),
            ..Decision::window(cwnd, Bytes::MAX)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        assert!(!self.is(Place::Observe), "unseen");
        self.push_fields(row);
    }
}
