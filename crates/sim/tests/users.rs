//! Users' algorithms for tests, around CUBIC.

use fullpipe_cc::{
    AnyController, Config, Descriptor, Marks, RecoveryOwner, Registry, Shared, Signals,
};
use fullpipe_scenario::Scenario;

/// Declares an algorithm that leaves the window in recovery to PRR.
pub(crate) const fn declared(
    name: &'static str,
    needs: Signals,
    build: fn(&Config, &mut Shared) -> AnyController,
) -> Descriptor {
    Descriptor {
        name,
        purpose: "CUBIC in a test.",
        specifications: &[],
        params: &[],
        profiles: &[],
        preset_of: None,
        fields: &[],
        recovery: RecoveryOwner::Prr,
        needs,
        marks: |_| Marks::Answered,
        random: false,
        build,
    }
}

/// Returns the built-in CUBIC.
pub(crate) fn cubic() -> AnyController {
    let registry = Registry::default();
    let cubic = registry.get("cubic").expect("built in");
    (cubic.build)(&Config::defaults(cubic), &mut Shared::default())
}

/// Reads a scenario whose TCP is that of the specifications, unless `text` has another `stack`.
pub(crate) fn of_specifications(text: &str) -> Scenario {
    let stack = match text.contains("stack = ") {
        true => "",
        false => "stack = \"rfc\"\n",
    };
    Scenario::parse(&format!("{stack}{text}"), "test.toml")
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}
