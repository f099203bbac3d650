//! What can be declared of a metric, and the macro that makes a struct and its table of one row
//! each.

/// What a metric is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// bit/s
    Rate,
    /// Seconds.
    Time,
    /// A count of packets.
    Packets,
    /// A count of something else.
    Count,
    /// A ratio of two values of the same dimension; it may be above 1.
    Factor,
    /// Bytes.
    Volume,
    /// A share, from 0 to 1.
    Share,
    /// An index, from 0 to 1, that nobody tells in percent.
    Index,
}

impl Dimension {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Dimension::Rate => "rate",
            Dimension::Time => "time",
            Dimension::Packets => "packets",
            Dimension::Count => "count",
            Dimension::Factor => "factor",
            Dimension::Volume => "volume",
            Dimension::Share => "share",
            Dimension::Index => "index",
        }
    }

    /// The SI unit in `metrics.json`; `"1"` for a share, empty for a count.
    pub fn unit(self) -> &'static str {
        match self {
            Dimension::Rate => "bit/s",
            Dimension::Time => "s",
            Dimension::Packets => "packets",
            Dimension::Volume => "B",
            Dimension::Share | Dimension::Index | Dimension::Factor => "1",
            Dimension::Count => "",
        }
    }
}

/// How many values a metric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One value, which describes the run and judges nothing: its seed, its length.
    Fact,
    /// One value.
    One,
    /// A [`Distribution`](crate::Distribution).
    Distribution,
    /// [`Slowdowns`](crate::slowdown::Slowdowns).
    Slowdowns,
    /// A share for each limit.
    Shares,
}

impl Form {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Form::Fact => "fact",
            Form::One => "one",
            Form::Distribution => "distribution",
            Form::Slowdowns => "slowdowns",
            Form::Shares => "shares",
        }
    }
}

/// Where a metric is shown by default, in the order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The table or picture: `report`, `spread`, `maps` and `differences` of a report, `compare`,
    /// `sweep`.
    pub view: &'static str,
    /// Which value of a distribution; empty for a metric of one value.
    pub statistic: &'static str,
}

/// A metric, as far as it can be declared.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in `metrics.json`, with the unit as its suffix where it has one.
    pub name: &'static str,
    /// Its type in Rust.
    pub kind: &'static str,
    /// Its definition, in Markdown.
    pub definition: &'static str,
    /// What it is called in a sentence.
    pub words: &'static str,
    /// What it is measured in.
    pub dimension: Dimension,
    /// How many values it has.
    pub form: Form,
    /// 1 where more is better, -1 where less is, 0 where neither is.
    pub better: i8,
    /// Where it is shown.
    pub shown: &'static [Shown],
}

/// The values of a [`Distribution`](crate::Distribution).
pub const STATISTICS: &[&str] = &["min", "mean", "p50", "p95", "p99", "max"];
/// Those of [`Slowdowns`](crate::slowdown::Slowdowns).
pub const SLOWDOWN: &[&str] = &["mean", "p50", "p95", "p99"];

impl Metric {
    /// The names of its values, where it has several.
    pub fn statistics(&self) -> &'static [&'static str] {
        match self.form {
            Form::Distribution => STATISTICS,
            Form::Slowdowns => SLOWDOWN,
            Form::Fact | Form::One | Form::Shares => &[],
        }
    }

    pub(crate) const fn one(dimension: Dimension, words: &'static str) -> Metric {
        Metric {
            name: "",
            kind: "",
            definition: "",
            words,
            dimension,
            form: Form::One,
            better: 0,
            shown: &[],
        }
    }

    pub(crate) const fn fact(dimension: Dimension) -> Metric {
        Metric {
            form: Form::Fact,
            ..Metric::one(dimension, "")
        }
    }

    pub(crate) const fn text() -> Metric {
        Metric::fact(Dimension::Count)
    }

    pub(crate) const fn delays(words: &'static str) -> Metric {
        Metric {
            form: Form::Distribution,
            better: -1,
            ..Metric::one(Dimension::Time, words)
        }
    }

    pub(crate) const fn form(self, form: Form) -> Metric {
        Metric { form, ..self }
    }

    pub(crate) const fn more_is_better(self) -> Metric {
        Metric { better: 1, ..self }
    }

    pub(crate) const fn less_is_better(self) -> Metric {
        Metric { better: -1, ..self }
    }

    pub(crate) const fn shown(self, shown: &'static [Shown]) -> Metric {
        Metric { shown, ..self }
    }
}

/// In `view`; of a distribution this value.
pub(crate) const fn at(view: &'static str, statistic: &'static str) -> Shown {
    Shown { view, statistic }
}

/// A struct and the table of its fields: each field is a row, whose doc comment is the definition.
macro_rules! metrics {
    (
        $(#[$outer:meta])*
        $vis:vis struct $name:ident, $table:ident {
            $( $(#[doc = $doc:literal])+ $(#[serde($($serde:tt)*)])? $field:ident: $kind:ty = $metric:expr, )+
        }
    ) => {
        $(#[$outer])*
        $vis struct $name {
            $( $(#[doc = $doc])+ $(#[serde($($serde)*)])? pub $field: $kind, )+
        }

        #[doc = concat!("The rows of [`", stringify!($name), "`].")]
        pub const $table: &[Metric] = &[
            $( Metric {
                name: stringify!($field),
                kind: stringify!($kind),
                definition: concat!($($doc),+),
                ..$metric
            }, )+
        ];
    };
}

pub(crate) use metrics;
