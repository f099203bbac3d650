//! Macros that declare an algorithm's parameters and trace fields, each in one place.
//!
//! [`params!`](crate::params) generates a typed struct and the rows of the
//! [`Descriptor`](crate::Descriptor); [`fields!`](crate::fields) generates the columns of the trace
//! and the function that fills them; [`words!`](crate::words) generates an enum whose variants are
//! keywords in scenarios.

use core::ops::RangeInclusive;

use fullpipe_units::{Bytes, ParamValue, Span};

use crate::{Default, Domain, Field, Param};

/// Declares parameters: `field: type = row`.
///
/// The struct gets `ROWS`, for [`Descriptor::params`](crate::Descriptor::params), and `read`, which
/// takes the values from a [`Config`](crate::Config). The field's name is the key in scenarios. A
/// row is [`Param::number`], [`Param::flag`] or [`Param::choice`], or a constant that several
/// algorithms share; the type is any [`FromParam`].
///
/// ```
/// use fullpipe_cc::{Config, Param, params};
///
/// params! {
///     struct Params {
///         gain: f64 = Param::number(0.5, 0.0..=1.0).says("Increase per round", "RFC 0000 §1"),
///         undo: bool = Param::flag(true).says("Undo spurious losses", "RFC 0000 §2"),
///     }
/// }
/// assert_eq!(Params::ROWS[0].name, "gain");
/// fn half(config: &Config) -> f64 {
///     Params::read(config).gain / 2.0
/// }
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($field:ident: $type:ty = $row:expr),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name { $($vis $field: $type),* }

        impl $name {
            /// The rows for the descriptor.
            $vis const ROWS: [$crate::Param; [$(stringify!($field)),*].len()] =
                [$($row.named::<$type>(stringify!($field))),*];

            /// Reads the values from the configuration of a connection.
            $vis fn read(config: &$crate::Config) -> $name {
                let mut values = config.values();
                $name {
                    $($field: values.take(const { &$row.named::<$type>(stringify!($field)) })),*
                }
            }
        }
    };
}

/// Declares trace fields: `name: description => value`.
///
/// The controller gets `FIELDS`, for [`Descriptor::fields`](crate::Descriptor::fields), and
/// `push_fields`, for [`Controller::observe`](crate::Controller::observe). A description is
/// [`Field::value`], [`Field::state`] or [`Field::yes_no`], or a constant that several algorithms
/// share; a value is any [`TraceValue`].
///
/// ```
/// use fullpipe_cc::{Field, fields};
/// use fullpipe_units::Span;
///
/// struct Vegas {
///     base_rtt: Option<Span>,
/// }
///
/// fields! {
///     impl Vegas as cc {
///         base_rtt: Field::value("s", "Minimum RTT; 0 before the first sample") => cc.base_rtt,
///     }
/// }
/// ```
#[macro_export]
macro_rules! fields {
    ($vis:vis impl $type:ty as $cc:ident {
        $($name:ident: $field:expr => $value:expr),* $(,)?
    }) => {
        impl $type {
            /// The columns that this controller fills.
            $vis const FIELDS: &'static [$crate::Field] =
                &[$($field.named(stringify!($name))),*];

            /// Pushes the current values of the columns.
            $vis fn push_fields(&self, row: &mut Vec<f64>) {
                let $cc = self;
                row.extend([$($crate::TraceValue::number(&$value)),*]);
            }
        }
    };
}

