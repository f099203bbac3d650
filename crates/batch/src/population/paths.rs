//! The file of a population: what its paths have in common, its classes, and what each value is
//! drawn from.

use std::collections::{BTreeMap, BTreeSet};

use crate::quantity;
use fullpipe_scenario::{Error, OUR_CHOICE, Scenario, Template};
use fullpipe_units::{Rng, nearest};
use toml::{Table, Value as Toml};

use super::draw::Distribution;
use super::run::Arm;

/// The populations that come with the program: name and text.
pub const PRESETS: [(&str, &str); 1] =
    [("edge-2019", include_str!("../../presets/edge-2019.toml"))];

const KEYS: [&str; 7] = [
    "title",
    "about",
    "references",
    "scenario",
    "draw",
    "class",
    "arm",
];

const BUFFER: &str = "path.buffer";

/// What paths are drawn from.
#[derive(Debug)]
pub struct Population {
    /// The text, to say where an error is.
    source: Template,
    title: String,
    classes: Vec<Class>,
    arms: BTreeMap<String, Arm>,
}

/// Paths of one kind.
#[derive(Debug)]
struct Class {
    name: String,
    share: f64,
    template: Template,
    /// The path that the template has, for what is not drawn.
    path: Table,
    draws: Draws,
}

/// What is drawn, by the scenario's key.
type Draws = BTreeMap<String, Draw>;

#[derive(Clone, Debug)]
struct Draw {
    from: Distribution,
    /// Of a buffer in BDP: so many packets it holds at least, however small the BDP.
    least: Option<f64>,
}

/// A path, drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn<'a> {
    /// Its class.
    pub class: &'a str,
    /// What was drawn: keys of a scenario with their values, as `--set` takes them.
    pub settings: Vec<(&'a str, String)>,
    /// The seed of its runs.
    pub seed: u64,
}

impl Population {
    /// Reads the text, which errors call `file`; `set` has keys of the scenario with what is to be
    /// drawn instead, in all classes.
    ///
    /// # Errors
    /// When something in it is wrong.
    pub fn read(text: &str, file: &str, set: &[(String, String)]) -> Result<Population, Error> {
        let source = Template::read(text, file)?;
        let table: Table = toml::from_str(text).expect("it was read before");
        let reader = Reader {
            source: &source,
            file,
            references: references(&table),
        };
        reader.only(&table, "", &KEYS)?;
        let common = reader.text(&table, "", "scenario")?;
        let mut draws = BTreeMap::new();
        if let Some(all) = reader.table(&table, "", "draw")? {
            reader.draws(all, "draw", "", &mut draws)?;
        }
        let mut classes = Vec::new();
        for (name, value) in reader.table(&table, "", "class")?.unwrap_or(&Table::new()) {
            classes.push(reader.class(name, value, common, &draws)?);
        }
        if classes.is_empty() {
            classes.push(Class::new(
                "all",
                1.0,
                (common, &format!("{file}, scenario")),
                draws,
            )?);
        }
        let sum: f64 = classes.iter().map(|class| class.share).sum();
        if (sum - 1.0).abs() > 1e-9 {
            let problem = format!("the shares of the classes come to {sum}, not to 1");
            return Err(source.error(
                "class",
                "",
                problem,
                "let share of all classes together be 1",
            ));
        }
        for (key, text) in set {
            let read = Distribution::read(&[(1.0, text)]);
            let fix = "give one value, or one with ranges in braces: {1ms..20ms log}";
            let draw =
                read.map_err(|problem| source.error(key, &format!("{text:?}"), problem, fix))?;
            for class in &mut classes {
                let least = class.draws.get(key).and_then(|draw| draw.least);
                class.draws.insert(
                    key.clone(),
                    Draw {
                        from: draw.clone(),
                        least,
                    },
                );
            }
        }
        let mut arms = BTreeMap::new();
        for (name, value) in reader.table(&table, "", "arm")?.unwrap_or(&Table::new()) {
            arms.insert(name.clone(), reader.arm(name, value)?);
        }
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

    /// What it is, in one line.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The arm of that name: the file's, or an algorithm by itself.
    pub fn arm(&self, name: &str) -> Arm {
        self.arms
            .get(name)
            .cloned()
            .unwrap_or_else(|| Arm::new(name))
    }

    /// An error about a key of the file.
    pub(crate) fn error(
        &self,
        key: &str,
        value: &str,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Error {
        self.source.error(key, value, problem, fix)
    }

    /// What is drawn of the paths of any class.
    pub(crate) fn keys(&self) -> BTreeSet<&str> {
        self.classes
            .iter()
            .flat_map(|class| class.draws.keys().map(String::as_str))
            .collect()
    }

    /// The path of that number.
    pub fn draw(&self, seed: u64, path: u64) -> Drawn<'_> {
        let name = format!("path {path}");
        let class = self.class(Rng::stream(seed, &name, "class").unit());
        Drawn {
            class: &class.name,
            settings: class.settings(|key| Rng::stream(seed, &name, key)),
            // Of 52 bits, which every program that reads numbers can hold.
            seed: Rng::stream(seed, &name, "run").next_u64() >> 12,
        }
    }

    /// The scenario of a path that was drawn.
    ///
    /// # Errors
    /// When it is none. The ends of all ranges have been tried one by one, so that takes an unlucky
    /// combination.
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
            .expect("there is one at least")
    }

