//! The programs of the two hosts.

use fullpipe_scenario::{Flow, Host, Scenario};
use fullpipe_tcp::{Costs, Cpu, WakeUp};
use fullpipe_units::{Rng, Time};

/// Returns the program of one end. Both ends run on machines of the same speed.
pub(super) fn program(
    scenario: &Scenario,
    spec: &Flow,
    host: &Host,
    usage: &str,
    start: Time,
) -> (Cpu, Costs) {
    let stream = |usage: &str| Rng::stream(scenario.seed, &spec.name, usage);
    let wake = host.wake.map_or(WakeUp::NONE, |wake| {
        WakeUp::new(wake.min, wake.median, wake.max)
    });
    let factor = 1.0 + host.variation * (2.0 * stream("host's speed").unit() - 1.0);
    let Host {
        send,
        receive,
        ack,
        call,
        batch,
        ..
    } = *host;
    (
        Cpu::new(wake, stream(usage), start),
        Costs {
            send,
            receive,
            ack,
            call,
            batch,
        }
        .scaled(factor),
    )
}
