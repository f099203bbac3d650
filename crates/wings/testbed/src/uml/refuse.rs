//! Refuses settings that Linux's disciplines can't represent.

use fullpipe_path::Loss;
use fullpipe_scenario::{Error, Scenario};
use fullpipe_units::Span;

/// Refuses a setting that this setup of Linux does not support.
pub(super) fn refuse(scenario: &Scenario) -> Result<(), Error> {
    let no = |key: &str, value: &str| {
        let problem =
            "--on uml does not support this: netem lacks it, or fullpipe does not set it up";
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
            "--on uml supports only the bottleneck",
            "leave it out, or run it on sim",
        ));
    }
    let told = [
        ("host", scenario.host.is_some()),
        ("send_jitter", scenario.send_jitter > Span::ZERO),
        ("path.rate_pattern", link.rate_pattern.is_some()),
        ("path.loss", !matches!(link.loss, Loss::Random(_))),
        (
            "path.reverse_loss",
            !matches!(path.reverse_loss, Loss::Random(_)),
        ),
        ("path.change", !path.changes.is_empty()),
    ];
    if let Some((key, _)) = told.iter().find(|(_, asked)| *asked) {
        return no(key, "given");
    }
    let known = ["path.queue", "path.loss", "path.reverse_loss"];
    match path
        .altered_keys()
        .find(|key| !known.contains(&key.as_str()))
    {
        Some(key) => no(&key, "given"),
        None => Ok(()),
    }
}
