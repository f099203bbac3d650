//! Declarations of metrics, and the macro that generates from one declaration both a struct and its
//! table with a row per field.

/// The dimension of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// bit/s
    Rate,
    /// Seconds.
    Time,
    /// A count of packets.
    Packets,
    /// A count of anything other than packets.
    Count,
    /// A ratio of two values of the same dimension, which may exceed 1.
    Factor,
    /// Bytes.
    Volume,
    /// A fraction from 0 to 1, shown as a percentage.
    Share,
    /// An index from 0 to 1, never shown as a percentage.
    Index,
}

impl Dimension {
    /// Returns the name of the dimension.
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

    /// Returns the SI unit in `metrics.json`; `"1"` for a ratio, empty for a count.
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

/// The form of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One value that describes the run and is neither good nor bad, such as the seed or the
    /// length.
    Fact,
    /// One value.
    One,
    /// A [`Distribution`](crate::Distribution).
    Distribution,
    /// [`Slowdowns`](crate::slowdown::Slowdowns).
    Slowdowns,
    /// A fraction for each reason that limits a flow.
    Shares,
}

impl Form {
    /// Returns the name of the form.
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

/// A place where a metric is shown by default, in the order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The table or chart: `report`, `spread`, `maps` and `differences` of a report, `compare`,
    /// `sweep`.
    pub view: &'static str,
    /// The statistic of a distribution that is shown; empty for a metric with one value.
    pub statistic: &'static str,
}

/// The declaration of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name in `metrics.json`, with the unit as its suffix where it has one.
    pub name: &'static str,
    /// Type in Rust.
    pub kind: &'static str,
    /// Definition, in Markdown.
    pub definition: &'static str,
    /// Name in a sentence.
    pub words: &'static str,
    /// Dimension, which determines the unit.
    pub dimension: Dimension,
    /// Form of its value.
    pub form: Form,
    /// 1 if more is better, -1 if less is better, 0 if neither.
    pub better: i8,
    /// Places where it is shown by default.
    pub shown: &'static [Shown],
}

/// The statistics of a [`Distribution`](crate::Distribution).
pub const STATISTICS: &[&str] = &["min", "mean", "p50", "p95", "p99", "max"];
/// The statistics of [`Slowdowns`](crate::slowdown::Slowdowns).
pub const SLOWDOWN: &[&str] = &["mean", "p50", "p95", "p99"];

impl Metric {
    /// Returns the names of the metric's statistics; empty for a metric with one value.
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

/// Shows `statistic` in `view`; an empty `statistic` is for a metric with one value.
pub(crate) const fn at(view: &'static str, statistic: &'static str) -> Shown {
    Shown { view, statistic }
}

/// Declares a struct and the table of its fields: each field is a row, and its doc comment is the
/// metric's definition.
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
