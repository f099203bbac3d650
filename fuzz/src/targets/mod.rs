//! A file for each target.

use arbitrary::{Arbitrary, Unstructured};

mod capture;
mod compressed;
mod contract;
mod counters;
mod emulator;
mod nginx;
mod policy;
mod replay;
mod scenario;
mod ss;
mod traces;

/// A target's check, which panics if it fails.
pub type Check = fn(&[u8]);

/// Every target with its name.
pub const TARGETS: [(&str, Check); 11] = [
    ("capture", |bytes| made(bytes, capture::check)),
    ("compressed", |bytes| made(bytes, compressed::check)),
    ("contract", |bytes| made(bytes, contract::check)),
    ("counters", |bytes| made(bytes, counters::check)),
    ("emulator", |bytes| made(bytes, emulator::check)),
    ("nginx", |bytes| made(bytes, nginx::check)),
    ("policy", |bytes| made(bytes, policy::check)),
    ("replay", |bytes| made(bytes, replay::check)),
    ("scenario", |bytes| made(bytes, scenario::check)),
    ("ss", |bytes| made(bytes, ss::check)),
    ("traces", |bytes| made(bytes, traces::check)),
];

/// Makes a value from bytes as `fuzz_target!` does, so that kept inputs keep their meaning.
fn made<'a, T: Arbitrary<'a>>(bytes: &'a [u8], check: fn(T)) {
    if bytes.len() < T::size_hint(0).0 {
        return;
    }
    if let Ok(value) = T::arbitrary_take_rest(Unstructured::new(bytes)) {
        check(value);
    }
}
