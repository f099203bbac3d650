//! The algorithms of a flow, in its sender and in its receiver.

use std::collections::BTreeMap;

use fullpipe_cc::{
    Config, Descriptor, MediaSource, ParamValue, ReceiverDescriptor, Registry, Rules, Signals,
};
use fullpipe_scenario::{
    App, EcnFeedback, EcnField, EcnSetting, Error, Flow, PROGRAM_FIX, ReceiveWindow, Scenario,
};
use fullpipe_units::{Bytes, nearest};

/// The signals that the simulated endpoint provides to a controller, without those of ECN.
pub const PROVIDES: Signals = Signals::RATE_SAMPLE
    .and(Signals::LOST_EACH)
    .and(Signals::TX_INFLIGHT)
    .and(Signals::SPURIOUS)
    .and(Signals::PACING)
    .and(Signals::TIMESTAMPS)
    .and(Signals::ACKED_EACH)
    .and(Signals::HOST_DELAYS);

/// Returns the signals that a flow's controller receives; marks depend on its `ecn` and
/// `ecn_feedback`.
fn provides(spec: &Flow) -> Signals {
    let counts = spec.ecn != EcnSetting::Off && spec.ecn_feedback != EcnFeedback::Classic;
    let ect1 = matches!(spec.ecn, EcnSetting::Auto | EcnSetting::Ect1)
        && spec.ecn_feedback == EcnFeedback::Accurate;
    let with = |yes: bool, signal: Signals| if yes { signal } else { Signals::NONE };
    PROVIDES
        .and(with(counts, Signals::ECN_COUNTS))
        .and(with(ect1, Signals::ECT1))
}

/// The services of a runner to the controllers of its senders.
#[derive(Clone, Copy, Debug)]
pub struct Runner {
    /// Signals that the runner provides.
    pub provides: Signals,
    /// Whether signals of ECN are missing only because of the flow's settings.
    pub marks: bool,
    /// Bytes of a full segment, or of a packet where windows count packets.
    pub smss: Bytes,
}

/// The sender's algorithm of a flow whose cc is an algorithm of the receiver.
const USUAL: &str = "cubic";

