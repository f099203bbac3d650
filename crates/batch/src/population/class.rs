//! The paths of one class: what they have in common, and what each value is drawn from.

use std::collections::BTreeMap;

use crate::quantity;
use fullpipe_scenario::{Error, Scenario, Template};
use fullpipe_units::Rng;
use toml::{Table, Value as Toml};

use super::draw::Distribution;

pub(super) const BUFFER: &str = "path.buffer";

/// Paths of one kind.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) share: f64,
    template: Template,
    /// The path that the template has, for what is not drawn.
    path: Table,
    pub(super) draws: Draws,
}

/// What is drawn, by the scenario's key.
pub(super) type Draws = BTreeMap<String, Draw>;

#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub(super) from: Distribution,
    /// The least packets of a buffer that is given in BDP.
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
        let table: Table = toml::from_str(text).expect("it was read before");
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

    /// A buffer in BDP of a small one may be less than a packet: then it is what it is to hold at
    /// least.
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
