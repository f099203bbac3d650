//! Tests of the contract for any algorithm, built-in or a user's: under random transports whose
//! states TCP or QUIC can produce, every decision is valid, all data drains, and a recorded run
//! replays to the same decisions.
//!
//! ```
//! use fullpipe_cc::{Registry, check};
//!
//! let cubic = Registry::default().get("cubic").expect("built in");
//! check::contract(cubic, 100).unwrap_or_else(|broken| panic!("{broken}"));
//! ```

mod feedback;
mod rules;
mod steps;
mod transport;

use core::any::Any;
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fullpipe_units::{Rng, Time};

pub use steps::{Arrival, Kind, Step, random_steps};
pub use transport::Transport;

use crate::replay::replay;
use crate::{Config, Descriptor, Domain, Fault, ParamValue, Shared};

/// A rule of the contract that an algorithm broke.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// The call after which it was found, and the time of the call; `None` if no single call is to
    /// blame.
    pub after: Option<(String, Time)>,
    /// Description of the problem.
    pub problem: String,
    /// Suggested fix.
    pub fix: String,
    /// The shortest sequence that was found to show it.
    pub steps: Vec<Step>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.algorithm)?;
        if let Some((call, at)) = &self.after {
            write!(f, "after {call} at {} s ", at.as_secs_f64())?;
        }
        write!(f, "{}: {}", self.problem, self.fix)?;
        if !self.steps.is_empty() {
            write!(f, "\nsteps that show it:")?;
        }
        self.steps
            .iter()
            .try_for_each(|step| write!(f, "\n  {step:?}"))
    }
}

impl core::error::Error for Broken {}

/// Tests the contract with this number of random sequences for each transport and for each set of
/// parameters: the defaults, and every keyword and flag that differs from them. The sequences are
/// the same in every run.
///
/// # Errors
/// The first breach, with the shortest sequence that was found to show it.
pub fn contract(descriptor: &'static Descriptor, sequences: u64) -> Result<(), Broken> {
    let kinds = Kind::fit_for(descriptor);
    contract_told(descriptor, &kinds, sequences, &panicked, &|| ())
}

/// Describes the payload of a panic; unwinds with one that ends the test.
pub type Words = dyn Fn(Box<dyn Any + Send>) -> String;

/// Like [`contract`], on these transports alone, with words for a panic, and a call before each sequence, which may
/// unwind.
///
/// # Errors
/// As [`contract`].
pub fn contract_told(
    descriptor: &'static Descriptor,
    kinds: &[Kind],
    sequences: u64,
    words: &Words,
    before: &dyn Fn(),
) -> Result<(), Broken> {
    for config in variants(descriptor) {
        for &kind in kinds {
            for seed in 0..sequences {
                let steps = random_steps(&mut Rng::stream(seed, "check", "steps"), 400);
                let held = |steps: &[Step]| {
                    before();
                    hold_told(kind, descriptor, &config, steps, words).map(drop)
                };
                if let Err(broken) = held(&steps) {
                    return Err(shorten(held, steps, broken));
                }
            }
        }
    }
    Ok(())
}

/// Plays this number of random sequences as TCP does, and calls a second controller likewise; returns whether both decide
/// the same. A breach of the contract or a panic ends a sequence: another test tells it.
pub fn repeats(descriptor: &'static Descriptor, sequences: u64) -> bool {
    let config = Config::defaults(descriptor);
    (0..sequences).all(|seed| {
        let steps = random_steps(&mut Rng::stream(seed, "check", "steps"), 400);
        let mut transport =
            Transport::new(Kind::Counts, descriptor, &config, &mut Shared::default());
        let play = || steps.iter().for_each(|step| transport.play(step));
        let whole = catch_unwind(AssertUnwindSafe(play)).is_ok();
        let again = || {
            let fresh = &mut (descriptor.build)(&config, &mut Shared::default());
            replay(fresh, &mut transport::rng(), &transport.events)
        };
        match catch_unwind(AssertUnwindSafe(again)) {
            Ok(again) => again == transport.decisions,
            Err(_) => !whole,
        }
    })
}

/// Plays `steps` with a flow of its own, lets its data drain, and replays the recorded calls.
///
/// # Errors
/// The first breach of the contract.
pub fn hold(
    kind: Kind,
    descriptor: &'static Descriptor,
    config: &Config,
    steps: &[Step],
) -> Result<Transport, Broken> {
    hold_told(kind, descriptor, config, steps, &panicked)
}

/// Describes the payload of a panic, which is its message.
#[expect(clippy::needless_pass_by_value, reason = "it is one of `Words`")]
pub fn panicked(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a message"))
}

fn hold_told(
    kind: Kind,
    descriptor: &'static Descriptor,
    config: &Config,
    steps: &[Step],
    words: &Words,
) -> Result<Transport, Broken> {
    let run = || {
        let mut transport = Transport::new(kind, descriptor, config, &mut Shared::default());
        steps.iter().for_each(|step| transport.play(step));
        transport.drain();
        if transport.broken.is_none() {
            let fresh = &mut (descriptor.build)(config, &mut Shared::default());
            let again = replay(fresh, &mut transport::rng(), &transport.events);
            if again != transport.decisions {
                transport.broken = Some(Broken {
                    algorithm: descriptor.name,
                    after: None,
                    problem: "the same calls lead to other decisions".to_owned(),
                    fix: "use no clock, no global state, and no random numbers but cx.rng"
                        .to_owned(),
                    steps: Vec::new(),
                });
            }
        }
        transport
    };
    let transport = catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let (problem, fix) = match payload.downcast::<Fault>() {
            Ok(fault) => (fault.problem, fault.fix),
            Err(payload) => (
                words(payload),
                "every sequence of calls that a transport can make must be handled",
            ),
        };
        // The text is the algorithm's: with lines of its own it could pass for this program's.
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        Broken {
            algorithm: descriptor.name,
            after: None,
            problem,
            fix: fix.to_owned(),
            steps: Vec::new(),
        }
    })?;
    match transport.broken {
        Some(broken) => Err(broken),
        None => Ok(transport),
    }
}

/// Returns every set of parameters to test: each keyword and flag that differs from the defaults,
/// then the defaults.
pub fn variants(descriptor: &Descriptor) -> Vec<Config> {
    let defaults = Config::defaults(descriptor);
    let mut all = Vec::new();
    for param in descriptor.params {
        let values = match param.domain {
            Domain::Number { .. } => Vec::new(),
            Domain::Flag { default } => vec![ParamValue::Flag(!default)],
            Domain::Choice(words) => words[1..]
                .iter()
                .map(|word| ParamValue::Word((*word).into()))
                .collect(),
        };
        for value in values {
            let given = [(param.name.to_owned(), value)].into();
            let config = Config::new(descriptor, &given, defaults.smss, defaults.initial_cwnd);
            all.push(config.expect("a declared value is accepted"));
        }
    }
    all.push(defaults);
    all
}

/// Leaves out steps as long as the contract stays broken.
fn shorten(
    held: impl Fn(&[Step]) -> Result<(), Broken>,
    mut steps: Vec<Step>,
    mut broken: Broken,
) -> Broken {
    let mut chunk = steps.len();
    while chunk > 0 {
        let mut from = 0;
        while from < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(from..(from + chunk).min(steps.len()));
            match held(&fewer) {
                Err(still) => (steps, broken) = (fewer, still),
                Ok(()) => from += chunk,
            }
        }
        chunk /= 2;
    }
    Broken { steps, ..broken }
}
