//! Variables of an object: parameters of its algorithm, and switches of the loader.
//!
//! An object declares them as constants in `.rodata`. The name of a variable's type is its scale.

use std::collections::BTreeMap;

use libbpf_rs::btf::types::{DataSec, Typedef, Var};
use libbpf_rs::btf::{Btf, BtfKind, BtfType};
use libbpf_rs::{AsRawLibbpf, OpenObject};

use crate::Problem;

/// The scale of a variable: the name of its type in `bpf/include`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// `fp_q16`: a number in units of 2^-16.
    Q16,
    /// `fp_us`: seconds, in microseconds.
    Microseconds,
    /// `fp_count`: a whole number.
    Count,
    /// `fp_flag`: 0 or 1.
    Flag,
    /// `fp_word`: the place of a keyword among its choices.
    Word,
    /// `fp_control`: a switch of the loader, and no parameter.
    Control,
}

impl Scale {
    fn named(name: &str) -> Option<Scale> {
        Some(match name {
            "fp_q16" => Scale::Q16,
            "fp_us" => Scale::Microseconds,
            "fp_count" => Scale::Count,
            "fp_flag" => Scale::Flag,
            "fp_word" => Scale::Word,
            "fp_control" => Scale::Control,
            _ => return None,
        })
    }

    fn unit(self) -> f64 {
        match self {
            Scale::Q16 => 65_536.0,
            Scale::Microseconds => 1e6,
            Scale::Count | Scale::Flag | Scale::Word | Scale::Control => 1.0,
        }
    }
}

/// A variable of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its scale.
    pub scale: Scale,
    offset: usize,
    size: usize,
}

impl Setting {
    /// Returns the bytes of a value; a value that the variable can't have is refused.
    fn bytes(self, name: &str, value: f64) -> Result<Vec<u8>, Problem> {
        let scaled = (value * self.scale.unit()).round();
        let whole = !matches!(self.scale, Scale::Q16 | Scale::Microseconds);
        if whole && scaled != value {
            return Err(Problem::new(
                format!("{name} = {value}: in the kernel it is a whole number"),
                "write a whole number",
            ));
        }
        let most = match self.scale {
            Scale::Flag => 1.0,
            // Exact up to 2^53, beyond which no value of a parameter lies.
            _ => (u64::MAX >> (64 - 8 * self.size)) as f64,
        };
        if !(0.0..=most).contains(&scaled) {
            return Err(Problem::new(
                format!("{name} = {value}: beyond the numbers that the kernel's version has"),
                format!("write at least 0 and at most {}", most / self.scale.unit()),
            ));
        }
        // Not NaN, and within the type's limits, as checked above.
        Ok((scaled as u64).to_ne_bytes()[..self.size].to_vec())
    }

    fn value(self, data: &[u8]) -> Option<f64> {
        let mut bytes = [0; 8];
        bytes[..self.size].copy_from_slice(data.get(self.offset..self.offset + self.size)?);
        Some(u64::from_le_bytes(bytes) as f64 / self.scale.unit())
    }
}

/// Returns the variables of an object by name, with the values that it was built with.
pub fn settings(object: &OpenObject) -> BTreeMap<String, (Setting, f64)> {
    let mut found = BTreeMap::new();
    let Some(btf) = btf(object) else { return found };
    let Some(section) = btf.type_by_name::<DataSec<'_>>(".rodata") else {
        return found;
    };
    let rodata = object
        .maps()
        .find(|map| is_section(map.name(), ".rodata"))
        .and_then(|map| map.initial_value().map(<[u8]>::to_vec))
        .unwrap_or_default();
    for info in section.iter() {
        let Some(variable) = btf.type_by_id::<Var<'_>>(info.ty) else {
            continue;
        };
        let name = variable.name().and_then(|name| name.to_str());
        let scale = scale(variable.next_type());
        let (Some(name), Some(scale)) = (name, scale) else {
            continue;
        };
        let setting = Setting {
            scale,
            offset: info.offset as usize,
            size: info.size.min(8),
        };
        if let Some(value) = setting.value(&rodata) {
            found.insert(name.to_owned(), (setting, value));
        }
    }
    found
}

