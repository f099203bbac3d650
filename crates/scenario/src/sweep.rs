//! `[sweep]`: the keys to vary, with their values as text. The values are checked when they are put
//! into the scenario.

use toml::{Table, Value as Toml};

use crate::error::Error;
use crate::source::{Source, join, show};
use crate::template::as_override;

/// The `[sweep]` table of a file; empty if the file has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Keys to vary, in the order of the file, each with its values or one range, as `--set` takes
    /// them.
    pub axes: Vec<(String, Vec<String>)>,
    /// Keys that are varied together instead of in every combination.
    pub zip: Vec<String>,
    /// Number of points to draw at random; `None` for every combination.
    pub sample: Option<u64>,
    /// Number of runs of each point.
    pub repeat: Option<u64>,
}

const TABLE: &str = "sweep";

/// Removes `[sweep]` from `root` and reads it.
pub(crate) fn take(root: &mut Table, source: &Source) -> Result<Sweep, Error> {
    let mut sweep = Sweep::default();
    match root.remove(TABLE) {
        None => Ok(sweep),
        Some(Toml::Table(table)) => {
            read(&table, "", &mut sweep, source)?;
            sweep
                .axes
                .sort_by_key(|(key, _)| source.line(&join(TABLE, key)));
            Ok(sweep)
        }
        Some(other) => {
            let fix = "start it with a line [sweep]";
            Err(source.error(TABLE, show(&other), "must be a table", fix))
        }
    }
}

fn read(table: &Table, at: &str, sweep: &mut Sweep, source: &Source) -> Result<(), Error> {
    for (name, value) in table {
        let key = join(at, name);
        match (key.as_str(), value) {
            ("repeat", value) => sweep.repeat = Some(count(value, "repeat", source)?),
            ("sample", value) => sweep.sample = Some(count(value, "sample", source)?),
            ("zip", Toml::Array(keys)) if keys.iter().all(Toml::is_str) => {
                sweep.zip = keys
                    .iter()
                    .filter_map(Toml::as_str)
                    .map(str::to_owned)
                    .collect();
            }
            ("zip", other) => {
                let fix = "write it like zip = [\"path.rate\", \"path.rtt\"]";
                return Err(source.error("sweep.zip", show(other), "not a list of keys", fix));
            }
            (_, Toml::Table(inner)) => read(inner, &key, sweep, source)?,
            (_, Toml::Array(values)) => {
                let values = values
                    .iter()
                    .map(|value| text(value, &key, source))
                    .collect::<Result<_, _>>()?;
                sweep.axes.push((key, values));
            }
            (_, value) => sweep
                .axes
                .push((key.clone(), vec![text(value, &key, source)?])),
        }
    }
    Ok(())
}

fn text(value: &Toml, key: &str, source: &Source) -> Result<String, Error> {
    match value {
        Toml::String(_) | Toml::Integer(_) | Toml::Float(_) | Toml::Boolean(_) => {
            Ok(as_override(value))
        }
        other => {
            let fix = "give text in quotes, numbers, true or false, like [\"1bdp\", \"8bdp\"]";
            Err(source.error(
                &join(TABLE, key),
                show(other),
                "not a valid value of a key",
                fix,
            ))
        }
    }
}

fn count(value: &Toml, key: &str, source: &Source) -> Result<u64, Error> {
    let number = value
        .as_integer()
        .and_then(|n| u64::try_from(n).ok())
        .filter(|n| *n > 0);
    number.ok_or_else(|| {
        let fix = format!("write a whole number greater than zero, like {key} = 30");
        source.error(
            &join(TABLE, key),
            show(value),
            "must be a whole number greater than zero",
            fix,
        )
    })
}
