//! The values of an algorithm's parameters.

use core::fmt;

/// A value given for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A finite number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A word.
    Word(String),
}

impl fmt::Display for ParamValue {
    /// Writes the value as TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Number(number) => number.fmt(f),
            ParamValue::Flag(flag) => flag.fmt(f),
            ParamValue::Word(word) => write!(f, "{word:?}"),
        }
    }
}
