//! `host.stack` and the keys whose defaults it sets.

use fullpipe_scenario::{AckPolicy, CwndValidation, Scenario, Stack};

fn scenario(host: &str, flow: &str) -> Scenario {
    let text = format!(
        "duration = \"9s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n{host}\n\
         [[flow]]\ncc = \"cubic\"\n{flow}\n"
    );
    Scenario::parse(&text, "scenario.toml").unwrap()
}

#[test]
fn the_stack_sets_the_defaults_that_a_flow_does_not_set() {
    let of = |host: &str, flow: &str| scenario(host, flow).flows[0].stack.cwnd_validation;
    assert_eq!(of("", ""), CwndValidation::Off);
    assert_eq!(of("[host]\nstack = \"ideal\"", ""), CwndValidation::Off);
    let linux = "[host]\nstack = \"linux\"";
    assert_eq!(of(linux, ""), CwndValidation::Linux);
    assert_eq!(
        of(linux, "cwnd_validation = \"off\""),
        CwndValidation::Off,
        "the key has priority"
    );
    assert_eq!(of("", "cwnd_validation = \"linux\""), CwndValidation::Linux);
}

#[test]
fn acks_are_those_of_the_stack() {
    let of = |host: &str, flow: &str| {
        let flow = &scenario(host, flow).flows[0];
        (flow.stack.ack_policy, flow.stack.sack_compression)
    };
    let linux = "[host]\nstack = \"linux\"";
    assert_eq!(of("", ""), (AckPolicy::Fixed, 0.0));
    assert_eq!(of(linux, ""), (AckPolicy::Linux, 0.05));
    assert_eq!(
        of(
            linux,
            "ack_policy = \"fixed\"\nquick_acks = 3\nsack_compression = \"33%\""
        ),
        (AckPolicy::Fixed, 0.33)
    );
}

#[test]
fn a_stack_alone_costs_no_time() {
    let stack = scenario("[host]\nstack = \"linux\"", "");
    assert_eq!((stack.stack, stack.host.as_ref()), (Stack::Linux, None));
    assert!(scenario("[host]\nbatch = 3", "").host.is_some());
}

#[test]
fn the_stack_survives_writing() {
    let stack = scenario("[host]\nstack = \"linux\"", "");
    let again = Scenario::parse(&stack.to_toml(), "scenario.toml").unwrap();
    assert_eq!(again, stack);
}
