//! `stack` and the keys whose defaults it sets.

use fullpipe_scenario::{AckPolicy, CwndValidation, Pacing, Scenario, Stack};

fn scenario(stack: &str, flow: &str) -> Scenario {
    let text = format!(
        "duration = \"9s\"\n{stack}\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n\
         [[flow]]\ncc = \"cubic\"\n{flow}\n"
    );
    Scenario::parse(&text, "scenario.toml").unwrap()
}

#[test]
fn the_stack_sets_the_defaults_that_a_flow_does_not_set() {
    let of = |host: &str, flow: &str| scenario(host, flow).flows[0].stack.cwnd_validation;
    assert_eq!(of("", ""), CwndValidation::Linux);
    assert_eq!(of("stack = \"rfc\"", ""), CwndValidation::Off);
    let linux = "stack = \"linux\"";
    assert_eq!(of(linux, ""), CwndValidation::Linux);
    assert_eq!(
        of(linux, "cwnd_validation = \"off\""),
        CwndValidation::Off,
        "the key has priority"
    );
    let rfc = "stack = \"rfc\"";
    assert_eq!(
        of(rfc, "cwnd_validation = \"linux\""),
        CwndValidation::Linux
    );
}

#[test]
fn acks_are_those_of_the_stack() {
    let of = |host: &str, flow: &str| {
        let flow = &scenario(host, flow).flows[0];
        (flow.stack.ack_policy, flow.stack.sack_compression)
    };
    let linux = "stack = \"linux\"";
    assert_eq!(of("stack = \"rfc\"", ""), (AckPolicy::Fixed, 0.0));
    for number in ["delayed_ack = 2", "quick_acks = 3", "ack_delay = \"1ms\""] {
        assert_eq!(of("", number), (AckPolicy::Fixed, 0.05), "{number}");
    }
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
    let stack = scenario("stack = \"linux\"", "");
    assert_eq!((stack.stack, stack.host.as_ref()), (Stack::Linux, None));
    assert!(scenario("[host]\nbatch = 3", "").host.is_some());
}

#[test]
fn only_linux_with_fq_paces_a_flow_that_does_not_ask() {
    let of = |stack: &str, flow: &str| scenario(stack, flow).flows[0].pacing;
    let fq = "stack = \"linux-fq\"";
    assert_eq!(of("", ""), Pacing::Auto);
    assert_eq!(of("stack = \"linux\"", ""), Pacing::Auto);
    assert_eq!(of(fq, ""), Pacing::On);
    assert_eq!(of(fq, "pacing = \"auto\""), Pacing::Auto);
    for unpaced in [
        "app = \"media 50fps from 500kbit to 20mbit\"",
        "[[flow]]\ncc = \"none\"\napp_rate = \"1mbit\"",
    ] {
        let last = scenario(fq, unpaced).flows.pop().unwrap();
        assert_eq!(last.pacing, Pacing::Auto, "{unpaced}");
    }
}

#[test]
fn the_old_key_has_a_fix() {
    let text = "duration = \"9s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n\
                [host]\nstack = \"linux\"\n[[flow]]\ncc = \"cubic\"\n";
    let error = Scenario::parse(text, "old.toml").unwrap_err().to_string();
    assert!(error.contains("host.stack"), "{error}");
    assert!(error.contains("it belongs at the top"), "{error}");
}

#[test]
fn the_stack_survives_writing() {
    let stack = scenario("stack = \"linux\"", "");
    let again = Scenario::parse(&stack.to_toml(), "scenario.toml").unwrap();
    assert_eq!(again, stack);
}
