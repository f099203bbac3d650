//! Calls for each acknowledged packet, in whole runs.

use std::collections::BTreeMap;

use fullpipe_cc::{
    Ack, AnyController, Context, Controller, Decision, Descriptor, Lost, Recovery, Registry,
    Signals, Snapshot,
};
use fullpipe_trace::TraceLevel;
use fullpipe_units::Bytes;

use crate::users::{cubic, declared, of_specifications};

/// CUBIC's window, around which every packet is followed from its sending to its acknowledgment.
#[derive(Debug)]
struct Ledger {
    window: AnyController,
    /// The packets that were sent and not yet acknowledged, by number.
    sent: BTreeMap<u64, Snapshot>,
    /// The packets of the current ACK.
    acked: Vec<Snapshot>,
}

impl Controller for Ledger {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        let highest = self.sent.last_key_value().map_or(0, |(number, _)| *number);
        assert!(packet.number() >= highest + u64::from(packet.size));
        self.sent.insert(packet.number(), *packet);
        self.window.on_sent(cx, packet)
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        assert!(self.acked.is_empty(), "losses come before acknowledgments");
        assert_eq!(self.sent.get(&lost.packet.number()), Some(&lost.packet));
        self.window.on_lost(cx, lost);
    }

    fn on_acked(&mut self, _: &mut Context<'_>, packet: &Snapshot) {
        // The last transmission of a segment counts as acknowledged.
        assert_eq!(self.sent.remove(&packet.number()), Some(*packet));
        self.acked.push(*packet);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let sizes = self.acked.iter().map(|packet| u64::from(packet.size));
        assert_eq!(Bytes::new(sizes.sum()), ack.newly_acked);
        assert!(self.acked.contains(&ack.newest));
        self.acked.clear();
        self.window.on_ack(cx, ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.window.on_recovery(cx, change);
    }

    fn decision(&self) -> Decision {
        self.window.decision()
    }

    fn observe(&self, _: &mut Vec<f64>) {}
}

static LEDGER: Descriptor = declared("ledger", Signals::ACKED_EACH, |_, _| {
    AnyController::User(Box::new(Ledger {
        window: cubic(),
        sent: BTreeMap::new(),
        acked: Vec::new(),
    }))
});

/// The calls agree with each other under losses, reordering, retransmissions that are lost, and
/// ACKs that cover many packets; and they change nothing: the run is CUBIC's own.
#[test]
fn each_acknowledged_packet_is_reported_once() {
    let registry = Registry::default().with(&LEDGER);
    for path in [
        "buffer = \"1bdp\"",
        "buffer = \"0.2bdp\"\nloss = \"3%\"",
        "buffer = \"1bdp\"\njitter = \"30ms reorder\"",
        "buffer = \"1bdp\"\nreverse_jitter = \"hold 10ms\"",
    ] {
        let run = |cc: &str| {
            let text = format!(
                "duration = \"20s\"\nseed = 7\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\n{path}\n\
                 [[flow]]\nname = \"f\"\ncc = \"{cc}\"\n"
            );
            let scenario = of_specifications(&text);
            let run = fullpipe_sim::run(&scenario, &registry, TraceLevel::Off);
            run.unwrap_or_else(|error| panic!("{error}")).summary.flows[0].clone()
        };
        let (ledger, cubic) = (run("ledger"), run("cubic"));
        assert_eq!(
            (ledger.sent, ledger.goodput_bps),
            (cubic.sent, cubic.goodput_bps),
            "{path}"
        );
    }
}
