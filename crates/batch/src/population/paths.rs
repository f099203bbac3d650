//! A population: its classes of paths, its arms, and the draw of any path.

use std::collections::{BTreeMap, BTreeSet};

use fullpipe_scenario::{Error, Scenario, Template};
use fullpipe_units::Rng;
use toml::Table;

use super::class::{Class, Draw};
use super::draw::Distribution;
use super::reader::Reader;
use super::run::Arm;

/// The built-in populations: name and text.
pub const PRESETS: [(&str, &str); 1] =
    [("edge-2019", include_str!("../../presets/edge-2019.toml"))];

/// A population from which paths are drawn.
#[derive(Debug)]
pub struct Population {
    /// The text, for the lines in errors.
    source: Template,
    title: String,
    classes: Vec<Class>,
    arms: BTreeMap<String, Arm>,
}

/// A path, drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn<'a> {
    /// Class of the path.
    pub class: &'a str,
    /// Drawn settings: keys of a scenario with their values, as `--set` takes them.
    pub settings: Vec<(&'a str, String)>,
    /// Seed of the runs on the path.
    pub seed: u64,
}

impl Population {
    /// Reads a population from `text`; errors call it `file`. `set` replaces the distributions of
    /// these keys of the scenario in all classes.
    ///
    /// # Errors If the text is wrong.
    pub fn read(text: &str, file: &str, set: &[(String, String)]) -> Result<Population, Error> {
        let source = Template::read(text, file)?;
        let table: Table = toml::from_str(text).expect("the text was parsed before");
        let reader = Reader::new(&source, file, &table)?;
        let mut classes = reader.classes(&table)?;
        for (key, text) in set {
            draw_instead(&mut classes, key, text, &source)?;
        }
        let arms = reader.arms(&table)?;
        let title = reader.text(&table, "", "title")?.to_owned();
        let population = Population {
            source: source.clone(),
            title,
            classes,
            arms,
        };
        population.check()?;
        Ok(population)
    }

    /// Returns a title of one line.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the arm of this name in the file, otherwise the algorithm of this name.
    pub fn arm(&self, name: &str) -> Arm {
        self.arms
            .get(name)
            .cloned()
            .unwrap_or_else(|| Arm::new(name))
    }

    /// Builds an error about a key of the file.
    pub(crate) fn error(
        &self,
        key: &str,
        value: &str,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Error {
        self.source.error(key, value, problem, fix)
    }

    /// Returns the keys that are drawn in any class.
    pub(crate) fn keys(&self) -> BTreeSet<&str> {
        self.classes
            .iter()
            .flat_map(|class| class.draws.keys().map(String::as_str))
            .collect()
    }

    /// Draws the path with number `path`.
    pub fn draw(&self, seed: u64, path: u64) -> Drawn<'_> {
        let name = format!("path {path}");
        let class = self.class(Rng::stream(seed, &name, "class").unit());
        Drawn {
            class: &class.name,
            settings: class.settings(|key| Rng::stream(seed, &name, key)),
            // A number of 52 bits, which every program that reads numbers can represent.
            seed: Rng::stream(seed, &name, "run").next_u64() >> 12,
        }
    }

    /// Returns the scenario of a drawn path.
    ///
    /// # Errors If the drawn values do not make a valid scenario. Reading the population tries the
    /// ends of each range, so only a combination of values can fail.
    pub fn scenario(&self, drawn: &Drawn<'_>) -> Result<Scenario, Error> {
        let class = self
            .classes
            .iter()
            .find(|class| class.name == drawn.class)
            .expect("drawn from this population");
        class.scenario(
            drawn
                .settings
                .iter()
                .map(|(key, value)| (*key, value.as_str())),
            drawn.seed,
        )
    }

    fn class(&self, at: f64) -> &Class {
        let mut sum = 0.0;
        let chosen = self.classes.iter().find(|class| {
            sum += class.share;
            at < sum
        });
        chosen
            .or(self.classes.last())
            .expect("there is at least one class")
    }

    /// Builds a scenario for each end of each range, with the other values drawn.
    fn check(&self) -> Result<(), Error> {
        for class in &self.classes {
            let usual = class.settings(|key| Rng::stream(0, &class.name, key));
            self.refuse_of_arm(&usual)?;
            for (key, draw) in &class.draws {
                for end in draw.from.ends() {
                    let mut settings = usual.clone();
                    settings
                        .iter_mut()
                        .filter(|(at, _)| *at == key)
                        .for_each(|(_, text)| text.clone_from(&end));
                    class.hold_some(&mut settings);
                    class.scenario(
                        settings.iter().map(|(key, value)| (*key, value.as_str())),
                        1,
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Refuses values of keys that each arm sets for the download.
    fn refuse_of_arm(&self, settings: &[(&str, String)]) -> Result<(), Error> {
        for (key, value) in settings {
            let fix = match key.strip_prefix("flow.0.params.") {
                Some(param) => format!("write it behind an arm's name: --cc NAME:{param}={value}"),
                None if *key == "flow.0.cc" => format!("name it as an arm: --cc {value}"),
                None => continue,
            };
            let problem = "the arms have the algorithm of the download, and its parameters";
            return Err(self.source.error(key, &format!("{value:?}"), problem, fix));
        }
        Ok(())
    }
}

/// Replaces the distribution of a key in all classes.
fn draw_instead(
    classes: &mut [Class],
    key: &str,
    text: &str,
    source: &Template,
) -> Result<(), Error> {
    let read = Distribution::read(&[(1.0, text)]);
    let fix = "give one value, or a text with ranges in braces: {1ms..20ms log}";
    let from = read.map_err(|problem| source.error(key, &format!("{text:?}"), problem, fix))?;
    for class in classes {
        let least = class.draws.get(key).and_then(|draw| draw.least);
        let draw = Draw {
            from: from.clone(),
            least,
        };
        class.draws.insert(key.to_owned(), draw);
    }
    Ok(())
}
