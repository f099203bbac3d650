//! A library decides what the same algorithm decides as a part of the program.

use custom_controller::delay_aimd;
use fullpipe_cc::Registry;

use super::{built, run};

/// Losses, marks, timeouts and idle times, so that every call crosses the interface.
const SCENARIO: &str = r#"
    duration = "20s"
    [path]
    rate = "20mbit"
    rtt = "40ms"
    buffer = "0.5bdp"
    loss = "0.5%"
    jitter = "2ms"
    [[flow]]
    cc = "delayaimd"
    params = { target = 0.012, beta = 0.8 }
    [[flow]]
    cc = "delayaimd"
    bytes = "2MB"
    start = "3s"
    [[flow]]
    cc = "cubic"
    [[path.change]]
    at = "8s"
    loss = "99.9%"
    [[path.change]]
    at = "9s"
    loss = "0%"
"#;

#[test]
fn the_trace_is_the_same_to_the_bit() {
    let native = Registry::default().with(&delay_aimd::DESCRIPTOR);
    let file = built("custom_controller");
    let library = fullpipe_plugin::load(&file, None, false).expect("a library");
    assert_eq!(library.descriptor.name, "delayaimd");
    let over = Registry::default().with(library.descriptor);
    let [native, over] = [native, over].map(|registry| run(SCENARIO, &registry));
    let hash = |run: &fullpipe_trace::Run| run.trace.as_ref().expect("traced").hash();
    assert_eq!(hash(&native), hash(&over));
    assert_eq!(native.summary, over.summary);
}

#[test]
fn the_declaration_is_the_same() {
    let file = built("custom_controller");
    let library = fullpipe_plugin::load(&file, None, false)
        .expect("a library")
        .descriptor;
    let native = &delay_aimd::DESCRIPTOR;
    let declared = |each: &fullpipe_cc::Descriptor| {
        format!(
            "{} {} {:?} {:?} {:?} {:?} {:?} {:?} {}",
            each.name,
            each.purpose,
            each.specifications,
            each.params,
            each.profiles,
            each.fields,
            each.recovery,
            each.needs,
            each.random
        )
    };
    assert_eq!(declared(native), declared(library));
}

#[test]
fn the_example_keeps_the_contract() {
    let file = built("custom_controller");
    let library = fullpipe_plugin::load(&file, None, false)
        .expect("a library")
        .descriptor;
    fullpipe_cc::check::contract(library, 30).unwrap_or_else(|broken| panic!("{broken}"));
}
