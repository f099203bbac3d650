//! Programs as flows: a transfer that a user's own programs make, instead of a TCP of the runner.

use std::collections::BTreeMap;

use fullpipe_units::ParamValue;

use crate::model::Flow;

/// Beginning of a `cc` that names a recipe of programs: `program:iperf3`, or `program:iperf3:bbr`
/// with the value of the recipe's parameter `cc`.
const PREFIX: &str = "program:";

/// The recipe's parameter that names its congestion control.
const CC: &str = "cc";

/// Fix of an error about a program on a runner that runs none: it names the runners that do.
pub const PROGRAM_FIX: &str =
    "run it with --on kernel, uml or uml-emulator, or name an algorithm of a [[flow]]";

/// The two programs of a flow. A recipe that ships with fullpipe has their command lines, or the
/// scenario does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of the recipe; `None` with command lines.
    pub recipe: Option<String>,
    /// Command line of the program that sends the data.
    pub server: Option<String>,
    /// Command line of the program that takes it.
    pub client: Option<String>,
    /// Pattern of the names of files to keep with the results.
    pub qlog: Option<String>,
}

/// Whether text is the name of a recipe, or of a value of its parameter `cc`.
fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Returns the recipe, and the value of its parameter `cc`, in the `cc` of a flow.
pub(crate) fn of_cc(cc: &str) -> Option<(&str, Option<&str>)> {
    let rest = cc.strip_prefix(PREFIX)?;
    Some(match rest.split_once(':') {
        Some((recipe, choice)) => (recipe, Some(choice)),
        None => (rest, None),
    })
}

/// Whether the `cc` of a flow names a recipe in the right form; `None` if it names none.
pub(crate) fn is_well_formed(cc: &str) -> Option<bool> {
    let (recipe, choice) = of_cc(cc)?;
    Some(is_word(recipe) && choice.is_none_or(is_word))
}

/// Returns the name of a flow whose `cc` names a recipe.
pub(crate) fn short(cc: &str) -> Option<String> {
    of_cc(cc).map(|(recipe, choice)| match choice {
        Some(choice) => format!("{recipe}-{choice}"),
        None => recipe.to_owned(),
    })
}

/// Returns the program that the `cc` of a flow names, and its parameters.
pub(crate) fn named(
    cc: &str,
    params: &BTreeMap<String, ParamValue>,
) -> Option<(Program, BTreeMap<String, ParamValue>)> {
    let (recipe, choice) = of_cc(cc)?;
    let mut params = params.clone();
    if let Some(choice) = choice {
        let usual = || ParamValue::Word(choice.to_owned());
        params.entry(CC.to_owned()).or_insert_with(usual);
    }
    let program = Program {
        recipe: Some(recipe.to_owned()),
        server: None,
        client: None,
        qlog: None,
    };
    Some((program, params))
}

impl Flow {
    /// Returns the recipe that the `cc` names, as in `program:iperf3:bbr`.
    pub fn recipe_of_cc(&self) -> Option<&str> {
        of_cc(&self.cc).map(|(recipe, _)| recipe)
    }

    /// Returns the key that makes the flow a program, with its value, for errors.
    pub fn program_key(&self) -> Option<(String, String)> {
        let program = self.program.as_ref()?;
        if self.cc.starts_with(PREFIX) {
            return Some((self.key("cc"), format!("{:?}", self.cc)));
        }
        let (name, value) = match (&program.recipe, &program.server) {
            (Some(recipe), _) => ("use", recipe),
            (None, Some(server)) => ("server", server),
            (None, None) => ("name", &self.name),
        };
        Some((self.key(name), format!("{value:?}")))
    }
}
