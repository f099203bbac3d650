//! Amounts and times of an application's writes.

use fullpipe_scenario::{Flow, On, Scenario};
use fullpipe_tcp::{App, Bursts, Cycle, Messages, Schedule};
use fullpipe_units::{Bytes, Draw, Rng, Time};

pub(super) fn app(scenario: &Scenario, spec: &Flow) -> App {
    let pauses = || Rng::stream(scenario.seed, &spec.name, "app pauses");
    match (spec.app, spec.app_rate, spec.bytes) {
        (
            Some(fullpipe_scenario::App::OnOff {
                on: On::Time(on),
                off,
            }),
            rate,
            bytes,
        ) => App::Scheduled(Box::new(Schedule::cycle(
            Cycle::new(on, off, rate, pauses()),
            bytes,
        ))),
        (
            Some(fullpipe_scenario::App::OnOff {
                on: On::Size(size),
                off,
            }),
            ..,
        ) => App::Bursts(Box::new(Bursts::new(
            messages(scenario, spec, size),
            off,
            pauses(),
        ))),
        (Some(fullpipe_scenario::App::Request { size, .. }), ..) => {
            App::Answers(Box::new(messages(scenario, spec, size).with_first()))
        }
        (Some(fullpipe_scenario::App::Media(_)), ..) => {
            unreachable!("a media source over TCP is refused")
        }
        (None, rate, bytes) if !spec.app_schedule.is_empty() => {
            let changes = spec
                .app_schedule
                .iter()
                .map(|(at, rate)| (Time::ZERO + *at, *rate));
            App::Scheduled(Box::new(Schedule::new(rate, changes, bytes)))
        }
        (None, Some(rate), bytes) => App::Paced { rate, bytes },
        (None, None, Some(bytes)) => App::Transfer { bytes },
        (None, None, None) => App::Unlimited,
    }
}

/// Returns the bursts or answers of a flow, the same for the writing and the waiting side.
pub(super) fn messages(scenario: &Scenario, spec: &Flow, sizes: Draw<Bytes>) -> Messages {
    let rng = Rng::stream(scenario.seed, &spec.name, "app");
    Messages::new(sizes, rng, spec.mss)
}
