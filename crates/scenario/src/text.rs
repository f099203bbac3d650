//! A scenario from its text and back: each stage has a file of its own.

use crate::error::Error;
use crate::model::Scenario;
use crate::raw;
use crate::template::Template;

impl Scenario {
    /// Reads a scenario. `file` is what errors call it.
    pub fn parse(text: &str, file: &str) -> Result<Scenario, Error> {
        Scenario::parse_with(text, file, &[], None)
    }

    /// Reads a scenario as if each `(key, value)` of `overrides`, like `("flow.0.cc", "bbr1")`, and
    /// then `seed` stood in it instead of what does.
    pub fn parse_with(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        seed: Option<u64>,
    ) -> Result<Scenario, Error> {
        Scenario::of(Template::read(text, file)?, overrides, seed)
    }

    /// The same of a template.
    pub fn of(
        mut template: Template,
        overrides: &[(String, String)],
        seed: Option<u64>,
    ) -> Result<Scenario, Error> {
        for (key, value) in overrides {
            template.set(key, value);
        }
        if let Some(seed) = seed {
            template.set_seed(seed);
        }
        template.scenario()
    }

    /// The scenario as a file that reads as this one, with every default written out and every flow
    /// by itself.
    ///
    /// A profile is written out, too, and only named in a comment.
    ///
    /// Parameters and receive windows that are not given stay so: their defaults follow algorithm
    /// and path.
    pub fn to_toml(&self) -> String {
        let keys = toml::to_string(&raw::Scenario::from(self))
            .expect("all keys are text and all numbers fit");
        let title = self.title.iter().map(|title| format!("# {title}\n"));
        let profile = self
            .profile
            .iter()
            .map(|profile| format!("# The path is that of the profile {}.\n", profile.name));
        title.chain(profile).chain([keys]).collect()
    }
}
