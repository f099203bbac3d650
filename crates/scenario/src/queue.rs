//! The queue of a link: its kind, or a table of its kind and options, as the queues declare them.

use fullpipe_path::{Config, Depth, Descriptor, Domain, OptionValue, Param, QUEUES};
use fullpipe_units::{Bytes, Rate, Span};
use schemars::{Schema, json_schema};
use serde_json::{Map, Value as Json, json};
use toml::{Table, Value as Toml};

use crate::buffer::Buffer;
use crate::enums::choose;
use crate::raw_value::{ReadValue, Refusal};
use crate::source::show;
use crate::values::{Delay, is_decimal, text_of, unit_fix};

const KIND: &str = "kind";

/// Returns the queue `name` with default options.
pub(crate) fn plain(name: &str) -> Config {
    Config::new(
        choices()
            .find(|(known, _)| *known == name)
            .expect("the name of a queue")
            .1,
    )
}

fn choices() -> impl Iterator<Item = (&'static str, &'static Descriptor)> {
    QUEUES.iter().map(|queue| (queue.name, *queue))
}

impl ReadValue for Config {
    fn read(value: &Toml) -> Result<Config, Refusal> {
        let choices: Vec<_> = choices().collect();
        let Toml::Table(table) = value else {
            return choose(value, &choices).map(Config::new);
        };
        let Some(kind) = table.get(KIND) else {
            return Err(Refusal::new(
                "the table lacks the queue's kind",
                "add the kind, like { kind = \"codel\" }",
            ));
        };
        let descriptor =
            choose(kind, &choices).map_err(|refusal| refusal.about(KIND, show(kind)))?;
        let mut config = Config::new(descriptor);
        for (name, value) in table.iter().filter(|(name, _)| *name != KIND) {
            let param =
                find(descriptor, name).map_err(|refusal| refusal.about(name, show(value)))?;
            let value = read(param, value).map_err(|refusal| refusal.about(name, show(value)))?;
            config = config.with(name, value).map_err(|refused| {
                Refusal::new(refused.problem, refused.fix).about(name, value_of(value).to_string())
            })?;
        }
        Ok(config)
    }

    fn write(&self) -> Toml {
        let kind = Toml::String(self.descriptor().name.to_owned());
        let mut table = Table::from_iter([(KIND.to_owned(), kind.clone())]);
        table.extend(
            self.values()
                .map(|(param, value)| (param.name.to_owned(), value_of(value))),
        );
        if table.len() == 1 {
            kind
        } else {
            Toml::Table(table)
        }
    }

    fn schema() -> Schema {
        let names: Vec<&str> = choices().map(|(name, _)| name).collect();
        let tables = QUEUES.iter().map(|queue| {
            let kind = (KIND.to_owned(), json!({ "const": queue.name }));
            let params = queue
                .params
                .iter()
                .map(|param| (param.name.to_owned(), param_schema(param)));
            let properties: Map<String, Json> = std::iter::once(kind).chain(params).collect();
            json!({
                "type": "object",
                "required": [KIND],
                "properties": properties,
                "additionalProperties": false,
                "description": queue.purpose,
            })
        });
        let any: Vec<Json> = std::iter::once(json!({ "type": "string", "enum": names }))
            .chain(tables)
            .collect();
        json_schema!({
            "title": format!("{}, or a table of its kind and options", names.join(", ")),
            "anyOf": any,
            "examples": ["fq_codel"],
        })
    }
}

