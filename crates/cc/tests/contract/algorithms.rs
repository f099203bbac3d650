//! The algorithms, and a run of one. The fuzz target `contract` shares this file and its neighbors.

use fullpipe_cc::{Config, Descriptor, Domain, ParamValue, Registry, Shared, Signals};

use super::steps::{Kind, Step};
use super::transport::Transport;

/// The transports that have the signals that an algorithm needs.
pub(crate) fn kinds(descriptor: &Descriptor) -> Vec<Kind> {
    let tcp = Signals::ALL;
    let ece = Signals::RATE_SAMPLE
        .and(Signals::LOST_EACH)
        .and(Signals::TX_INFLIGHT)
        .and(Signals::SPURIOUS)
        .and(Signals::PACING)
        .and(Signals::TIMESTAMPS);
    let quic = Signals::RATE_SAMPLE
        .and(Signals::LOST_EACH)
        .and(Signals::TX_INFLIGHT)
        .and(Signals::SPURIOUS)
        .and(Signals::PACING);
    [(Kind::Counts, tcp), (Kind::Ece, ece), (Kind::Quic, quic)]
        .into_iter()
        .filter(|(_, provided)| descriptor.needs.missing_from(*provided).is_empty())
        .map(|(kind, _)| kind)
        .collect()
}

/// Every algorithm with its defaults, and with each keyword and flag that differs from them.
pub(crate) fn variants() -> Vec<(&'static Descriptor, Config)> {
    let mut all = Vec::new();
    for descriptor in Registry::default().iter() {
        let defaults = Config::defaults(descriptor);
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
                all.push((descriptor, config.expect("a declared value is accepted")));
            }
        }
        all.push((descriptor, defaults));
    }
    all
}

pub(crate) fn hold(
    kind: Kind,
    descriptor: &'static Descriptor,
    config: &Config,
    steps: &[Step],
) -> Transport {
    let mut transport = Transport::new(kind, descriptor, config, &mut Shared::default());
    for step in steps {
        transport.play(step);
    }
    transport.drain();
    transport
}
