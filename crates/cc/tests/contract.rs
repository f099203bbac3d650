//! The contract, for every algorithm: for any legal behavior of the transport, decisions remain
//! valid and replay exactly.

mod algorithms;
mod feedback;
mod steps;
mod transport;

use fullpipe_cc::replay::replay;
use fullpipe_cc::{Config, PathChange, Registry, Shared};
use fullpipe_units::{Bytes, Span};
use proptest::prelude::*;

use self::algorithms::{hold, kinds, variants};
use self::steps::{Arrival, Step};
use self::transport::{Transport, rng};

fn arrivals() -> impl Strategy<Value = Arrival> {
    let few = || prop_oneof![4 => Just(0_usize), 1 => 1_usize..5];
    (
        few(),
        prop::bool::weighted(0.7),
        1_usize..40,
        prop_oneof![9 => Just(0_usize), 1 => 1_usize..40],
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.02),
        prop::bool::weighted(0.1),
    )
        .prop_map(
            |(skips, loses, acks, marked, spurious, repaired, persistent)| Arrival {
                skips,
                loses,
                acks,
                marked,
                spurious,
                repaired,
                persistent,
            },
        )
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    // From microseconds to seconds, all orders of magnitude with the same probability.
    let wait =
        (0_u32..7, 1_u64..=10).prop_map(|(decade, n)| Span::from_micros(n * 10_u64.pow(decade)));
    let size =
        prop_oneof![Just(536_u64), Just(1_200), Just(1_448), Just(8_948)].prop_map(Bytes::new);
    let seed = (1_u64..10_000_000).prop_map(|bdp| PathChange::Seed {
        bdp: Bytes::new(bdp),
    });
    let threshold = (1_000_u64..10_000_000).prop_map(|ssthresh| PathChange::Threshold {
        ssthresh: Bytes::new(ssthresh),
    });
    let step = prop_oneof![
        6 => wait.prop_map(Step::Wait),
        6 => (1_u64..100).prop_map(Step::Send),
        12 => arrivals().prop_map(Step::Ack),
        1 => (0_usize..4).prop_map(|keeps| Step::Timeout { keeps }),
        1 => prop::bool::ANY.prop_map(Step::AppLimited),
        1 => prop_oneof![
            size.prop_map(Step::Mtu),
            prop_oneof![Just(PathChange::EcnFailed), seed, threshold].prop_map(Step::Path),
            Just(Step::Timer),
        ],
    ];
    prop::collection::vec(step, 1..most)
}

proptest! {
    #[test]
    fn decisions_stay_sane_and_replay_exactly(steps in steps(400), kind in 0_usize..3) {
        for (descriptor, config) in variants() {
            let kinds = kinds(descriptor);
            let found = hold(kinds[kind % kinds.len()], descriptor, &config, &steps);
            let fresh = &mut (descriptor.build)(&config, &mut Shared::default());
            prop_assert_eq!(replay(fresh, &mut rng(), &found.events), found.decisions);
        }
    }
}

proptest! {
    /// Three flows of a group, and two of another. One flow ends.
    #[test]
    fn groups_hold_the_contract(steps in prop::collection::vec((0_usize..5, steps(2)), 1..400)) {
        for descriptor in Registry::default().iter() {
            let shared = &mut Shared::default();
            let mut flows = ["a", "a", "a", "b", "b"].map(|group| {
                let config = Config::defaults(descriptor).in_group(Some(group.to_owned()));
                Transport::new(kinds(descriptor)[0], descriptor, &config, shared)
            });
            let half = steps.len() / 2;
            for (place, (flow, steps)) in steps.iter().enumerate() {
                if place == half && !flows[1].ended {
                    flows[1].drain();
                    flows[1].end();
                }
                let flow = &mut flows[*flow];
                if !flow.ended {
                    steps.iter().for_each(|step| flow.play(step));
                }
            }
            flows.iter_mut().filter(|flow| !flow.ended).for_each(Transport::drain);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn ten_thousand_sequences_hold_the_contract(steps in steps(30), kind in 0_usize..3) {
        for descriptor in Registry::default().iter() {
            let kinds = kinds(descriptor);
            hold(kinds[kind % kinds.len()], descriptor, &Config::defaults(descriptor), &steps);
        }
    }
}
