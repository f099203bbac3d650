//! The mapping between the kernel's algorithms and fullpipe's, declared once.

use std::collections::BTreeMap;

use fullpipe_cc::{LINUX as LINUX_PROFILE, ParamValue, Registry};
use fullpipe_scenario::Flow;

/// An algorithm that both the kernel and fullpipe have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelEquivalent {
    /// Name in scenarios, metrics and traces.
    pub ours: &'static str,
    /// Name in the kernel, TCP_CONGESTION.
    pub kernel: &'static str,
    /// Further settings with which fullpipe's algorithm behaves like the kernel's, besides the
    /// profile of Linux.
    as_linux: &'static [(&'static str, Setting)],
    /// Whether the kernel's algorithm paces regardless of the socket's settings.
    pub paces: bool,
    /// Whether the receiver must also run the algorithm, to echo each mark.
    pub both_ends: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Setting {
    Word(&'static str),
    /// A number of at least this size, which is no limit in effect.
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
        as_linux: &[("slow_start", Setting::Word("hystart"))],
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

/// The algorithms of Linux 6.18, each a module tcp_NAME.
pub const LINUX: [&str; 16] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Beginning of the names of fullpipe's own algorithms in the kernel, which `fullpipe kernel load`
/// loads as BPF.
const BPF: &str = "fp_";

/// Algorithms that have a BPF version, each a file of `bpf/`.
const WITH_BPF: [&str; 6] = ["bbr2", "bbr3", "copa", "ledbat++", "newreno", "prague"];

/// Algorithms whose BPF version sets a pacing rate.
const BPF_PACES: [&str; 4] = ["bbr2", "bbr3", "copa", "prague"];

/// Returns whether a parameter asks for the profile of Linux, which BPF versions follow, too.
fn is_profile(name: &str, value: &ParamValue) -> bool {
    name == "profile" && *value == ParamValue::Word(LINUX_PROFILE.to_owned())
}

/// Returns whether an algorithm has a BPF version.
pub(crate) fn has_bpf(cc: &str) -> bool {
    WITH_BPF.contains(&cc)
}

/// Returns the name that fullpipe's own version of an algorithm has in the kernel.
pub fn bpf_name(cc: &str) -> String {
    format!("{BPF}{}", cc.replace('+', "p"))
}

/// Returns the fix for an algorithm that the kernel does not offer, by the kernel's name or fullpipe's.
pub(crate) fn fix_of_missing(name: &str) -> String {
    let listed = "name one that `fullpipe doctor` lists under \"TCP algorithms\"";
    match WITH_BPF
        .iter()
        .find(|known| **known == name || bpf_name(known) == name)
    {
        Some(known) => format!("load it first: fullpipe kernel load {known}; or {listed}"),
        None => listed.to_owned(),
    }
}

/// Returns whether a name in the kernel is that of fullpipe's own version of an algorithm.
pub(crate) fn is_bpf(kernel: &str) -> bool {
    kernel.starts_with(BPF)
}

/// Returns TCP_CONGESTION for the `cc` of a scenario as [`kernel_name`] does, or the name of
/// fullpipe's own version if the kernel offers only that.
pub fn offered_name(cc: &str, offered: &[String]) -> String {
    let offers = |name: &str| offered.iter().any(|known| known == name);
    let (kernel, bpf) = (kernel_name(cc), bpf_name(cc));
    match !offers(kernel) && offers(&bpf) {
        true => bpf,
        false => kernel.to_owned(),
    }
}

/// Returns whether the kernel's version of an algorithm paces regardless of the socket's settings.
pub(crate) fn paces(cc: &str) -> bool {
    kernel_equivalent(cc).is_some_and(|equivalent| equivalent.paces) || BPF_PACES.contains(&cc)
}

/// Returns the parameters of a flow that its BPF version gets: those without their default value.
pub(crate) fn bpf_parameters(flow: &Flow) -> BTreeMap<&str, &ParamValue> {
    let given = flow
        .params
        .iter()
        .filter(|(name, value)| !(is_usual(flow, name, value) || is_profile(name, value)));
    given.map(|(name, value)| (name.as_str(), value)).collect()
}

/// Returns the equivalent of an algorithm, by fullpipe's name or the kernel's.
pub fn kernel_equivalent(name: &str) -> Option<&'static KernelEquivalent> {
    KERNEL_EQUIVALENTS
        .iter()
        .find(|equivalent| equivalent.ours == name || equivalent.kernel == name)
}

/// Returns TCP_CONGESTION for the `cc` of a scenario: the kernel's name of an algorithm that both
/// have, any other name unchanged.
pub fn kernel_name(cc: &str) -> &str {
    kernel_equivalent(cc).map_or(cc, |equivalent| equivalent.kernel)
}

/// Returns whether a parameter has its default value. A resolved scenario writes all defaults out,
/// and is still the same scenario.
fn is_usual(flow: &Flow, name: &str, value: &ParamValue) -> bool {
    let registry = Registry::default();
    let Some(descriptor) = registry.get(&flow.cc) else {
        return false;
    };
    let profile = match flow.params.get("profile") {
        Some(ParamValue::Word(word)) => word,
        _ => descriptor.usual_profile(fullpipe_setup::rules(flow)),
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

/// Returns the first parameter of a flow that the kernel's algorithm does not accept.
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
    let given = flow.params.iter().find(|(name, value)| {
        !(granted(name, value) || is_profile(name, value) || is_usual(flow, name, value))
    });
    given.map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fullpipe_cc::Config;
    use fullpipe_units::Bytes;

    use super::*;

    #[test]
    fn algorithms_with_a_bpf_version_are_those_of_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../bpf");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder")
            .filter_map(|file| file.ok()?.file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(".bpf.c").map(str::to_owned))
            .collect();
        files.sort();
        assert_eq!(
            WITH_BPF.map(|name| name.replace('+', "p")).as_slice(),
            files
        );
    }

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