fn find(descriptor: &'static Descriptor, name: &str) -> Result<&'static Param, Refusal> {
    let known: Vec<&str> = descriptor.params.iter().map(|param| param.name).collect();
    descriptor
        .params
        .iter()
        .find(|param| param.name == name)
        .ok_or_else(|| {
            let fix = match fullpipe_units::nearest(name, &known) {
                Some(near) => format!("did you mean {near}? options: {}", known.join(", ")),
                None if name == "limit" => "set the key buffer instead".to_owned(),
                None if known.is_empty() => "remove it; this queue has no options".to_owned(),
                None => format!("use one of {}", known.join(", ")),
            };
            Refusal::new(format!("{} has no such option", descriptor.name), fix)
        })
}

fn read(param: &Param, value: &Toml) -> Result<OptionValue, Refusal> {
    let number = || Refusal::new("not a number", format!("give {}", param.domain.range()));
    match param.domain {
        Domain::Time(..) => Delay::read(value).map(|Delay(span)| OptionValue::Time(span)),
        Domain::Size(..) => Bytes::read(value).map(OptionValue::Size),
        Domain::Rate(..) => Rate::read(value).map(OptionValue::Rate),
        Domain::Count(..) => {
            let whole = value.as_integer().and_then(|n| u64::try_from(n).ok());
            let refusal = || {
                Refusal::new(
                    "not a whole number",
                    format!("give {}", param.domain.range()),
                )
            };
            whole.map(OptionValue::Count).ok_or_else(refusal)
        }
        Domain::Number(..) => match *value {
            Toml::Integer(n) => Ok(OptionValue::Number(n as f64)),
            Toml::Float(n) => Ok(OptionValue::Number(n)),
            _ => Err(number()),
        },
        Domain::Flag(_) => value.as_bool().map(OptionValue::Flag).ok_or_else(|| {
            Refusal::new(
                "not true or false",
                format!("write {} = true or {} = false", param.name, param.name),
            )
        }),
        Domain::Depth(_) if is_decimal(&text_of(value)) => {
            let fix = unit_fix(&text_of(value), ["packets", "kB", "ms"], "65packets");
            Err(Refusal::new("a unit is missing, like \"65packets\"", fix))
        }
        Domain::Depth(_) => match Buffer::read(value)? {
            Buffer::Packets(n) => Ok(OptionValue::Depth(Depth::Packets(n))),
            Buffer::Bytes(bytes) => Ok(OptionValue::Depth(Depth::Bytes(bytes))),
            Buffer::Time(span) => Ok(OptionValue::Depth(Depth::Time(span))),
            Buffer::Bdp(_) => Err(Refusal::new(
                "this option cannot be given in bdp",
                "give it in packets, bytes or time",
            )),
        },
    }
}

/// Returns the value of an option as errors show it; empty if it has none.
pub(crate) fn shown(config: &Config, name: &str) -> String {
    let value = config.values().find(|(param, _)| param.name == name);
    value.map_or(String::new(), |(_, value)| show(&value_of(value)))
}

fn value_of(value: OptionValue) -> Toml {
    match value {
        OptionValue::Time(span) => span.write(),
        OptionValue::Size(bytes) => bytes.write(),
        OptionValue::Rate(rate) => rate.write(),
        OptionValue::Count(n) => {
            Toml::Integer(i64::try_from(n).expect("an option's largest count is below TOML's"))
        }
        OptionValue::Number(n) => Toml::Float(n),
        OptionValue::Flag(flag) => Toml::Boolean(flag),
        OptionValue::Depth(Depth::Packets(n)) => Buffer::Packets(n).write(),
        OptionValue::Depth(Depth::Bytes(bytes)) => bytes.write(),
        OptionValue::Depth(Depth::Time(span)) => span.write(),
    }
}

fn param_schema(param: &Param) -> Json {
    let mut schema = match param.domain {
        Domain::Time(..) => Span::schema(),
        Domain::Size(..) => Bytes::schema(),
        Domain::Rate(..) => Rate::schema(),
        Domain::Count(_, min, max) => {
            json_schema!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Domain::Number(_, min, max) => {
            json_schema!({ "type": "number", "minimum": min, "maximum": max })
        }
        Domain::Flag(_) => json_schema!({ "type": "boolean" }),
        Domain::Depth(_) => json_schema!({ "type": "string" }),
    };
    schema.insert("description".to_owned(), param.purpose.into());
    if let Some(default) = param.domain.default() {
        schema.insert("default".to_owned(), json!(value_of(default)));
    }
    schema.to_value()
}
