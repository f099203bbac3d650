//! Compiles applications for the agents' plan.

use fullpipe_scenario::{App, Flow, On, Scenario};
use fullpipe_tcp::Cycle;
use fullpipe_units::{Bytes, Draw, Rate, Rng, Span, Time};

use crate::agent::plan::AppPlan;

/// More answers than a run can request.
const MOST_ANSWERS: u64 = 100_000;

/// Plans a flow's application. Random values are drawn here, from the simulator's streams.
pub(super) fn app(scenario: &Scenario, spec: &Flow) -> AppPlan {
    let bps = |rate: Rate| rate.as_bps();
    let bytes = spec.bytes.map(Bytes::get);
    match spec.app {
        Some(App::OnOff {
            on: On::Time(on),
            off,
        }) => {
            let rng = Rng::stream(scenario.seed, &spec.name, "app pauses");
            let cycle = Cycle::new(on, off, spec.app_rate, rng);
            let end = Time::ZERO + scenario.duration;
            let changes = cycle.changes(Time::ZERO).take_while(|(at, _)| *at <= end);
            AppPlan::Writes {
                first: spec.app_rate.map(bps),
                changes: changes
                    .map(|(at, rate)| (at.as_nanos(), rate.map(bps)))
                    .collect(),
                from_opening: true,
                bytes,
            }
        }
        Some(App::Request { size, think }) => answers(scenario, spec, size, think),
        // `refuse` rejects bursts (`on SIZE`), and media with its datagrams.
        Some(App::OnOff { .. } | App::Media(_)) | None => AppPlan::Writes {
            first: spec.app_rate.map(bps),
            changes: spec
                .app_schedule
                .iter()
                .map(|(at, rate)| (at.as_nanos(), rate.map(bps)))
                .collect(),
            from_opening: false,
            bytes,
        },
    }
}

fn answers(scenario: &Scenario, spec: &Flow, size: Draw<Bytes>, think: Draw<Span>) -> AppPlan {
    let stream = |usage| Rng::stream(scenario.seed, &spec.name, usage);
    let (mut sizes, mut thinks) = (stream("app"), stream("think"));
    let round = scenario.rtt(spec).max(Span::from_micros(100));
    let most = (scenario.duration.as_nanos() / round.as_nanos() + 2).min(MOST_ANSWERS);
    AppPlan::Answers {
        sizes: (0..most).map(|_| size.next(&mut sizes).get()).collect(),
        thinks: (0..most)
            .map(|_| think.next(&mut thinks).as_nanos())
            .collect(),
    }
}
