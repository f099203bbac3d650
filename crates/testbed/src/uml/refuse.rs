//! What Linux's disciplines can't do.

use fullpipe_path::{Jitter, Loss};
use fullpipe_scenario::{EcnField, Error, Scenario};
use fullpipe_units::Span;

/// What this way of setting up Linux can't give.
pub(super) fn refuse(scenario: &Scenario) -> Result<(), Error> {
    let no = |key: &str, value: &str| {
        let problem =
            "not with --on uml: Linux's netem has no such thing, or is not told of it here";
        Err(scenario.error(
            key,
            value,
            problem,
            "leave it out, or run it on sim or kernel",
        ))
    };
    let path = &scenario.path;
    let link = &path.link;
    if let Some(further) = scenario.links().nth(1) {
        let name = format!("{:?}", further.name);
        return Err(scenario.error(
            "link",
            name,
            "--on uml has the bottleneck alone",
            "leave it out, or run it on sim",
        ));
    }
    let told = [
        ("host", scenario.host.is_some()),
        ("send_jitter", scenario.send_jitter > Span::ZERO),
        ("path.rate_pattern", link.rate_pattern.is_some()),
        ("path.policer", link.policer.is_some()),
        ("path.shaper", link.shaper.is_some()),
        ("path.ecn", link.ecn != EcnField::Keep),
        ("path.ack_filter", link.ack_filter),
        ("path.loss", !matches!(link.loss, Loss::Random(_))),
        (
            "path.reverse_loss",
            !matches!(path.reverse_loss, Loss::Random(_)),
        ),
        ("path.duplicate", path.duplicate > 0.0),
        ("path.reverse_duplicate", path.reverse_duplicate > 0.0),
        ("path.wifi", path.wifi.is_some()),
        ("path.suspend", path.suspend.is_some()),
        ("path.jitter", path.jitter != Jitter::Off),
        ("path.reverse_jitter", path.reverse_jitter != Jitter::Off),
        ("path.change", !path.changes.is_empty()),
    ];
    match told.iter().find(|(_, asked)| *asked) {
        Some((key, _)) => no(key, "given"),
        None => Ok(()),
    }
}
