//! Reading a scenario from text and writing it back. Each stage has its own module.

use crate::error::Error;
use crate::model::Scenario;
use crate::raw;
use crate::template::Template;

/// Characters of the longest title.
const LONGEST_TITLE: usize = 200;

impl Scenario {
    /// Reads a scenario. Errors refer to the text as `file`.
    pub fn parse(text: &str, file: &str) -> Result<Scenario, Error> {
        Scenario::parse_with(text, file, &[], None)
    }

    /// Reads a scenario after replacing values in it: first with each `(key, value)` of
    /// `overrides`, like `("flow.0.cc", "bbr1")`, then with `seed`.
    pub fn parse_with(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        seed: Option<u64>,
    ) -> Result<Scenario, Error> {
        Scenario::of(Template::read(text, file)?, overrides, seed)
    }

    /// Returns the scenario of a template after replacing values in it: first with each `(key,
    /// value)` of `overrides`, then with `seed`.
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

    /// Returns the text of a file that reads back as this scenario, with every default written out
    /// and one table per flow.
    ///
    /// The text also contains the values of a profile; a comment names the profile. A text that is
    /// written and read is written the same again.
    ///
    /// Parameters and receive windows that are not given are omitted, since their defaults depend
    /// on the algorithm and the path.
    pub fn to_toml(&self) -> String {
        let keys = toml::to_string(&raw::Scenario::from(self))
            .expect("all keys are text and all numbers fit");
        let profile = self
            .profile
            .iter()
            .map(|profile| format!("The path is the profile {}.", profile.name));
        let comment = self.comment.iter().cloned().chain(profile);
        comment
            .map(|line| format!("# {line}\n"))
            .chain([keys])
            .collect()
    }

    /// Returns the begin of the first line of the file's comment, which tables and pictures have room for; `None`
    /// without a comment.
    pub fn title(&self) -> Option<&str> {
        let line = self.comment.first()?;
        let end = line.char_indices().nth(LONGEST_TITLE);
        Some(&line[..end.map_or(line.len(), |(at, _)| at)])
    }
}
