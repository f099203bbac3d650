//! Which of the kernel's algorithms is which of ours, declared once.

use fullpipe_cc::{ParamValue, Registry};
use fullpipe_scenario::Flow;

/// One that both have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelEquivalent {
    /// What scenarios, metrics and traces call it.
    pub ours: &'static str,
    /// TCP_CONGESTION.
    pub kernel: &'static str,
    /// Parameters with which ours does what the kernel does; others it has not got.
    as_linux: &'static [(&'static str, Setting)],
    /// Whether it paces whatever the socket says.
    pub paces: bool,
    /// Whether its receiver runs it, too, to echo each mark.
    pub both_ends: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Setting {
    Word(&'static str),
    /// A number as large as this, or larger: none in effect.
    AtLeast(f64),
}

const KERNEL_EQUIVALENTS: [KernelEquivalent; 4] = [
    KernelEquivalent {
        ours: "newreno",
        kernel: "reno",
        // The kernel counts every acknowledged byte in slow start.
        as_linux: &[
            ("abc_limit", Setting::AtLeast(64.0)),
            ("slow_start", Setting::Word("classic")),
        ],
        paces: false,
        both_ends: false,
    },
    KernelEquivalent {
        ours: "cubic",
        kernel: "cubic",
        as_linux: &[
            ("profile", Setting::Word("linux")),
            ("slow_start", Setting::Word("hystart")),
        ],
        paces: false,
        both_ends: false,
    },
    KernelEquivalent {
        ours: "bbr1",
        kernel: "bbr",
        as_linux: &[],
        paces: true,
        both_ends: false,
    },
    KernelEquivalent {
        ours: "dctcp",
        kernel: "dctcp",
        as_linux: &[],
        paces: false,
        both_ends: true,
    },
];

/// The equivalent of an algorithm by its name, ours or the kernel's.
pub fn kernel_equivalent(name: &str) -> Option<&'static KernelEquivalent> {
    KERNEL_EQUIVALENTS
        .iter()
        .find(|equivalent| equivalent.ours == name || equivalent.kernel == name)
}

/// TCP_CONGESTION for the `cc` of a scenario: what both have by its name there, anything else by
/// its own.
pub fn kernel_name(cc: &str) -> &str {
    kernel_equivalent(cc).map_or(cc, |equivalent| equivalent.kernel)
}

/// Whether a parameter has the value that it has when none is given: a resolved scenario writes all
/// of them out, and is the same scenario.
fn is_usual(flow: &Flow, name: &str, value: &ParamValue) -> bool {
    let registry = Registry::default();
    let Some(descriptor) = registry.get(&flow.cc) else {
        return false;
    };
    let profile = match flow.params.get("profile") {
        Some(ParamValue::Word(word)) => word,
        _ => descriptor.usual_profile(),
    };
    let Some(param) = descriptor.params.iter().find(|param| param.name == name) else {
        return false;
    };
    match (descriptor.default_of(param, profile), value.clone()) {
        (ParamValue::Number(usual), ParamValue::Number(given)) => usual == given,
        (ParamValue::Flag(usual), ParamValue::Flag(given)) => usual == given,
        (ParamValue::Word(usual), ParamValue::Word(given)) => usual == given,
        _ => false,
    }
}

/// The first parameter of a flow that the kernel's algorithm can't be given.
pub(crate) fn refused_parameter(flow: &Flow) -> Option<(&str, &ParamValue)> {
    let granted = |name: &str, value: &ParamValue| {
        let settings =
            kernel_equivalent(&flow.cc).map_or(&[][..], |equivalent| equivalent.as_linux);
        settings.iter().any(|(known, setting)| {
            *known == name
                && match (setting, value) {
                    (Setting::Word(word), ParamValue::Word(given)) => given == word,
                    (Setting::AtLeast(least), ParamValue::Number(number)) => number >= least,
                    _ => false,
                }
        })
    };
    let given = flow
        .params
        .iter()
        .find(|(name, value)| !granted(name, value) && !is_usual(flow, name, value));
    given.map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fullpipe_cc::Config;
    use fullpipe_units::Bytes;

    use super::*;

    #[test]
    fn what_stands_for_linux_can_be_written_in_a_scenario() {
        for equivalent in &KERNEL_EQUIVALENTS {
            let descriptor = Registry::default()
                .get(equivalent.ours)
                .expect("a built-in algorithm");
            for (name, setting) in equivalent.as_linux {
                let value = match setting {
                    Setting::Word(word) => ParamValue::Word((*word).to_owned()),
                    Setting::AtLeast(least) => ParamValue::Number(*least),
                };
                let given = BTreeMap::from([((*name).to_owned(), value)]);
                let smss = Bytes::new(1_448);
                let config = Config::new(descriptor, &given, smss, smss * 10);
                assert!(config.is_ok(), "{}: {:?}", equivalent.ours, config.err());
            }
        }
    }
}
