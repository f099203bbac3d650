//! The controllers of a library.

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::panic::resume_unwind;

use fullpipe_cc::{
    Ack, Config, Context, Controller, Decision, Descriptor, Domain, EcnCodepoint, Fault, Frame,
    Lost, Param, ParamValue, PathChange, Recovery, Snapshot, Transition,
};
use fullpipe_units::{Bytes, Rate, Rng, Time};

use super::known_as;
use crate::abi::{self, ASK, DEAF, DECIDED, NONE, Plugin, SAME, Text};
use crate::convert::{path_number, recovery_number};

/// A controller of a library.
#[derive(Debug)]
pub(super) struct PluginController {
    algorithm: &'static str,
    plugin: &'static Plugin,
    it: *mut c_void,
    decision: Decision,
    /// The decision as the library has written it.
    told: abi::Decision,
    fields: usize,
    /// Whether it listens to sent packets.
    hears: bool,
}

// SAFETY: the interface lets a controller move between threads; calls are never at the same time.
unsafe impl Send for PluginController {}

impl Drop for PluginController {
    fn drop(&mut self) {
        if let Some(destroy) = self.plugin.destroy {
            // SAFETY: `create` returned it, and this is its last use.
            unsafe { destroy(self.it) };
        }
    }
}

/// Data for the two functions of a context.
struct Host<'a, 'b> {
    rng: &'a mut Rng,
    observer: &'a mut (dyn fullpipe_cc::Observer + 'b),
    now: Time,
}

extern "C" fn random(host: *mut c_void) -> u64 {
    // SAFETY: the library passes the pointer of its context, during the call.
    unsafe { &mut *host.cast::<Host<'_, '_>>() }.rng.next_u64()
}

extern "C" fn transition(host: *mut c_void, from: Text, to: Text, reason: Text) {
    // SAFETY: the library passes the pointer of its context, during the call.
    let host = unsafe { &mut *host.cast::<Host<'_, '_>>() };
    // SAFETY: the interface asks for texts that stay valid until the process ends.
    let [from, to, reason] = [from, to, reason].map(|each| unsafe { each.read() }.unwrap_or("?"));
    let now = host.now;
    host.observer
        .transition(now, Transition { from, to, reason });
}

impl PluginController {
    pub(super) fn new(config: &Config) -> PluginController {
        let (descriptor, plugin) = known_as(config.algorithm);
        let numbers = numbers(descriptor, config);
        let source = config.source;
        let told = abi::Config {
            smss: config.smss.get(),
            initial_cwnd: config.initial_cwnd.get(),
            source_min: source.map_or(NONE, |source| source.min.as_bps()),
            source_max: source.map_or(NONE, |source| source.max.as_bps()),
            source_frame_period: source.map_or(0, |source| source.frame_period.as_nanos()),
            params: abi::List::of(&numbers),
        };
        let create = plugin.create.expect("checked by `load`");
        // SAFETY: the configuration is valid for the call.
        let it = unsafe { create(&raw const told) };
        let decision = Decision::window(config.initial_cwnd, Bytes::MAX);
        let mut made = PluginController {
            algorithm: config.algorithm,
            plugin,
            it,
            decision,
            told: (&decision).into(),
            fields: descriptor.fields.len(),
            hears: plugin.on_sent.is_some(),
        };
        if it.is_null() {
            let text = made.said();
            std::mem::forget(made);
            fault(config.algorithm, "create", None, &text);
        }
        made.decide("create", None);
        made
    }

    /// Returns the library's words about its last error.
    fn said(&self) -> String {
        let Some(error) = self.plugin.error else {
            return "it describes no errors".to_owned();
        };
        // SAFETY: the text is copied before the next call.
        unsafe { error(self.it).read() }
            .unwrap_or("an error that is not text in UTF-8")
            .to_owned()
    }

    /// Makes a call. Returns whether the decision may have changed.
    #[inline]
    fn call(
        &mut self,
        name: &'static str,
        cx: &mut Context<'_>,
        call: impl FnOnce(*mut c_void, *const abi::Context) -> i32,
    ) -> bool {
        let mut host = Host {
            rng: cx.rng,
            observer: cx.observer,
            now: cx.now,
        };
        let told = abi::Context {
            now: cx.now.as_nanos(),
            conn: cx.conn,
            decision: &raw mut self.told,
            host: (&raw mut host).cast(),
            random,
            transition,
            stream: cx.rng.key(),
        };
        match call(self.it, &raw const told) {
            SAME => return false,
            DECIDED => self.take(name, Some(cx.now)),
            ASK => self.decide(name, Some(cx.now)),
            _ => fault(self.algorithm, name, Some(cx.now), &self.said()),
        }
        true
    }

