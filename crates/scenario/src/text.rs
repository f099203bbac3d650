//! A scenario from its text and back: each stage has a file of its own.

use crate::error::Error;
use crate::model::Scenario;
use crate::source::Source;
use crate::{overrides, profile, raw, resolve, shape};

impl Scenario {
    /// Reads a scenario. `file` is what errors call it.
    pub fn parse(text: &str, file: &str) -> Result<Scenario, Error> {
        Scenario::parse_with(text, file, &[], None)
    }

    /// Reads a scenario as if each `(key, value)` of `overrides`, like `("flow.0.cc", "bbr1")`, and then `seed` stood
    /// in it instead of what does.
    pub fn parse_with(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        seed: Option<u64>,
    ) -> Result<Scenario, Error> {
        let (mut source, mut table) = Source::read(text, file)?;
        // The profile first, so that every other override is one of it.
        let (profiles, others): (Vec<_>, Vec<_>) = overrides.iter().partition(|(key, _)| key == profile::KEY);
        if let Some((_, name)) = profiles.last() {
            profile::replace_path(&mut table, &mut source, name);
        }
        let profile = profile::expand(&mut table, &mut source)?;
        for (key, value) in others {
            overrides::set(&mut table, &mut source, key, value)?;
        }
        if let Some(seed) = seed {
            overrides::set_seed(&mut table, &mut source, seed);
        }
        profile::trim(&mut table, &source);
        let applied = profile.map(|profile| profile::applied(profile, &mut table, &source));
        shape::check(&table, &source)?;
        let raw: raw::Scenario = table.try_into().expect("a table of this shape has every field, and leaves take all");
        resolve::resolve(&raw, source, title(text), applied)
    }

    /// The scenario as a file that reads as this one, with every default written out and every flow by itself.
    ///
    /// A profile is written out, too, and only named in a comment.
    ///
    /// Parameters and receive windows that are not given stay so: their defaults follow algorithm and path.
    pub fn to_toml(&self) -> String {
        let keys = toml::to_string(&raw::Scenario::from(self)).expect("all keys are text and all numbers fit");
        let title = self.title.iter().map(|title| format!("# {title}\n"));
        let profile =
            self.profile.iter().map(|profile| format!("# The path is that of the profile {}.\n", profile.name));
        title.chain(profile).chain([keys]).collect()
    }
}

/// The first line of text among the comments at the top.
fn title(text: &str) -> Option<String> {
    text.trim_start_matches('\u{feff}')
        .lines()
        .map_while(|line| match line.trim() {
            "" => Some(""),
            line => line.strip_prefix('#').map(str::trim),
        })
        .find(|line| !line.is_empty())
        .map(str::to_owned)
}