    /// Makes a scenario of each end of each range, with the others as they are drawn first.
    fn check(&self) -> Result<(), Error> {
        for class in &self.classes {
            let usual = class.settings(|key| Rng::stream(0, &class.name, key));
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
}

impl Class {
    fn new(
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

    fn settings(&self, stream: impl Fn(&str) -> Rng) -> Vec<(&str, String)> {
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
    fn hold_some(&self, settings: &mut Vec<(&str, String)>) {
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

    fn scenario<'a>(
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

fn references(table: &Table) -> Vec<String> {
    table
        .get("references")
        .and_then(Toml::as_table)
        .map_or(Vec::new(), |known| known.keys().cloned().collect())
}

struct Reader<'a> {
    source: &'a Template,
    file: &'a str,
    references: Vec<String>,
}

impl Reader<'_> {
    fn class(&self, name: &str, value: &Toml, common: &str, draws: &Draws) -> Result<Class, Error> {
        let at = format!("class.{name}");
        let table = value
            .as_table()
            .ok_or_else(|| self.refuse(&at, value, "not a table", "write [class.NAME]"))?;
        self.only(table, &at, &["share", "source", "why", "scenario", "draw"])?;
        self.sourced(table, &at)?;
        let share = table
            .get("share")
            .and_then(number)
            .filter(|share| (0.0..=1.0).contains(share));
        let Some(share) = share else {
            let problem = "its part of all paths is to be here";
            return Err(self.source.error(
                &format!("{at}.share"),
                "",
                problem,
                "give a number from 0 to 1",
            ));
        };
        let (own, at_own) = match table.contains_key("scenario") {
            true => (
                self.text(table, &at, "scenario")?,
                format!("{}, {at}.scenario", self.file),
            ),
            false => (common, format!("{}, scenario", self.file)),
        };
        let mut draws = draws.clone();
        if let Some(more) = self.table(table, &at, "draw")? {
            self.draws(more, &format!("{at}.draw"), "", &mut draws)?;
        }
        Class::new(name, share, (own, &at_own), draws)
    }

    /// What is drawn: tables with a value, by the scenario's keys.
    fn draws(&self, table: &Table, at: &str, key: &str, into: &mut Draws) -> Result<(), Error> {
        for (name, value) in table {
            let (at, key) = (join(at, name), join(key, name));
            let fix = "write a table of the key, with value, source and why";
            let inner = value
                .as_table()
                .ok_or_else(|| self.refuse(&at, value, "not a table", fix))?;
            if !inner.contains_key("value") {
                self.draws(inner, &at, &key, into)?;
                continue;
            }
            self.only(inner, &at, &["value", "least", "source", "why"])?;
            self.sourced(inner, &at)?;
            let from = self.distribution(&inner["value"], &format!("{at}.value"))?;
            into.insert(
                key.clone(),
                Draw {
                    from,
                    least: self.least(inner, &at, &key)?,
                },
            );
        }
        Ok(())
    }

    fn least(&self, table: &Table, at: &str, key: &str) -> Result<Option<f64>, Error> {
        let Some(value) = table.get("least") else {
            return Ok(None);
        };
        let at = format!("{at}.least");
        if key != BUFFER {
            return Err(self.refuse(
                &at,
                value,
                &format!("only {BUFFER} holds at least so much"),
                "leave it out",
            ));
        }
        let packets = value
            .as_str()
            .and_then(quantity)
            .filter(|least| least.unit == "packets" && least.value >= 1.0);
        let fix = "write \"10packets\" or so";
        packets
            .map(|least| Some(least.value))
            .ok_or_else(|| self.refuse(&at, value, "no number of packets", fix))
    }

    fn distribution(&self, value: &Toml, at: &str) -> Result<Distribution, Error> {
        let fix =
            "write \"TEXT\", or [[SHARE, \"TEXT\"], …], with ranges in braces: \"{1ms..20ms log}\"";
        let part = |part: &Toml| match part.as_array().map(Vec::as_slice) {
            Some([share, Toml::String(text)]) => Some((number(share)?, text.clone())),
            _ => None,
        };
        let parts: Option<Vec<(f64, String)>> = match value {
            Toml::String(text) => Some(vec![(1.0, text.clone())]),
            Toml::Array(parts) if !parts.is_empty() => parts.iter().map(part).collect(),
            _ => None,
        };
        let Some(parts) = parts else {
            return Err(self.refuse(at, value, "no value to draw", fix));
        };
        let parts: Vec<(f64, &str)> = parts
            .iter()
            .map(|(share, text)| (*share, text.as_str()))
            .collect();
        Distribution::read(&parts).map_err(|problem| self.refuse(at, value, &problem, fix))
    }

    fn arm(&self, name: &str, value: &Toml) -> Result<Arm, Error> {
        let at = format!("arm.{name}");
        let fix = "write a table with cc, and params if there are some";
        let table = value
            .as_table()
            .ok_or_else(|| self.refuse(&at, value, "not a table", fix))?;
        self.only(table, &at, &["cc", "params", "why"])?;
        let mut arm = Arm::new(self.text(table, &at, "cc")?);
        arm.name = name.to_owned();
        for (param, value) in self.table(table, &at, "params")?.unwrap_or(&Table::new()) {
            let set = match value {
                Toml::Boolean(flag) => fullpipe_scenario::ParamValue::Flag(*flag),
                Toml::String(word) => fullpipe_scenario::ParamValue::Word(word.clone()),
                other => fullpipe_scenario::ParamValue::Number(number(other).ok_or_else(|| {
                    self.refuse(
                        &format!("{at}.params.{param}"),
                        other,
                        "no parameter",
                        "give a number, true or a word",
                    )
                })?),
            };
            arm.params.insert(param.clone(), set);
        }
        Ok(arm)
    }

    /// Every choice has a source that is listed, or is ours; and a reason.
    fn sourced(&self, table: &Table, at: &str) -> Result<(), Error> {
        self.text(table, at, "why")?;
        let source = self.text(table, at, "source")?;
        let known =
            |name: &str| name == OUR_CHOICE || self.references.iter().any(|known| known == name);
        match source.split(';').map(str::trim).find(|name| !known(name)) {
            None => Ok(()),
            Some(name) => Err(self.source.error(
                &format!("{at}.source"),
                &format!("{source:?}"),
                format!("{name:?} is not among the references"),
                format!("add it to [references], or write {OUR_CHOICE:?}"),
            )),
        }
    }

    fn only(&self, table: &Table, at: &str, known: &[&str]) -> Result<(), Error> {
        match table.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some((key, value)) => {
                let meant = nearest(key, known).map(|key| format!("did you mean {key}?"));
                let fix = meant.unwrap_or_else(|| format!("there are {}", known.join(", ")));
                Err(self.refuse(&join(at, key), value, "unknown key", &fix))
            }
        }
    }

    fn text<'t>(&self, table: &'t Table, at: &str, key: &str) -> Result<&'t str, Error> {
        match table.get(key) {
            Some(Toml::String(text)) => Ok(text),
            Some(other) => {
                Err(self.refuse(&join(at, key), other, "not a text", "write it in quotes"))
            }
            None => {
                let fix = format!("add {key} = \"…\"");
                Err(self
                    .source
                    .error(&join(at, key), "", "this has to be there", fix))
            }
        }
    }

    fn table<'t>(&self, table: &'t Table, at: &str, key: &str) -> Result<Option<&'t Table>, Error> {
        match table.get(key) {
            None => Ok(None),
            Some(Toml::Table(inner)) => Ok(Some(inner)),
            Some(other) => Err(self.refuse(
                &join(at, key),
                other,
                "not a table",
                &format!("write [{}]", join(at, key)),
            )),
        }
    }

    fn refuse(&self, key: &str, value: &Toml, problem: &str, fix: &str) -> Error {
        let shown = match value {
            Toml::Array(_) => "[…]".to_owned(),
            Toml::Table(_) => "{…}".to_owned(),
            Toml::String(text) => format!("{text:?}"),
            other => other.to_string(),
        };
        self.source.error(key, &shown, problem, fix)
    }
}

fn number(value: &Toml) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))
        .filter(|number| number.is_finite())
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() {
        key.to_owned()
    } else {
        format!("{at}.{key}")
    }
}
