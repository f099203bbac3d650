//! libFuzzer with the target that `FUZZ_TARGET` names. cargo-fuzz builds it: `make fuzz`.

#![no_main]

use std::sync::LazyLock;

use fullpipe_fuzz::{Check, TARGETS};
use libfuzzer_sys::fuzz_target;

static CHECK: LazyLock<Check> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(target, _)| *target == name);
    let names = TARGETS.map(|(target, _)| target).join(", ");
    found
        .unwrap_or_else(|| panic!("FUZZ_TARGET is `{name}`; the targets are {names}"))
        .1
});

fuzz_target!(|bytes: &[u8]| CHECK(bytes));
