//! A controller that logs every call in order and whose window is easy to predict.

use fullpipe_cc::{
    Ack, AnyController, Conn, Context, Controller, Decision, LossCause, Lost, Recovery,
    RecoveryCause, Snapshot,
};
use fullpipe_units::{Bytes, Rate, Time};

use super::segments;

/// One call to the controller, with the state of the connection at that time.
#[derive(Clone, Debug)]
pub struct Event {
    pub now: Time,
    pub conn: Conn,
    pub call: Call,
}

#[derive(Clone, Debug)]
pub enum Call {
    Sent(Snapshot),
    Lost(Lost),
    Ack(Box<Ack>),
    Recovery(Recovery),
    Timer,
    End,
}

impl Event {
    /// Returns a short name of the call; `None` for a sent packet.
    pub fn name(&self) -> Option<String> {
        let name = match &self.call {
            Call::Sent(_) => return None,
            Call::Lost(lost) => {
                let cause = match lost.cause {
                    LossCause::Rack => "rack",
                    LossCause::Rto => "rto",
                };
                return Some(format!(
                    "lost {cause}{}",
                    if lost.new_range { " range" } else { "" }
                ));
            }
            Call::Ack(ack) if ack.tlp_repair => "ack repair",
            Call::Ack(_) => "ack",
            Call::Recovery(Recovery::Enter(RecoveryCause::Loss)) => "enter",
            Call::Recovery(Recovery::Enter(RecoveryCause::Ecn)) => "enter ecn",
            Call::Recovery(Recovery::Exit) => "exit",
            Call::Recovery(Recovery::Spurious) => "spurious",
            Call::Recovery(Recovery::Timeout { again: false }) => "timeout",
            Call::Recovery(Recovery::Timeout { again: true }) => "timeout again",
            Call::Recovery(Recovery::Persistent) => "persistent",
            Call::Timer => "timer",
            Call::End => "end",
        };
        Some(name.to_owned())
    }

    pub fn ack(&self) -> Option<&Ack> {
        if let Call::Ack(ack) = &self.call {
            Some(ack)
        } else {
            None
        }
    }

    pub fn sent(&self) -> Option<&Snapshot> {
        if let Call::Sent(packet) = &self.call {
            Some(packet)
        } else {
            None
        }
    }

    pub fn lost(&self) -> Option<&Lost> {
        if let Call::Lost(lost) = &self.call {
            Some(lost)
        } else {
            None
        }
    }
}

/// The logging controller.
#[derive(Debug)]
pub struct Test {
    pub cwnd: Bytes,
    pub ssthresh: Bytes,
    pub rate: Option<Rate>,
    pub quantum: Bytes,
    /// Number of ACKs until which it marks the connection as application-limited.
    pub mark_acks: u32,
    pub reduces: bool,
    pub saved: Option<(Bytes, Bytes)>,
    /// Another controller that makes the decisions instead.
    pub inner: Option<AnyController>,
    pub logs: bool,
    pub log: Vec<Event>,
}

impl Test {
    /// Returns a controller with a constant window.
    pub fn fixed(n: u64) -> Test {
        Test {
            cwnd: segments(n),
            ssthresh: Bytes::MAX,
            rate: None,
            quantum: Bytes::ZERO,
            mark_acks: 0,
            reduces: false,
            saved: None,
            inner: None,
            logs: true,
            log: Vec::new(),
        }
    }

    /// Returns a controller that halves its window on loss, reduces it to one segment on a timeout,
    /// and grows it by the acknowledged bytes up to ssthresh.
    pub fn halving(n: u64) -> Test {
        Test {
            reduces: true,
            ..Test::fixed(n)
        }
    }

    /// Returns a controller that takes the decisions of `inner`.
    pub fn around(inner: AnyController) -> Test {
        Test {
            inner: Some(inner),
            ..Test::fixed(1)
        }
    }

    pub fn paced(self, rate: Rate, quantum: Bytes) -> Test {
        Test {
            rate: Some(rate),
            quantum,
            ..self
        }
    }

    fn note(&mut self, cx: &Context<'_>, call: Call) {
        if self.logs {
            self.log.push(Event {
                now: cx.now,
                conn: cx.conn.clone(),
                call,
            });
        }
    }

    fn reduce(&mut self) {
        self.saved = Some((self.cwnd, self.ssthresh));
        self.ssthresh = (self.cwnd / 2).max(segments(2));
    }
}

impl Controller for Test {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        self.note(cx, Call::Sent(*packet));
        let inner = self.inner.as_mut();
        inner.is_some_and(|inner| inner.on_sent(cx, packet))
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        self.note(cx, Call::Lost(*lost));
        if let Some(inner) = &mut self.inner {
            inner.on_lost(cx, lost);
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.note(cx, Call::Ack(Box::new(*ack)));
        if let Some(inner) = &mut self.inner {
            inner.on_ack(cx, ack);
        }
        self.mark_acks = self.mark_acks.saturating_sub(1);
        if self.reduces
            && !cx.conn.in_recovery()
            && self.ssthresh < Bytes::MAX
            && self.cwnd < self.ssthresh
        {
            self.cwnd = (self.cwnd + ack.newly_acked).min(self.ssthresh);
        }
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.note(cx, Call::Recovery(change));
        if let Some(inner) = &mut self.inner {
            inner.on_recovery(cx, change);
        }
        if !self.reduces {
            return;
        }
        match change {
            Recovery::Enter(_) => {
                self.reduce();
                self.cwnd = self.ssthresh;
            }
            Recovery::Timeout { again } => {
                if !again {
                    self.reduce();
                }
                self.cwnd = cx.conn.inflight + cx.conn.smss;
            }
            Recovery::Spurious => {
                if let Some((cwnd, ssthresh)) = self.saved.take() {
                    (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), ssthresh);
                }
            }
            Recovery::Exit | Recovery::Persistent => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.note(cx, Call::Timer);
        if let Some(inner) = &mut self.inner {
            inner.on_timer(cx);
        }
    }

    fn on_end(&mut self, cx: &mut Context<'_>) {
        self.note(cx, Call::End);
        if let Some(inner) = &mut self.inner {
            inner.on_end(cx);
        }
    }

    fn decision(&self) -> Decision {
        if let Some(inner) = &self.inner {
            return inner.decision();
        }
        Decision {
            pacing_rate: self.rate,
            send_quantum: self.quantum,
            mark_app_limited: self.mark_acks > 0,
            ..Decision::window(self.cwnd, self.ssthresh)
        }
    }

    fn observe(&self, _: &mut Vec<f64>) {}
}
