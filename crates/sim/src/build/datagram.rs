//! The two ends of a datagram flow.

use fullpipe_cc::{AnyController, Config, Descriptor, Shared};
use fullpipe_scenario::{App, Flow, Scenario};
use fullpipe_tcp::{DatagramApp, DatagramConfig, DatagramReceiver, DatagramSender, Media};
use fullpipe_trace::MeasuredTime;
use fullpipe_units::{Rng, Time};

use super::app::app;
use super::connection::{ack_policy, codepoint, pacing};

pub(super) fn sender(
    (scenario, shared): (&Scenario, &mut Shared),
    spec: &Flow,
    (descriptor, config): &(&'static Descriptor, Config),
    start: Time,
    window: MeasuredTime,
) -> DatagramSender<AnyController> {
    let stream = |usage| Rng::stream(scenario.seed, &spec.name, usage);
    let source = match (spec.app, fullpipe_setup::media_source(spec)) {
        (Some(App::Media(media)), Some(source)) => DatagramApp::Media(Box::new(Media::new(
            source,
            media.vary,
            media.discard,
            stream("frames"),
            start,
        ))),
        _ => DatagramApp::Data(app(scenario, spec)),
    };
    let config = DatagramConfig {
        controller: (descriptor.build)(config, shared),
        owner: descriptor.recovery,
        needs: descriptor.needs,
        app: source,
        smss: spec.mss,
        initial_cwnd: spec.mss * u64::from(spec.initial_window),
        pacing: pacing(spec),
        ecn: codepoint(spec.ecn),
        rng: stream("controller"),
    };
    let mut sender = DatagramSender::new(config, start);
    sender.limits().restart(window.from.max(start));
    sender
}

pub(super) fn receiver(spec: &Flow) -> DatagramReceiver {
    DatagramReceiver::new(ack_policy(spec))
}