    /// Makes the call `on_sent`; a function of its own, so that a deaf controller saves no registers.
    #[inline(never)]
    fn sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        let on_sent = self.plugin.on_sent.expect("`hears` says so");
        let mut deaf = false;
        let changed = self.call("on_sent", cx, |it, told| {
            // SAFETY: the pointers are valid for the call.
            let code = unsafe { on_sent(it, told, packet) };
            deaf = code == DEAF;
            if deaf { SAME } else { code }
        });
        self.hears &= !deaf;
        changed
    }

    /// Asks for the decision.
    #[inline(never)]
    fn decide(&mut self, name: &'static str, now: Option<Time>) {
        let decision = self.plugin.decision.expect("checked by `load`");
        // SAFETY: the library writes a decision.
        if unsafe { decision(self.it, &raw mut self.told) } != 0 {
            fault(self.algorithm, "decision", now, &self.said());
        }
        self.take(name, now);
    }

    /// Takes the decision that the library has written.
    #[inline]
    fn take(&mut self, name: &'static str, now: Option<Time>) {
        self.decision = checked(self.algorithm, name, now, (&self.told).into());
    }
}

/// Returns a value for each parameter, in their order: a number, 0 or 1, or the number of the keyword.
pub(crate) fn numbers(descriptor: &Descriptor, config: &Config) -> Vec<f64> {
    let values: BTreeMap<_, _> = config.params().collect();
    let number = |param: &Param| match (param.domain, values[param.name]) {
        (_, ParamValue::Number(number)) => *number,
        (_, ParamValue::Flag(flag)) => f64::from(u8::from(*flag)),
        (Domain::Choice(words), ParamValue::Word(word)) => {
            let place = words.iter().position(|each| each == word);
            place.expect("the value was checked") as f64
        }
        (_, ParamValue::Word(_)) => unreachable!("only a choice has keywords"),
    };
    descriptor.params.iter().map(number).collect()
}

/// Returns a decision that a transport can follow; another one ends the run.
#[inline]
pub(crate) fn checked(
    algorithm: &'static str,
    name: &str,
    now: Option<Time>,
    it: Decision,
) -> Decision {
    if it.cwnd == Bytes::ZERO {
        let fix = "keep it at one segment or more";
        broken(algorithm, name, now, "the window is 0", fix);
    }
    if it.pacing_rate == Some(Rate::ZERO) {
        let fix = "pace faster, or not at all";
        broken(algorithm, name, now, "the pacing rate is 0", fix);
    }
    if it.ecn == EcnCodepoint::Ce {
        let fix = "set ECT(0), ECT(1) or neither";
        broken(algorithm, name, now, "packets would be sent with CE", fix);
    }
    it
}

fn at(now: Option<Time>) -> String {
    now.map_or(String::new(), |now| format!(" at {} s", now.as_secs_f64()))
}

#[cold]
pub(crate) fn fault(algorithm: &'static str, call: &str, now: Option<Time>, said: &str) -> ! {
    resume_unwind(Box::new(Fault {
        algorithm,
        problem: format!("{call}{} failed: {said}", at(now)),
        fix: "correct the library, and build it again",
    }))
}

#[cold]
pub(crate) fn broken(
    algorithm: &'static str,
    call: &str,
    now: Option<Time>,
    problem: &str,
    fix: &'static str,
) -> ! {
    resume_unwind(Box::new(Fault {
        algorithm,
        problem: format!("after {call}{}, {problem}", at(now)),
        fix,
    }))
}

macro_rules! forward {
    ($self:ident, $cx:ident, $name:ident $(, $argument:expr)*) => {
        if let Some(function) = $self.plugin.$name {
            // SAFETY: the pointers are valid for the call.
            $self.call(stringify!($name), $cx, |it, told| unsafe { function(it, told $(, $argument)*) });
        }
    };
}

impl Controller for PluginController {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        self.hears && self.sent(cx, packet)
    }
    fn wants_sent(&mut self, _: Time, _: bool) -> bool {
        self.hears
    }
    fn decide_into(&self, last: &mut Decision) {
        last.clone_from(&self.decision);
    }
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        forward!(self, cx, on_lost, lost);
    }
    fn on_acked(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        forward!(self, cx, on_acked, packet);
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let told = abi::Ack::from(ack);
        forward!(self, cx, on_ack, &raw const told);
    }
    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        forward!(self, cx, on_recovery, recovery_number(change));
    }
    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        forward!(self, cx, on_unused, cwnd.get());
    }
    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        let (number, bytes) = path_number(change);
        forward!(self, cx, on_path, number, bytes);
    }
    fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        forward!(
            self,
            cx,
            on_frame,
            frame.size.get(),
            frame.waited.as_nanos()
        );
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        forward!(self, cx, on_timer);
        if self.decision.wake_at.is_some_and(|at| at <= cx.now) {
            let problem = "wake_at is not later, so the timer would fire forever";
            broken(
                self.algorithm,
                "on_timer",
                Some(cx.now),
                problem,
                "set a later time, or none",
            );
        }
    }
    fn on_end(&mut self, cx: &mut Context<'_>) {
        forward!(self, cx, on_end);
    }
    #[inline]
    fn decision(&self) -> Decision {
        self.decision
    }
    fn observe(&self, row: &mut Vec<f64>) {
        let Some(observe) = self.plugin.observe.filter(|_| self.fields > 0) else {
            return;
        };
        let start = row.len();
        row.resize(start + self.fields, 0.0);
        // SAFETY: there is space for a value of each field.
        if unsafe { observe(self.it, row[start..].as_mut_ptr()) } != 0 {
            fault(self.algorithm, "observe", None, &self.said());
        }
    }
}