/// Returns the scale that a type, without `const` and `volatile`, names.
fn scale(of: Option<BtfType<'_>>) -> Option<Scale> {
    let mut of = of?;
    while of.is_mod() {
        of = of.next_type()?;
    }
    if of.kind() != BtfKind::Typedef {
        return None;
    }
    let named = Typedef::try_from(of).ok()?;
    Scale::named(named.name()?.to_str()?)
}

/// Writes parameters and switches of an object that is not loaded yet. A switch that the object
/// lacks is left out.
///
/// # Errors
/// When the object has no such parameter, or it can't have the value.
pub fn write(
    object: &mut OpenObject,
    parameters: &BTreeMap<String, f64>,
    switches: &[(&str, f64)],
) -> Result<(), Problem> {
    let known = settings(object);
    let mut written = Vec::new();
    for (name, value) in parameters {
        match known.get(name) {
            Some((setting, _)) if setting.scale != Scale::Control => {
                written.push((*setting, setting.bytes(name, *value)?));
            }
            _ => return Err(unknown(name, *value, &known)),
        }
    }
    for (name, value) in switches {
        if let Some((setting, _)) = known.get(*name) {
            written.push((*setting, setting.bytes(name, *value)?));
        }
    }
    let mut maps = object.maps_mut();
    let rodata = maps.find(|map| is_section(map.name(), ".rodata"));
    if let Some(mut rodata) = rodata
        && let Some(data) = rodata.initial_value_mut()
    {
        for (setting, bytes) in written {
            data[setting.offset..setting.offset + setting.size].copy_from_slice(&bytes);
        }
    }
    Ok(())
}

fn unknown(name: &str, value: f64, known: &BTreeMap<String, (Setting, f64)>) -> Problem {
    let names: Vec<&str> = known
        .iter()
        .filter(|(_, (setting, _))| setting.scale != Scale::Control)
        .map(|(name, _)| name.as_str())
        .collect();
    let fix = match names[..] {
        [] => "remove it: the kernel's version has no parameters".to_owned(),
        _ => format!("remove it; the kernel's version has {}", names.join(", ")),
    };
    Problem::new(
        format!("{name} = {value}: not a parameter of the kernel's version"),
        fix,
    )
}

/// Returns whether a map is a section of the object's data: libbpf puts the object's name before it.
pub(crate) fn is_section(map: &std::ffi::OsStr, section: &str) -> bool {
    map.to_str().is_some_and(|name| name.ends_with(section))
}

/// Returns the types of an object.
#[expect(
    unsafe_code,
    reason = "libbpf-rs gives the types of a loaded object only"
)]
pub(crate) fn btf(object: &OpenObject) -> Option<Btf<'_>> {
    // SAFETY: the pointer is valid as long as the object, which the result borrows.
    let raw = unsafe { object.as_libbpf_object().as_ref() };
    Btf::from_bpf_object(raw).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(scale: Scale, size: usize) -> Setting {
        Setting {
            scale,
            offset: 0,
            size,
        }
    }

    #[test]
    fn a_value_is_written_in_the_units_of_its_type() {
        let written = |scale, size, value| {
            let setting = setting(scale, size);
            let bytes = setting.bytes("name", value).expect("a value that fits");
            (setting.value(&bytes), bytes)
        };
        let (back, bytes) = written(Scale::Q16, 4, 2.5);
        assert_eq!((back, bytes), (Some(2.5), vec![0, 0x80, 2, 0]));
        let (back, bytes) = written(Scale::Microseconds, 8, 0.2);
        assert_eq!((back, &bytes[..3]), (Some(0.2), &[0x40, 0x0d, 3][..]));
        assert_eq!(written(Scale::Flag, 1, 1.0).1, [1]);
    }

    #[test]
    fn a_value_that_the_type_cannot_have_is_refused() {
        for (scale, size, value) in [
            (Scale::Count, 4, 2.5),
            (Scale::Count, 4, -1.0),
            (Scale::Flag, 1, 2.0),
            (Scale::Q16, 4, 65_536.0),
            (Scale::Microseconds, 8, f64::NAN),
            (Scale::Microseconds, 8, f64::INFINITY),
        ] {
            let refused = setting(scale, size).bytes("name", value);
            assert!(refused.is_err(), "{scale:?} {value}");
        }
    }
}