/// The algorithms of a flow, with their parameters.
#[derive(Debug)]
pub struct Algorithms {
    /// Algorithm of the sender.
    pub sender: (&'static Descriptor, Config),
    /// Algorithm of the receiver, if one controls the window.
    pub receiver: Option<(&'static ReceiverDescriptor, Config)>,
}

/// Returns the algorithms of `spec`. `cc = "rledbat"` is short for CUBIC with that receiver.
///
/// # Errors
/// An unknown algorithm, one that needs a signal that the simulated endpoint does not provide, or a
/// parameter that the algorithm refuses.
pub fn choose(scenario: &Scenario, spec: &Flow, registry: &Registry) -> Result<Algorithms, Error> {
    refuse_program(scenario, spec)?;
    let receiver = spec
        .receiver
        .as_ref()
        .map(|name| receiver(scenario, spec, registry, name))
        .transpose()?;
    let Some(window) = registry.receiver(&spec.cc) else {
        return Ok(Algorithms {
            sender: sender(scenario, spec, registry)?,
            receiver,
        });
    };
    if spec.is_datagram() {
        return Err(scenario.error(
            &spec.key("cc"),
            quoted(Some(&spec.cc)),
            "this algorithm sets the advertised window, which a receiver of datagrams does not have",
            "name an algorithm of the sender, like \"cubic\", or set transport = \"tcp\"",
        ));
    }
    if receiver.is_some() {
        let problem = format!("cc = {:?} already is an algorithm of the receiver", spec.cc);
        let fix = "remove receiver, or name the sender's algorithm as cc, like \"cubic\"";
        return Err(scenario.error(
            &spec.key("receiver"),
            quoted(spec.receiver.as_deref()),
            problem,
            fix,
        ));
    }
    provided(scenario, spec, "cc", window, &of_flow(spec))?;
    let usual = registry.get(USUAL).expect("CUBIC is built in");
    let none = BTreeMap::new();
    let sender = self::config(scenario, spec, "params", &none, usual, spec.mss)?;
    let config = config(scenario, spec, "params", &spec.params, window, spec.mss)?;
    Ok(Algorithms {
        sender: (usual, sender),
        receiver: Some((window, config)),
    })
}

fn sender(
    scenario: &Scenario,
    spec: &Flow,
    registry: &Registry,
) -> Result<(&'static Descriptor, Config), Error> {
    controller(scenario, spec, registry, &of_flow(spec))
}

/// Returns the algorithm of the sender of `spec`, under any runner.
///
/// # Errors
/// An unknown algorithm, one that needs a signal that the runner does not provide, or a parameter
/// that the algorithm refuses.
pub fn controller(
    scenario: &Scenario,
    spec: &Flow,
    registry: &Registry,
    runner: &Runner,
) -> Result<(&'static Descriptor, Config), Error> {
    refuse_program(scenario, spec)?;
    let Some(descriptor) = registry.get(&spec.cc) else {
        let known = registry.names();
        let list = known.join(", ");
        let versions: Vec<_> = known
            .iter()
            .filter(|name| {
                name.strip_prefix(spec.cc.as_str())
                    .is_some_and(|rest| rest.len() == 1)
            })
            .map(|name| format!("\"{name}\""))
            .collect();
        let fix = match nearest(&spec.cc, &known) {
            Some(_) if versions.len() > 1 => format!("write one of {}", versions.join(", ")),
            Some(near) => format!("did you mean \"{near}\"? there are {list} (and \"none\")"),
            None => format!("use one of {list} (or \"none\")"),
        };
        return Err(scenario.error(
            &spec.key("cc"),
            quoted(Some(&spec.cc)),
            "no algorithm of this name",
            &fix,
        ));
    };
    provided(scenario, spec, "cc", descriptor, runner)?;
    not_stripped(scenario, spec, "cc", descriptor)?;
    Ok((
        descriptor,
        config(
            scenario,
            spec,
            "params",
            &spec.params,
            descriptor,
            runner.smss,
        )?,
    ))
}

/// Refuses a flow that a user's programs make.
///
/// # Errors
/// When it is one; the error names the key that makes it one.
fn refuse_program(scenario: &Scenario, spec: &Flow) -> Result<(), Error> {
    spec.program_key().map_or(Ok(()), |(key, value)| {
        let problem = "a program runs on this machine, with its own transport";
        Err(scenario.error(&key, value, problem, PROGRAM_FIX))
    })
}

fn receiver(
    scenario: &Scenario,
    spec: &Flow,
    registry: &Registry,
    name: &str,
) -> Result<(&'static ReceiverDescriptor, Config), Error> {
    let Some(descriptor) = registry.receiver(name) else {
        let known: Vec<&str> = registry.receivers().map(|known| known.name).collect();
        let fix = format!("use \"{}\"", known.join("\" or \""));
        let problem = "no receiver's algorithm has this name";
        return Err(scenario.error(&spec.key("receiver"), quoted(Some(name)), problem, fix));
    };
    provided(scenario, spec, "receiver", descriptor, &of_flow(spec))?;
    Ok((
        descriptor,
        config(
            scenario,
            spec,
            "receiver_params",
            &spec.receiver_params,
            descriptor,
            spec.mss,
        )?,
    ))
}

fn of_flow(spec: &Flow) -> Runner {
    Runner {
        provides: provides(spec),
        marks: true,
        smss: spec.mss,
    }
}

/// Refuses an algorithm, named by `key`, that needs a signal that the runner does not provide.
fn provided<Build>(
    scenario: &Scenario,
    spec: &Flow,
    key: &str,
    descriptor: &Descriptor<Build>,
    &Runner {
        provides, marks, ..
    }: &Runner,
) -> Result<(), Error> {
    let missing = descriptor.needs.missing_from(provides);
    if missing.is_empty() {
        return Ok(());
    }
    let (name, what) = (descriptor.name, missing.join(" and "));
    let by_choice = marks
        && descriptor
            .needs
            .missing_from(provides.and(Signals::ECN_COUNTS).and(Signals::ECT1))
            .is_empty();
    let (who, fix) = match by_choice {
        true => (
            "this flow's ecn and ecn_feedback do not provide",
            "remove them, or use another algorithm",
        ),
        false => (
            "this runner does not provide",
            "use another runner or algorithm",
        ),
    };
    let problem = format!("{name} needs {what}, which {who}");
    Err(scenario.error(&spec.key(key), quoted(Some(name)), problem, fix))
}

/// Refuses an algorithm that needs marks if a link on its route clears ECN fields. Errors name
/// `key`.
fn not_stripped<Build>(
    scenario: &Scenario,
    spec: &Flow,
    key: &str,
    descriptor: &Descriptor<Build>,
) -> Result<(), Error> {
    let missing = descriptor.needs.missing_from(PROVIDES);
    let strips = scenario
        .route(&spec.route)
        .find(|link| link.ecn == EcnField::Strip);
    match strips {
        Some(link) if !missing.is_empty() => {
            let (name, what) = (descriptor.name, missing.join(" and "));
            let problem = format!(
                "{name} needs {what}, but the link \"{}\" on the flow's route clears ECN fields",
                link.name
            );
            let fix = format!(
                "use another algorithm or a route without this link, or set {} = \"keep\"",
                link.key("ecn")
            );
            Err(scenario.error(&spec.key(key), quoted(Some(name)), problem, fix))
        }
        _ => Ok(()),
    }
}

fn config<Build>(
    scenario: &Scenario,
    spec: &Flow,
    table: &str,
    params: &BTreeMap<String, ParamValue>,
    descriptor: &Descriptor<Build>,
    smss: Bytes,
) -> Result<Config, Error> {
    let initial = smss * u64::from(spec.initial_window);
    let rules = rules(spec);
    let made = Config::following(rules, descriptor, params, smss, initial);
    let mut config = made.map_err(|error| {
        let key = spec.key(&format!("{table}.{}", error.name));
        scenario.error(&key, &error.value, &error.problem, &error.fix)
    })?;
    config.source = media_source(spec);
    Ok(config.in_group(spec.group.clone()))
}

/// Returns the rules of the algorithms of a flow without a profile.
pub fn rules(spec: &Flow) -> Rules {
    match spec.stack.usual.is_linux() {
        true => Rules::Linux,
        false => Rules::Specification,
    }
}

/// Returns the media source of a flow, if its application is one.
pub fn media_source(spec: &Flow) -> Option<MediaSource> {
    let Some(App::Media(media)) = spec.app else {
        return None;
    };
    Some(MediaSource {
        min: media.from,
        max: media.to,
        frame_period: media.frame_period(),
    })
}

fn quoted(name: Option<&str>) -> String {
    format!("{:?}", name.unwrap_or_default())
}

/// Returns the scenario with every parameter of its algorithms and every receive window filled in.
/// Flows whose algorithm is refused stay as they are.
pub fn resolved(scenario: &Scenario, registry: &Registry) -> Scenario {
    let mut resolved = scenario.clone();
    // Flows of a workload keep an unset window: it depends on each flow's RTT.
    for (flow, spec) in resolved
        .flows
        .iter_mut()
        .zip(&scenario.flows)
        .filter(|(_, spec)| {
            !spec.is_unresponsive() && !spec.is_datagram() && spec.program.is_none()
        })
    {
        flow.receive_window
            .get_or_insert(ReceiveWindow::Fixed(scenario.receive_window(spec)));
    }
    let arriving = resolved
        .workloads
        .iter_mut()
        .map(|workload| &mut workload.flow);
    let specs = scenario
        .flows
        .iter()
        .chain(scenario.workloads.iter().map(|workload| &workload.flow));
    let flows = resolved.flows.iter_mut().chain(arriving).zip(specs);
    for (flow, spec) in flows.filter(|(_, spec)| !spec.is_unresponsive() && spec.program.is_none())
    {
        let Ok(Algorithms { sender, receiver }) = choose(scenario, spec, registry) else {
            continue;
        };
        match receiver {
            Some((_, config)) if spec.receiver.is_none() => flow.params = written(&config),
            Some((_, config)) => {
                flow.params = written(&sender.1);
                flow.receiver_params = written(&config);
            }
            None => flow.params = written(&sender.1),
        }
    }
    resolved
}

fn written(config: &Config) -> BTreeMap<String, ParamValue> {
    config
        .params()
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_algorithm_is_refused_without_a_signal_that_it_needs() {
        let text = "duration = \"1s\"\n[path]\nrate = \"1mbit\"\nrtt = \"1ms\"\nbuffer = \"10packets\"\n[[flow]]\n\
                    cc = \"cubic\"\nreceiver = \"rledbat\"\n";
        let scenario = Scenario::parse(text, "test.toml").expect("a valid scenario");
        let window = Registry::default()
            .receiver("rledbat")
            .expect("it is built in");
        let check = |provides| {
            let runner = Runner {
                provides,
                marks: true,
                smss: scenario.flows[0].mss,
            };
            provided(&scenario, &scenario.flows[0], "receiver", window, &runner)
        };
        assert!(check(PROVIDES).is_ok());
        let error = check(Signals::RATE_SAMPLE).expect_err("it has no timestamps");
        assert_eq!(
            error.to_string(),
            "test.toml:8: flow.0.receiver = \"rledbat\": rledbat needs timestamps, which this runner does not \
             provide\n  fix: use another runner or algorithm"
        );
    }

    #[test]
    fn an_algorithm_for_marks_is_refused_where_the_flow_has_none() {
        for (cc, ecn, missing) in [
            ("dctcp", "ecn = \"off\"", Some("ECN counts")),
            ("dctcp", "ecn_feedback = \"classic\"", Some("ECN counts")),
            ("dctcp", "ecn_feedback = \"dctcp\"", None),
            ("prague", "ecn = \"ect0\"", Some("ECT(1)")),
            (
                "prague",
                "ecn_feedback = \"classic\"",
                Some("ECN counts and ECT(1)"),
            ),
            ("prague", "ecn = \"ect1\"", None),
            ("cubic", "ecn = \"ect0\"\necn_feedback = \"classic\"", None),
        ] {
            let text = format!(
                "duration = \"1s\"\n[path]\nrate = \"1mbit\"\nrtt = \"1ms\"\nbuffer = \"10packets\"\n[[flow]]\n\
                 cc = \"{cc}\"\n{ecn}\n"
            );
            let scenario = Scenario::parse(&text, "test.toml").expect("a valid scenario");
            let refusal = choose(&scenario, &scenario.flows[0], &Registry::default()).err();
            let expected = missing.map(|missing| {
                format!(
                    "test.toml:7: flow.0.cc = \"{cc}\": {cc} needs {missing}, which this flow's ecn and \
                     ecn_feedback do not provide\n  fix: remove them, or use another algorithm"
                )
            });
            assert_eq!(
                refusal.map(|error| error.to_string()),
                expected,
                "{cc} with {ecn}"
            );
        }
    }

    #[test]
    fn an_algorithm_for_marks_is_refused_on_a_route_that_strips_them() {
        for (cc, link, missing) in [
            ("dctcp", "bottleneck", Some(("ECN counts", "path.ecn"))),
            (
                "prague",
                "access",
                Some(("ECN counts and ECT(1)", "link.0.ecn")),
            ),
            ("cubic", "access", None),
        ] {
            let strips = |name: &str| if link == name { "ecn = \"strip\"" } else { "" };
            let text = format!(
                "duration = \"1s\"\n[path]\nrate = \"1mbit\"\nrtt = \"1ms\"\nbuffer = \"10packets\"\n{}\n[[link]]\n\
                 name = \"access\"\nrate = \"1mbit\"\nbuffer = \"10packets\"\n{}\n[[flow]]\n\
                 cc = \"{cc}\"\nroute = [\"access\", \"bottleneck\"]\necn = \"{}\"\n",
                strips("bottleneck"),
                strips("access"),
                if cc == "cubic" { "ect0" } else { "auto" },
            );
            let scenario = Scenario::parse(&text, "test.toml").expect("a valid scenario");
            let refusal = choose(&scenario, &scenario.flows[0], &Registry::default()).err();
            let expected = missing.map(|(missing, key)| {
                format!(
                    "test.toml:13: flow.0.cc = \"{cc}\": {cc} needs {missing}, but the link \"{link}\" on the \
                     flow's route clears ECN fields\n  fix: use another algorithm or a route without this link, or set \
                     {key} = \"keep\""
                )
            });
            assert_eq!(
                refusal.map(|error| error.to_string()),
                expected,
                "{cc} over {link}"
            );
        }
    }
}
