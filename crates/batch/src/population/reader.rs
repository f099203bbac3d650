//! Reads the file of a population, and reports errors in it.

use std::collections::BTreeMap;

use crate::quantity;
use fullpipe_scenario::{Error, OUR_CHOICE, Template};
use fullpipe_units::nearest;
use toml::{Table, Value as Toml};

use super::class::{BUFFER, Class, Draw, Draws};
use super::draw::Distribution;
use super::run::Arm;

const KEYS: [&str; 7] = [
    "title",
    "about",
    "references",
    "scenario",
    "draw",
    "class",
    "arm",
];

pub(super) struct Reader<'a> {
    source: &'a Template,
    file: &'a str,
    references: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of `file`, with the text `source` and the content `table`.
    pub(super) fn new(source: &'a Template, file: &'a str, table: &Table) -> Result<Self, Error> {
        let reader = Reader {
            source,
            file,
            references: references(table),
        };
        reader.only(table, "", &KEYS)?;
        Ok(reader)
    }

    /// Reads the classes, whose shares must add up to one; a single class if the file has none.
    pub(super) fn classes(&self, table: &Table) -> Result<Vec<Class>, Error> {
        let common = self.text(table, "", "scenario")?;
        let mut draws = BTreeMap::new();
        if let Some(all) = self.table(table, "", "draw")? {
            self.draws(all, "draw", "", &mut draws)?;
        }
        let mut classes = Vec::new();
        for (name, value) in self.table(table, "", "class")?.unwrap_or(&Table::new()) {
            classes.push(self.class(name, value, common, &draws)?);
        }
        if classes.is_empty() {
            let file = format!("{}, scenario", self.file);
            classes.push(Class::new("all", 1.0, (common, &file), draws)?);
        }
        let sum: f64 = classes.iter().map(|class| class.share).sum();
        if (sum - 1.0).abs() > 1e-9 {
            let problem = format!("the shares of the classes add up to {sum}, not to 1");
            return Err(self.source.error(
                "class",
                "",
                problem,
                "make the shares of all classes add up to 1",
            ));
        }
        Ok(classes)
    }

    /// Reads the arms, by name.
    pub(super) fn arms(&self, table: &Table) -> Result<BTreeMap<String, Arm>, Error> {
        let mut arms = BTreeMap::new();
        for (name, value) in self.table(table, "", "arm")?.unwrap_or(&Table::new()) {
            arms.insert(name.clone(), self.arm(name, value)?);
        }
        Ok(arms)
    }

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
            let problem = "its share of all paths is missing";
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

    /// Reads distributions: tables with a value, by the scenario's keys.
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
                &format!("only {BUFFER} can have a minimum"),
                "omit this key",
            ));
        }
        let packets = value
            .as_str()
            .and_then(quantity)
            .filter(|least| least.unit == "packets" && least.value >= 1.0);
        let fix = "write a number of packets, like \"10packets\"";
        packets
            .map(|least| Some(least.value))
            .ok_or_else(|| self.refuse(&at, value, "not a number of packets", fix))
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
            return Err(self.refuse(at, value, "not a distribution to draw from", fix));
        };
        let parts: Vec<(f64, &str)> = parts
            .iter()
            .map(|(share, text)| (*share, text.as_str()))
            .collect();
        Distribution::read(&parts).map_err(|problem| self.refuse(at, value, &problem, fix))
    }

    fn arm(&self, name: &str, value: &Toml) -> Result<Arm, Error> {
        let at = format!("arm.{name}");
        let fix = "write a table with cc and, optionally, params";
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

    /// Checks that a choice has a reason, and a source that is a listed reference or "our choice".
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

    pub(super) fn text<'t>(&self, table: &'t Table, at: &str, key: &str) -> Result<&'t str, Error> {
        match table.get(key) {
            Some(Toml::String(text)) => Ok(text),
            Some(other) => {
                Err(self.refuse(&join(at, key), other, "not a text", "write it in quotes"))
            }
            None => {
                let fix = format!("add {key} = \"…\"");
                Err(self
                    .source
                    .error(&join(at, key), "", "this key is required", fix))
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

fn references(table: &Table) -> Vec<String> {
    table
        .get("references")
        .and_then(Toml::as_table)
        .map_or(Vec::new(), |known| known.keys().cloned().collect())
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
