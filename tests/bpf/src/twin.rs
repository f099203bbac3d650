//! Both controllers of an algorithm, and how far their decisions agree.

use std::collections::BTreeMap;

use fullpipe_cc::{Domain, Param, ParamValue, Registry};

use crate::call::{Call, Kind};
use crate::{Native, Reference};

/// Converts the value of a parameter as the loader does.
pub fn in_units_of_c(declared: &Param, value: &ParamValue) -> f64 {
    match (value, declared.domain) {
        (ParamValue::Number(number), _) => match declared.unit {
            "s" => number * 1e6,
            "ms" => number * 1e3,
            _ => *number,
        },
        (ParamValue::Flag(flag), _) => f64::from(u8::from(*flag)),
        (ParamValue::Word(word), Domain::Choice(words)) => words
            .iter()
            .position(|known| known == word)
            .expect("a keyword") as f64,
        (ParamValue::Word(word), _) => panic!("{} is no keyword: {word}", declared.name),
    }
}

/// The share of ACKs after which the decisions agree.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// Number of ACKs.
    pub acks: u64,
    /// Those whose windows agree within 1 % and a segment, and whose pacing rates within 1 %.
    pub agreeing: u64,
    /// The first disagreement, in words.
    pub first: Option<String>,
}

impl Agreement {
    /// Returns the share.
    pub fn share(&self) -> f64 {
        self.agreeing as f64 / self.acks.max(1) as f64
    }
}

/// The algorithm in C and in Rust.
#[derive(Debug)]
pub struct Twin {
    name: &'static str,
    /// In C.
    pub native: Native,
    params: BTreeMap<String, ParamValue>,
    reference: Option<Reference>,
    /// The decision of the algorithm in C.
    pub cwnd: u32,
    /// As the kernel has it.
    pub ssthresh: u32,
    /// B/s.
    pub pacing_rate: u64,
    /// Agreement of both.
    pub agreement: Agreement,
    /// The states that the algorithm in C entered, if they are wanted.
    pub visits: Option<Vec<Visit>>,
    /// The random waits of BBR in Rust: seconds, and rounds that count as over; if they are wanted.
    pub waits: Option<Vec<(f64, f64)>>,
    paced: bool,
}

/// The begin of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Time, us.
    pub at: u64,
    /// Number of round trips so far.
    pub round: u32,
    /// The state's index among its labels.
    pub state: u8,
}

impl Twin {
    /// Loads the algorithm `file` of `bpf/` and builds `name` of fullpipe-cc, both with `params`.
    pub fn new(file: &str, name: &'static str, params: &[(&str, ParamValue)]) -> Twin {
        let mut native = Native::new(file);
        let descriptor = Registry::default().get(name).expect("a built-in algorithm");
        for (key, value) in params {
            let declared = descriptor
                .params
                .iter()
                .find(|param| param.name == *key)
                .expect("declared");
            // The C has one profile only.
            if *key != "profile" {
                native.set(key, in_units_of_c(declared, value));
            }
        }
        Twin {
            name,
            native,
            params: params
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            reference: None,
            cwnd: 10,
            ssthresh: 0x7fff_ffff,
            pacing_rate: u64::MAX,
            agreement: Agreement::default(),
            visits: None,
            waits: None,
            paced: false,
        }
    }

    /// Makes a call on both.
    pub fn run(&mut self, mut call: Call) {
        (call.cwnd, call.ssthresh, call.pacing_rate) = (self.cwnd, self.ssthresh, self.pacing_rate);
        self.replay(call);
    }

    /// Makes a recorded call on both, with the decision that it has. Returns the decision in C.
    pub fn replay(&mut self, call: Call) -> Call {
        if call.kind == Kind::Begin {
            self.reference = Some(Reference::new(self.name, &self.params, &call));
        }
        let Some(reference) = &mut self.reference else {
            return call;
        };
        reference.run(&call);
        let mut decided = call;
        self.native.run(&mut decided);
        (self.cwnd, self.ssthresh) = (decided.cwnd, decided.ssthresh);
        self.pacing_rate = decided.pacing_rate;
        if call.kind == Kind::Ack {
            self.compare(&decided);
            self.note(&decided);
        }
        decided
    }

    /// Tells only the reference about an ACK in recovery, when the kernel owns the window.
    pub fn reference_only(&mut self, call: &Call) {
        if let Some(reference) = &mut self.reference {
            reference.run(call);
        }
    }

    /// Reduces the window as the kernel does: at once, where PRR takes a round trip.
    pub fn reduce(&mut self) {
        self.cwnd = self.ssthresh;
    }

    /// Also compares pacing rates from now on.
    #[must_use]
    pub fn paced(mut self) -> Twin {
        self.paced = true;
        self
    }

    fn note(&mut self, decided: &Call) {
        if let Some(visits) = &mut self.visits {
            let state = self.native.state(decided);
            if visits.last().is_none_or(|last| last.state != state) {
                visits.push(Visit {
                    at: decided.now,
                    round: self.native.values(decided)[3],
                    state,
                });
            }
        }
        if let (Some(waits), Some(reference)) = (&mut self.waits, &self.reference) {
            let wait = reference.field("bw_probe_wait", self.name);
            if wait > 0.0 && waits.last().is_none_or(|last| last.0 != wait) {
                waits.push((wait, reference.field("rounds_since_probe_up", self.name)));
            }
        }
    }

    fn compare(&mut self, decided: &Call) {
        let Some(reference) = &self.reference else {
            return;
        };
        let (window, rate) = (reference.cwnd(), reference.decision().pacing_rate);
        let found = f64::from(decided.cwnd);
        let windows_agree = (found - window).abs() <= 1.0 + 0.01 * window;
        let rates_agree = !self.paced
            || rate.is_some_and(|rate| {
                let expected = rate.as_f64() / 8.0;
                (decided.pacing_rate as f64 - expected).abs() <= 0.01 * expected + 1.0
            });
        let agreement = &mut self.agreement;
        agreement.acks += 1;
        if windows_agree && rates_agree {
            agreement.agreeing += 1;
        } else if agreement.first.is_none() {
            agreement.first = Some(format!(
                "ACK {} at {} us: window {found} instead of {window:.2}, rate {} B/s instead of {:.0}, state {} instead of {}; {decided:?}",
                agreement.acks,
                decided.now,
                decided.pacing_rate,
                rate.map_or(0.0, |rate| rate.as_f64() / 8.0),
                self.native.state(decided),
                reference.field("state", self.name),
            ));
        }
    }
}