/// Declares an enum whose variants are keywords in scenarios: `Variant = "word"`. `WORDS` lists the
/// keywords in the order of declaration.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$doc])* $variant),* }

        impl $name {
            /// The keywords of all variants.
            $vis const WORDS: &'static [&'static str] = &[$($word),*];

            /// The keyword of this variant.
            #[allow(dead_code, reason = "read where a row picks some of the words")]
            $vis const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl $crate::FromParam for $name {
            const TAKES: $crate::Takes = $crate::Takes::Word;

            fn from_param(value: &$crate::ParamValue, _: &$crate::Param) -> Option<$name> {
                match value {
                    $($crate::ParamValue::Word(word) if word == $word => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// The kind of value from which a type is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// [`Domain::Number`].
    Number,
    /// [`Domain::Flag`].
    Flag,
    /// [`Domain::Choice`].
    Word,
}

/// A type that a parameter may have.
pub trait FromParam: Sized {
    /// The kind of value that the parameter's row must declare.
    const TAKES: Takes;

    /// Converts the value; `None` if it is not of the kind that the row declares.
    fn from_param(value: &ParamValue, row: &Param) -> Option<Self>;
}

impl FromParam for f64 {
    const TAKES: Takes = Takes::Number;

    fn from_param(value: &ParamValue, _: &Param) -> Option<f64> {
        match value {
            ParamValue::Number(number) => Some(*number),
            ParamValue::Flag(_) | ParamValue::Word(_) => None,
        }
    }
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {
        $(impl FromParam for $type {
            const TAKES: Takes = Takes::Number;

            fn from_param(value: &ParamValue, row: &Param) -> Option<$type> {
                f64::from_param(value, row).map(|number| number as $type)
            }
        })*
    };
}
whole_numbers!(u32, u64, usize);

/// Reads a row in `s` or in `ms`.
impl FromParam for Span {
    const TAKES: Takes = Takes::Number;

    fn from_param(value: &ParamValue, row: &Param) -> Option<Span> {
        let per_second = if row.unit == "ms" { 1e3 } else { 1.0 };
        f64::from_param(value, row).map(|number| Span::from_secs_f64(number / per_second))
    }
}

/// Zero stands for `None`.
impl<T: FromParam> FromParam for Option<T> {
    const TAKES: Takes = T::TAKES;

    fn from_param(value: &ParamValue, row: &Param) -> Option<Option<T>> {
        if *value == ParamValue::Number(0.0) {
            return Some(None);
        }
        T::from_param(value, row).map(Some)
    }
}

impl FromParam for bool {
    const TAKES: Takes = Takes::Flag;

    fn from_param(value: &ParamValue, _: &Param) -> Option<bool> {
        match value {
            ParamValue::Flag(flag) => Some(*flag),
            ParamValue::Number(_) | ParamValue::Word(_) => None,
        }
    }
}

/// Constructors of a row, which gets its name from the field of the struct.
impl Param {
    const fn of(domain: Domain) -> Param {
        Param {
            name: "",
            unit: "",
            domain,
            purpose: "",
            section: "",
        }
    }

    /// Declares a number within `range`.
    pub const fn number(default: f64, range: RangeInclusive<f64>) -> Param {
        let (min, max) = (*range.start(), *range.end());
        Param::of(Domain::Number { default, min, max })
    }

    /// Declares a flag, true or false.
    pub const fn flag(default: bool) -> Param {
        Param::of(Domain::Flag { default })
    }

    /// Declares one of `words`; the first is the default.
    pub const fn choice(words: &'static [&'static str]) -> Param {
        Param::of(Domain::Choice(words))
    }

    /// Sets the unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Param {
        Param { unit, ..self }
    }

    /// Sets the description, and the section of the specification.
    #[must_use]
    pub const fn says(self, purpose: &'static str, section: &'static str) -> Param {
        Param {
            purpose,
            section,
            ..self
        }
    }

    /// Replaces the default.
    ///
    /// # Panics
    /// If the domain does not contain such a value; in a constant, this is a compile error.
    #[must_use]
    pub const fn with_default(self, default: Default) -> Param {
        let domain = match (self.domain, default) {
            (Domain::Number { min, max, .. }, Default::Number(default)) => {
                Domain::Number { default, min, max }
            }
            (Domain::Flag { .. }, Default::Flag(default)) => Domain::Flag { default },
            _ => panic!("a default of another kind than the parameter"),
        };
        Param { domain, ..self }
    }

    /// Sets the name, for a struct field of type `T`.
    ///
    /// # Panics
    /// If the row does not declare the kind of value that `T` is read from; in `params!`, this is a
    /// compile error.
    #[must_use]
    pub const fn named<T: FromParam>(self, name: &'static str) -> Param {
        match (self.domain, T::TAKES) {
            (Domain::Number { .. }, Takes::Number)
            | (Domain::Flag { .. }, Takes::Flag)
            | (Domain::Choice(_), Takes::Word) => Param { name, ..self },
            _ => panic!("the row declares another kind of value than the type takes"),
        }
    }
}

/// Constructors of a column, which gets its name in `fields!`.
impl Field {
    /// Declares a number in `unit`, which may be empty.
    pub const fn value(unit: &'static str, purpose: &'static str) -> Field {
        Field {
            name: "",
            unit,
            purpose,
            labels: &[],
        }
    }

    /// Declares a state: the values 0, 1, 2… stand for `labels`.
    pub const fn state(labels: &'static [&'static str], purpose: &'static str) -> Field {
        Field {
            name: "",
            unit: "",
            purpose,
            labels,
        }
    }

    /// Declares a condition that is true or false.
    pub const fn yes_no(purpose: &'static str) -> Field {
        Field::state(&["no", "yes"], purpose)
    }

    /// Sets the column's name.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Field {
        Field { name, ..self }
    }
}

/// A value that a trace can record: bytes, seconds, numbers; a state as its index in the labels;
/// `None` as zero.
pub trait TraceValue {
    /// Converts the value to the number in the trace.
    fn number(&self) -> f64;
}

impl TraceValue for f64 {
    fn number(&self) -> f64 {
        *self
    }
}

macro_rules! trace_values {
    ($($type:ty: $value:ident => $number:expr);* $(;)?) => {
        $(impl TraceValue for $type {
            fn number(&self) -> f64 {
                let $value = *self;
                $number
            }
        })*
    };
}
trace_values! {
    u32: value => f64::from(value);
    u64: value => value as f64;
    usize: value => value as f64;
    bool: value => f64::from(u8::from(value));
    Bytes: value => value.as_f64();
    Span: value => value.as_secs_f64();
}

impl<T: TraceValue> TraceValue for Option<T> {
    fn number(&self) -> f64 {
        self.as_ref().map_or(0.0, TraceValue::number)
    }
}
