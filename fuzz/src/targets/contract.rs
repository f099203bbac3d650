//! The contract between controllers and transports: for any sequence of events that a transport can
//! produce, decisions are sane and replay exactly. The transport and its checks are those of
//! `fullpipe_cc::check`.

use std::cell::LazyCell;

use arbitrary::{Arbitrary, Result, Unstructured};
use fullpipe_cc::check::{Arrival, Kind, Step, Transport, hold, variants};
use fullpipe_cc::{Config, Descriptor, PathChange, Registry, Shared};
use fullpipe_units::{Bytes, Span};

/// Longer sequences would cost speed, and find little more.
const MOST: usize = 600;

thread_local! {
    static VARIANTS: LazyCell<Vec<(&'static Descriptor, Config)>> = const { LazyCell::new(every_variant) };
}

/// Every algorithm with every set of parameters.
fn every_variant() -> Vec<(&'static Descriptor, Config)> {
    let registry = Registry::default();
    let each = registry.iter().flat_map(|descriptor| {
        let configs = variants(descriptor).into_iter();
        configs.map(move |config| (descriptor, config))
    });
    each.collect()
}

#[derive(Debug)]
pub(crate) struct Case {
    variant: u8,
    kind: u8,
    /// Whether three flows of a group and two of another share the events.
    groups: bool,
    steps: Vec<(u8, Step)>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(from: &mut Unstructured<'a>) -> Result<Case> {
        let (variant, kind, groups) = from.arbitrary()?;
        let mut steps = Vec::new();
        while !from.is_empty() && steps.len() < MOST {
            let flow = if groups { from.arbitrary()? } else { 0 };
            steps.push((flow, step(from)?));
        }
        Ok(Case {
            variant,
            kind,
            groups,
            steps,
        })
    }
}

/// A step with the ranges of the property tests.
fn step(from: &mut Unstructured<'_>) -> Result<Step> {
    let sizes = [536, 1_200, 1_448, 8_948];
    Ok(match from.int_in_range(0..=19)? {
        0..=4 => {
            let (decade, count) = (from.int_in_range(0..=6)?, from.int_in_range(1..=10)?);
            Step::Wait(Span::from_micros(count * 10_u64.pow(decade)))
        }
        5..=8 => Step::Send(from.int_in_range(1..=99)?),
        9..=14 => {
            let flags: u8 = from.arbitrary()?;
            Step::Ack(Arrival {
                skips: if flags & 1 == 0 {
                    0
                } else {
                    from.int_in_range(1..=4)?
                },
                loses: flags & 2 == 0,
                acks: from.int_in_range(1..=39)?,
                marked: if flags & 12 == 12 {
                    from.int_in_range(1..=39)?
                } else {
                    0
                },
                spurious: flags & 48 == 48,
                repaired: flags & 192 == 192,
                persistent: flags & 160 == 160,
            })
        }
        15 => Step::Timeout {
            keeps: from.int_in_range(0..=3)?,
        },
        16 => Step::AppLimited(from.arbitrary()?),
        17 => Step::Timer,
        18 => Step::Mtu(Bytes::new(*from.choose(&sizes)?)),
        _ => Step::Path(match from.int_in_range(0..=2)? {
            0 => PathChange::EcnFailed,
            1 => PathChange::Seed {
                bdp: Bytes::new(from.int_in_range(1..=10_000_000)?),
            },
            _ => PathChange::Threshold {
                ssthresh: Bytes::new(from.int_in_range(1_000..=10_000_000)?),
            },
        }),
    })
}

fn one(case: &Case, descriptor: &'static Descriptor, config: &Config) {
    let kinds = Kind::fit_for(descriptor);
    let kind = kinds[usize::from(case.kind) % kinds.len()];
    let steps: Vec<Step> = case.steps.iter().map(|(_, step)| step.clone()).collect();
    if let Err(broken) = hold(kind, descriptor, config, &steps) {
        panic!("{broken}");
    }
}

fn groups(case: &Case, descriptor: &'static Descriptor, config: &Config) {
    let kinds = Kind::fit_for(descriptor);
    let kind = kinds[usize::from(case.kind) % kinds.len()];
    let shared = &mut Shared::default();
    let mut flows = ["a", "a", "a", "b", "b"].map(|group| {
        let config = config.clone().in_group(Some(group.to_owned()));
        Transport::new(kind, descriptor, &config, shared)
    });
    for (place, (flow, step)) in case.steps.iter().enumerate() {
        if place == case.steps.len() / 2 {
            flows[1].drain();
            flows[1].end();
        }
        let flow = &mut flows[usize::from(*flow) % 5];
        if !flow.has_ended() {
            flow.play(step);
        }
    }
    for flow in &mut flows {
        if !flow.has_ended() {
            flow.drain();
        }
        if let Some(broken) = flow.broken() {
            panic!("{broken}");
        }
    }
}

pub(crate) fn check(case: Case) {
    VARIANTS.with(|variants| {
        let (descriptor, config) = &variants[usize::from(case.variant) % variants.len()];
        if case.groups {
            groups(&case, descriptor, config);
        } else {
            one(&case, descriptor, config);
        }
    });
}
