//! Files of trained policies: an accepted one keeps the contract of controllers under random
//! transports, and an error has a fix.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use fullpipe_cc::check::{Kind, hold, random_steps};
use fullpipe_cc::{AnyController, Config, Descriptor, Shared, steered};
use fullpipe_policy::{Policy, Read};
use fullpipe_units::Rng;

/// Events of a flow: a policy acts once per RTT, so fewer would show less than an action.
const STEPS: u64 = 120;
/// Larger networks cost time, and have no code of their own.
const MOST_WEIGHTS: usize = 2_000;

thread_local! {
    static READ: RefCell<Option<Arc<Read>>> = const { RefCell::new(None) };
}

fn build(config: &Config, _: &mut Shared) -> AnyController {
    let read = READ.with_borrow(|read| read.clone());
    AnyController::User(Box::new(Policy::new(
        read.expect("a policy was read"),
        config,
    )))
}

fn descriptor() -> &'static Descriptor {
    static MADE: OnceLock<Descriptor> = OnceLock::new();
    MADE.get_or_init(|| Descriptor {
        name: "policy",
        build,
        ..steered::DESCRIPTOR
    })
}

pub(crate) fn check((seed, text): (u64, &str)) {
    let read = match Read::of(text) {
        Ok(read) => read,
        Err(refused) => {
            assert!(!refused.problem.is_empty() && !refused.fix.is_empty());
            return;
        }
    };
    let weights = read.network.layers.iter();
    let weights: usize = weights.flat_map(|layer| &layer.weights).map(Vec::len).sum();
    if weights + read.spaces.observed() > MOST_WEIGHTS {
        return;
    }
    let mut random = Rng::stream(seed, "fuzz", "observation");
    let observed: Vec<f32> = (0..read.spaces.observed())
        .map(|_| (random.unit() * 20.0 - 10.0) as f32)
        .collect();
    assert_eq!(read.network.outputs(&observed).len(), 1);
    READ.set(Some(Arc::new(read)));
    let descriptor = descriptor();
    let steps = random_steps(&mut random, STEPS);
    for kind in Kind::fit_for(descriptor) {
        if let Err(broken) = hold(kind, descriptor, &Config::defaults(descriptor), &steps) {
            panic!("{broken}");
        }
    }
}
