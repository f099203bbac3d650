//! The algorithm NAME: one more segment each round trip, and half of the window after a loss.
//!
//! `fullpipe plugin check .` tests it, `fullpipe compare cubic .` compares it.

use fullpipe_plugin::prelude::*;

fullpipe_plugin::plugin!(DESCRIPTOR);

static DESCRIPTOR: Descriptor = Descriptor {
    name: "NAME",
    purpose: "Additive increase, multiplicative decrease.",
    specifications: &[],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Mine::FIELDS,
    // The transport reduces the window to ssthresh during recovery.
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE, // a runner that lacks one of these signals refuses it, like Signals::PACING
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::User(Box::new(Mine::new(config))),
};

params! {
    struct Params {
        beta: f64 = Param::number(0.5, 0.1..=0.9).says("share of the window after a loss", ""),
    }
}

fields! {
    impl Mine as cc {
        rounds: Field::value("", "windows that were acknowledged") => cc.rounds as f64,
    }
}

#[derive(Debug)]
struct Mine {
    params: Params,
    cwnd: Bytes,
    ssthresh: Bytes,
    acked: Bytes,
    rounds: u64,
}

impl Mine {
    fn new(config: &Config) -> Mine {
        Mine {
            params: Params::read(config),
            cwnd: config.initial_cwnd,
            ssthresh: Bytes::MAX,
            acked: Bytes::ZERO,
            rounds: 0,
        }
    }
}

impl Controller for Mine {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    // Remove this if you add on_sent, which is a call for each packet.
    fn hears_sent(&self) -> bool {
        false
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if cx.conn.in_recovery() || !cx.conn.cwnd_limited {
            return;
        }
        self.acked += ack.newly_acked;
        if self.acked >= self.cwnd {
            self.acked = Bytes::ZERO;
            self.rounds += 1;
            self.cwnd += cx.conn.smss;
        }
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        if let Recovery::Enter(_) | Recovery::Timeout { .. } = change {
            self.cwnd = self.cwnd.mul_f64(self.params.beta).max(cx.conn.smss * 2);
            self.ssthresh = self.cwnd;
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        // With larger segments, the window must still hold one.
        if change == PathChange::Mtu {
            self.cwnd = self.cwnd.max(cx.conn.smss);
        }
    }

    fn decision(&self) -> Decision {
        Decision::window(self.cwnd, self.ssthresh)
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
