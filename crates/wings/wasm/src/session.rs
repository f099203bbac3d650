//! One run at a time, with the replies to the page.

use fullpipe_cc::Registry;
use fullpipe_scenario::{Error, Scenario};
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Span, Time};
use serde_json::{Value, json};

use crate::columns::pack;
use crate::layout::layouts;
use crate::own::{METHODS, descriptor};

/// A page's run, and what the page reads.
#[derive(Debug, Default)]
pub(crate) struct Session {
    text: Vec<u8>,
    registry: Registry,
    run: Option<(Scenario, Simulation)>,
    /// The latest reply, JSON.
    pub(crate) reply: Vec<u8>,
    /// The numbers that it describes.
    pub(crate) block: Vec<u8>,
}

impl Session {
    /// Returns room for the text of a scenario.
    pub(crate) fn room(&mut self, length: usize) -> &mut [u8] {
        self.text = vec![0; length];
        &mut self.text
    }

    /// Prepares the run of the text's scenario. The reply has the scenario with every default.
    pub(crate) fn open(&mut self, interval_ns: u64) -> bool {
        (self.run, self.block) = (None, vec![]);
        let text = String::from_utf8_lossy(&self.text);
        let level = match interval_ns {
            0 => TraceLevel::Acks,
            interval => TraceLevel::Every(Span::from_nanos(interval)),
        };
        let made = Scenario::parse(&text, "scenario").and_then(|scenario| {
            let run = Simulation::new(&scenario, &self.registry, level)?;
            Ok((describe(&scenario, &self.registry), (scenario, run)))
        });
        let opened = made.is_ok();
        let reply = match made {
            Ok((reply, run)) => {
                self.run = Some(run);
                reply
            }
            Err(error) => refusal(&error),
        };
        self.answer(&reply);
        opened
    }

    /// Records the packets that are sent in a window of time.
    pub(crate) fn log_packets(&mut self, from_ns: u64, to_ns: u64) {
        if let Some((_, run)) = &mut self.run {
            run.log_packets(time(from_ns), time(to_ns));
        }
    }

    /// Advances; returns whether the run is over.
    pub(crate) fn advance(&mut self, steps: u64) -> bool {
        self.run.as_mut().is_none_or(|(_, run)| run.advance(steps))
    }

    /// Advances to a time; returns whether the run is over.
    pub(crate) fn advance_to(&mut self, at_ns: u64) -> bool {
        self.run
            .as_mut()
            .is_none_or(|(_, run)| run.advance_to(time(at_ns)))
    }

    /// Returns the time of the run in seconds.
    pub(crate) fn now(&self) -> f64 {
        self.run
            .as_ref()
            .map_or(0.0, |(_, run)| run.now().as_secs_f64())
    }

    /// Replies with the trace so far.
    pub(crate) fn so_far(&mut self) {
        self.block.clear();
        let run = self.run.as_ref();
        let trace = run.and_then(|(_, run)| run.trace_so_far());
        let tables = trace.map(|trace| pack(&trace, &mut self.block));
        self.answer(&json!({ "tables": tables }));
    }

    /// Replies with the results of the run, or of its part so far, and the verdicts on them.
    pub(crate) fn finish(&mut self) {
        self.block.clear();
        let reply = match self.run.take() {
            None => json!({}),
            Some((scenario, run)) => {
                let run = run.finish();
                let metrics = json!(run.summary);
                let hash = run
                    .trace
                    .as_ref()
                    .map(|trace| format!("{:016x}", trace.hash()));
                let tables = run.trace.map(|trace| pack(&trace, &mut self.block));
                json!({
                    "verdicts": verdicts(&scenario, &metrics),
                    "metrics": metrics,
                    "hash": hash,
                    "tables": tables,
                })
            }
        };
        self.answer(&reply);
    }

    /// Makes the class that the text describes an algorithm.
    pub(crate) fn own(&mut self) {
        let about: Value = serde_json::from_slice(&self.text).unwrap_or_default();
        let known = std::mem::take(&mut self.registry);
        self.registry = known.with(descriptor(&about));
        self.answer(&json!({}));
    }

    /// Replies with the version, and with how a page calls a class.
    pub(crate) fn version(&mut self) {
        self.answer(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "layouts": layouts(),
            "methods": METHODS,
        }));
    }

    fn answer(&mut self, reply: &Value) {
        self.reply = reply.to_string().into_bytes();
    }
}

fn time(at_ns: u64) -> Time {
    Time::ZERO + Span::from_nanos(at_ns)
}

/// Returns what controls show: the scenario with every default, as JSON, and derived quantities.
fn describe(scenario: &Scenario, registry: &Registry) -> Value {
    let resolved = fullpipe_setup::resolved(scenario, registry).to_toml();
    let link = &scenario.path.link;
    json!({
        "title": scenario.title(),
        "scenario": toml::from_str::<Value>(&resolved).unwrap_or_default(),
        "duration_s": scenario.duration.as_secs_f64(),
        "seed": scenario.seed,
        "random": fullpipe_setup::is_random(scenario, registry),
        "rate_bps": link.rate.as_bps(),
        "rtt_s": scenario.path.rtt.as_secs_f64(),
        "buffer_bytes": scenario.buffer(link).get(),
        "profile": scenario.profile.as_ref().map(|profile| profile.name),
        "flows": scenario.flows.iter().map(|flow| json!({
            "name": flow.name,
            "cc": flow.cc,
            "start_s": scenario.start(flow).as_secs_f64(),
        })).collect::<Vec<_>>(),
        "links": scenario.links().map(|link| link.name.as_str()).collect::<Vec<_>>(),
    })
}

/// Judges a run by the conditions of its scenario.
fn verdicts(scenario: &Scenario, metrics: &Value) -> Value {
    let conditions = scenario.expectations().unwrap_or_default();
    let verdicts = conditions.iter().flat_map(|condition| {
        let of_each = condition.measured.iter();
        of_each.map(move |of| condition.judge(of, &[(scenario.seed, of.value(metrics))]))
    });
    json!(verdicts.collect::<Vec<_>>())
}

/// Returns an error: its text, and the parts of it.
fn refusal(error: &Error) -> Value {
    json!({
        "error": error.to_string(),
        "line": error.line(),
        "key": error.key(),
        "problem": error.problem(),
        "fix": error.fix(),
    })
}
