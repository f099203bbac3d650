//! An algorithm of the receiver that schedules ACKs, with a timer and feedback for the sender.

use fullpipe_cc::{
    Ack, AckSchedule, AnyController, Arrival, Context, Controller, Decision, Descriptor, Field,
    Lost, Marks, ReceiverController, ReceiverDecision, ReceiverDescriptor, RecoveryOwner, Registry,
    Signals,
};
use fullpipe_scenario::Scenario;
use fullpipe_sim::run;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Bytes, Span, Time};

use super::transitions::column;

/// Sends an ACK every 10 ms, with the number of segments so far.
#[derive(Debug, Default)]
struct Periodic {
    segments: u64,
    wake_at: Option<Time>,
    now: bool,
}

impl ReceiverController for Periodic {
    fn on_arrival(&mut self, now: Time, _: &Arrival) {
        (self.segments, self.now) = (self.segments + 1, false);
        self.wake_at.get_or_insert(now + Span::from_millis(10));
    }
    fn on_timer(&mut self, now: Time) {
        (self.wake_at, self.now) = (Some(now + Span::from_millis(10)), true);
    }
    fn decision(&self) -> ReceiverDecision {
        let ack = match self.now {
            true => AckSchedule::Now,
            false => AckSchedule::At(Time::MAX),
        };
        ReceiverDecision {
            window: None,
            ack,
            feedback: Some(self.segments),
            wake_at: self.wake_at,
        }
    }
    fn observe(&self, row: &mut Vec<f64>) {
        row.push(self.segments as f64);
    }
}

/// A fixed window that counts ACKs and keeps their feedback.
#[derive(Debug, Default)]
struct Listener {
    acks: u64,
    feedback: u64,
}

impl Controller for Listener {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}
    fn on_ack(&mut self, _: &mut Context<'_>, ack: &Ack) {
        let feedback = ack.feedback.expect("each ACK has it");
        assert!(feedback > self.feedback, "the count of segments grows");
        (self.acks, self.feedback) = (self.acks + 1, feedback);
    }
    fn decision(&self) -> Decision {
        Decision::window(Bytes::new(1448 * 50), Bytes::MAX)
    }
    fn observe(&self, row: &mut Vec<f64>) {
        row.extend([self.acks as f64, self.feedback as f64]);
    }
}

const fn count(name: &'static str) -> Field {
    Field::value("", "A count").named(name)
}

static LISTENER: Descriptor = Descriptor {
    name: "listener",
    purpose: "",
    specifications: &[],
    params: &[],
    profiles: &[],
    preset_of: None,
    fields: &[count("acks"), count("feedback")],
    recovery: RecoveryOwner::Own,
    needs: Signals::NONE,
    marks: |_| Marks::Ignored,
    random: false,
    build: |_, _| AnyController::User(Box::<Listener>::default()),
};

static PERIODIC: ReceiverDescriptor = Descriptor {
    name: "periodic",
    purpose: "",
    specifications: &[],
    params: &[],
    profiles: &[],
    preset_of: None,
    fields: &[count("segments")],
    recovery: RecoveryOwner::Sender,
    needs: Signals::NONE,
    marks: |_| Marks::Ignored,
    random: false,
    build: |_| Box::<Periodic>::default(),
};

#[test]
fn acks_leave_every_10_ms_and_their_feedback_reaches_the_sender() {
    let registry = Registry::default().with(&LISTENER).with_receiver(&PERIODIC);
    for host in ["", "[host]\nsend = \"2us\"\n"] {
        let text = format!(
            "duration = \"10s\"\n[path]\nrate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"8bdp\"\n\
             loss = \"0.5%\"\n{host}[[flow]]\ncc = \"listener\"\nreceiver = \"periodic\"\n"
        );
        let scenario = Scenario::parse(&text, "test.toml").expect("a valid scenario");
        let every = TraceLevel::Every(Span::from_millis(100));
        let trace = run(&scenario, &registry, every).expect("it runs").trace;
        let trace = trace.expect("it was asked for");
        let last = |name: &str| column(&trace, name).last().expect("a row").1;
        let (acks, feedback) = (last("listener.acks"), last("listener.feedback"));
        let segments = last("periodic.segments");
        // The window of 50 segments arrives within 6 ms, and its ACK waits for the next multiple of
        // 10 ms: a round trip takes 50 ms. The ACKs in between report nothing new.
        assert!((190.0..=210.0).contains(&acks), "{acks}");
        assert!(
            segments > 5_000.0 && segments - feedback <= 100.0,
            "{feedback} of {segments}"
        );
    }
}
