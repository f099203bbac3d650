//! Scenario templates: a text that is read once and made into many scenarios.

use std::sync::Arc;

use toml::{Table, Value as Toml};

use crate::error::Error;
use crate::model::Scenario;
use crate::source::Source;
use crate::sweep::{self, Sweep};
use crate::workload::{Library, NoLibrary};
use crate::{overrides, profile, raw, resolve, validate_keys};

/// The text of a scenario, parsed but not yet checked, so that a sweep reads it only once.
#[derive(Clone, Debug)]
pub struct Template {
    comment: Vec<String>,
    source: Source,
    table: Table,
    sweep: Sweep,
    overrides: Vec<(String, String)>,
    seed: Option<u64>,
    library: Arc<dyn Library>,
}

impl Template {
    /// Reads the text. Errors refer to it as `file`.
    pub fn read(text: &str, file: &str) -> Result<Template, Error> {
        let (source, mut table) = Source::read(text, file)?;
        let sweep = sweep::take(&mut table, &source)?;
        Ok(Template {
            comment: comment(text),
            source,
            table,
            sweep,
            overrides: Vec::new(),
            seed: None,
            library: Arc::new(NoLibrary),
        })
    }

    /// Returns the template with a library to read the files of flows that its workloads name.
    #[must_use]
    pub fn with_library(self, library: Arc<dyn Library>) -> Template {
        Template { library, ..self }
    }

    /// Returns its `[sweep]` table.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Returns the names of algorithms that its flows, its workloads and its `[sweep]` have, as they
    /// are written.
    pub fn algorithms(&self) -> Vec<&str> {
        let flows = ["flow", "workload"].map(|name| self.table.get(name).and_then(Toml::as_array));
        let written = flows.into_iter().flatten().flatten();
        let varied = self
            .sweep
            .axes
            .iter()
            .filter(|(key, _)| key.ends_with(".cc"));
        written
            .filter_map(|flow| flow.get("cc")?.as_str())
            .chain(varied.flat_map(|(_, values)| values.iter().map(String::as_str)))
            .collect()
    }

    /// Sets `key` to the value in `text`, as if it had been written in the file.
    pub fn set(&mut self, key: &str, text: &str) {
        self.overrides.push((key.to_owned(), text.to_owned()));
    }

    /// Sets the seed.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = Some(seed);
    }

    /// Returns the seed. Invalid values are ignored; the default is 1.
    pub fn seed(&self) -> u64 {
        let written = self
            .table
            .get("seed")
            .and_then(Toml::as_integer)
            .and_then(|seed| u64::try_from(seed).ok());
        let set = self
            .overrides
            .iter()
            .rev()
            .find(|(key, _)| key == "seed")
            .and_then(|(_, seed)| seed.parse().ok());
        self.seed.or(set).or(written).unwrap_or(1)
    }

    /// Returns the scenario, with every value checked and every default filled in.
    pub fn scenario(&self) -> Result<Scenario, Error> {
        let (mut source, mut table) = (self.source.clone(), self.table.clone());
        // The profile comes first, so that all other overrides modify it.
        let (profiles, others): (Vec<_>, Vec<_>) = self
            .overrides
            .iter()
            .partition(|(key, _)| [profile::KEY, profile::KIND].contains(&key.as_str()));
        if let Some((key, name)) = profiles.last() {
            profile::replace_path(&mut table, &mut source, key, name);
        }
        let profile = profile::expand(&mut table, &mut source)?;
        for (key, value) in others {
            overrides::set(&mut table, &mut source, key, value)?;
        }
        if let Some(seed) = self.seed {
            overrides::set_seed(&mut table, &mut source, seed);
        }
        profile::trim(&mut table, &source);
        let applied = profile.map(|profile| profile::applied(profile, &mut table, &source));
        // If the file sets every key of the profile, the profile provides no value.
        let applied = applied.filter(|applied| !applied.values.is_empty());
        validate_keys::check(&table, &source)?;
        let raw: raw::Scenario = table
            .try_into()
            .expect("a table of this shape has every field, and leaves take all");
        let mut scenario =
            resolve::resolve(&raw, source, self.comment.clone(), applied, &*self.library)?;
        // An override may have renamed the flow of a condition; such a condition is dropped.
        if !self.overrides.is_empty() && self.overrides.iter().all(|(key, _)| key != "expect") {
            scenario.forget_what_is_not_there();
        }
        scenario.expectations()?;
        Ok(scenario)
    }

    /// Returns an error about `key`, at the place where it was written.
    pub fn error(
        &self,
        key: &str,
        value: &str,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Error {
        self.source.error(key, value, problem, fix)
    }
}

impl Scenario {
    /// Adds jitter that makes repetitions differ, unless the scenario sets it: `start_jitter` of
    /// one RTT if there is a `[[flow]]`, and `send_jitter` of one packet's transmission time at the
    /// bottleneck. Returns the jitter that was added, by key.
    pub fn add_jitter(&mut self) -> Vec<(&'static str, fullpipe_units::Span)> {
        let latest = self.flows.iter().map(|flow| flow.start).max();
        let start = latest.map_or(fullpipe_units::Span::ZERO, |latest| {
            self.path.rtt.min(self.duration.saturating_sub(latest))
        });
        let send = self.path.link.rate.time_for(self.packet);
        let mut added = Vec::new();
        for (key, jitter, most) in [
            ("start_jitter", &mut self.start_jitter, start),
            ("send_jitter", &mut self.send_jitter, send),
        ] {
            if !self.written.0.has(key) && most > fullpipe_units::Span::ZERO {
                *jitter = most;
                added.push((key, most));
            }
        }
        added
    }
}

/// Returns a value of the file as text for `--set`.
pub(crate) fn as_override(value: &Toml) -> String {
    match value {
        // Text that would read as a number without its quotes keeps them.
        Toml::String(text) if overrides::literal(text, false) == *value => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the non-empty comment lines at the top of the file.
fn comment(text: &str) -> Vec<String> {
    text.trim_start_matches('\u{feff}')
        .lines()
        .map_while(|line| match line.trim() {
            "" => Some(""),
            line => line.strip_prefix('#').map(str::trim),
        })
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}
