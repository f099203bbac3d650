//! A controller's calls as data: recorded anywhere, replayed without a network.

use fullpipe_units::{Bytes, Rng, Time};

use crate::{
    Ack, Conn, Context, Controller, Decision, Frame, Lost, NoObserver, PathChange, Recovery,
    Snapshot,
};

/// One call of the contract, with all the information that the controller had.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Time of the call.
    pub now: Time,
    /// State of the connection at the call.
    pub conn: Conn,
    /// The call and its argument.
    pub call: Call,
}

/// The calls of [`Controller`].
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// [`Controller::on_sent`].
    Sent(Snapshot),
    /// [`Controller::on_lost`].
    Lost(Lost),
    /// [`Controller::on_acked`].
    Acked(Snapshot),
    /// [`Controller::on_ack`].
    Ack(Ack),
    /// [`Controller::on_recovery`].
    Recovery(Recovery),
    /// [`Controller::on_unused`].
    Unused(Bytes),
    /// [`Controller::on_path`].
    Path(PathChange),
    /// [`Controller::on_frame`].
    Frame(Frame),
    /// [`Controller::on_timer`].
    Timer,
    /// [`Controller::on_end`].
    End,
}

impl Event {
    /// Makes the call on `controller`. Returns whether the transport reads the decision after it.
    pub fn apply(&self, controller: &mut dyn Controller, rng: &mut Rng) -> bool {
        let cx = &mut Context {
            now: self.now,
            conn: &self.conn,
            rng,
            observer: &mut NoObserver,
        };
        match &self.call {
            Call::Sent(packet) => return controller.on_sent(cx, packet),
            Call::Lost(lost) => controller.on_lost(cx, lost),
            Call::Acked(packet) => controller.on_acked(cx, packet),
            Call::Ack(ack) => controller.on_ack(cx, ack),
            Call::Recovery(change) => controller.on_recovery(cx, *change),
            Call::Unused(cwnd) => controller.on_unused(cx, *cwnd),
            Call::Path(change) => controller.on_path(cx, *change),
            Call::Frame(frame) => controller.on_frame(cx, frame),
            Call::Timer => controller.on_timer(cx),
            Call::End => controller.on_end(cx),
        }
        true
    }
}

/// Makes all calls, and returns the decision after each.
pub fn replay(controller: &mut dyn Controller, rng: &mut Rng, events: &[Event]) -> Vec<Decision> {
    events
        .iter()
        .map(|event| {
            event.apply(controller, rng);
            controller.decision()
        })
        .collect()
}
