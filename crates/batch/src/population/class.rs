//! The paths of one class: their common scenario, and the distributions of their values.

use std::collections::BTreeMap;

use crate::quantity;
use fullpipe_scenario::{Error, Scenario, Template};
use fullpipe_units::Rng;
use toml::{Table, Value as Toml};

use super::draw::Distribution;

pub(super) const BUFFER: &str = "path.buffer";

/// A class of paths.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) share: f64,
    template: Template,
    /// The template's path, for values that are not drawn.
    path: Table,
    pub(super) draws: Draws,
}

/// Distributions by the scenario's key.
pub(super) type Draws = BTreeMap<String, Draw>;

#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub(super) from: Distribution,
    /// Minimum size in packets of a buffer given in BDP.
    pub(super) least: Option<f64>,
}

impl Class {
    pub(super) fn new(
        name: &str,
        share: f64,
        (text, file): (&str, &str),
        draws: Draws,
    ) -> Result<Class, Error> {
        let template = Template::read(text, file)?;
        let table: Table = toml::from_str(text).expect("the text was parsed before");
        let path = table
            .get("path")
            .and_then(Toml::as_table)
            .cloned()
            .unwrap_or_default();
        Ok(Class {
            name: name.to_owned(),
            share,
            template,
            path,
            draws,
        })
    }

    pub(super) fn settings(&self, stream: impl Fn(&str) -> Rng) -> Vec<(&str, String)> {
        let drawn = self
            .draws
            .iter()
            .map(|(key, draw)| (key.as_str(), draw.from.draw(&mut stream(key))));
        let mut settings = drawn.collect();
        self.hold_some(&mut settings);
        settings
    }

    /// Raises a buffer in BDP to its minimum: with a small BDP it could be less than a packet.
    pub(super) fn hold_some(&self, settings: &mut Vec<(&str, String)>) {
        let Some(least) = self.draws.get(BUFFER).and_then(|draw| draw.least) else {
            return;
        };
        let value = |name: &str| {
            let drawn = settings
                .iter()
                .find(|(key, _)| key.strip_prefix("path.") == Some(name));
            let text = drawn
                .map(|(_, text)| text.as_str())
                .or_else(|| self.path.get(name)?.as_str());
            text.and_then(quantity)
        };
        let (Some(rate), Some(rtt), Some(buffer)) = (value("rate"), value("rtt"), value("buffer"))
        else {
            return;
        };
        let packets =
            buffer.value * rate.value * rtt.value / (8.0 * fullpipe_scenario::PACKET.as_f64());
        if buffer.unit == "bdp" && packets < least {
            let held = settings.iter_mut().filter(|(key, _)| *key == BUFFER);
            held.for_each(|(_, text)| *text = format!("{least}packets"));
        }
    }

    pub(super) fn scenario<'a>(
        &self,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
        seed: u64,
    ) -> Result<Scenario, Error> {
        let mut template = self.template.clone();
        for (key, value) in settings {
            template.set(key, value);
        }
        template.set_seed(seed);
        template
            .scenario()
            .map_err(|error| error.within(format!("a path of class {}", self.name)))
    }
}
