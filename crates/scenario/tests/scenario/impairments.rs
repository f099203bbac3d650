//! The list of impairments covers all keys of a path, and the page describes each impairment.

use fullpipe_path::{IMPAIRMENTS, Jitter, Loss};
use fullpipe_scenario::{Scenario, explain};
use fullpipe_units::{Rate, Span};

use crate::reading::{LEAST, parse, with};

/// The keys of a path that are not impairments.
const PLAIN: [&str; 8] = [
    "profile", "kind", "rate", "rtt", "buffer", "queue", "change", "at",
];

#[test]
fn every_key_of_a_path_is_plain_or_has_its_impairments() {
    for key in explain() {
        let Some(name) = key
            .key
            .strip_prefix("path.")
            .and_then(|key| key.rsplit('.').next())
        else {
            continue;
        };
        let listed = IMPAIRMENTS
            .iter()
            .any(|impairment| impairment.keys.contains(&name));
        assert!(
            listed != PLAIN.contains(&name),
            "{} is {}",
            key.key,
            if listed { "both" } else { "neither" }
        );
    }
}

#[test]
fn changes_come_in_order_of_time_and_leave_alone_what_they_do_not_name() {
    let changes = "[[path.change]]\nat = \"9s\"\nrate = \"1mbit\"\n\
                   [[path.change]]\nat = \"3s\"\nrate = \"2mbit\"\nrtt = \"9ms\"\n";
    let path =
        "duration = \"10s\"\n[path]\nrate = \"8mbit\"\nrtt = \"5ms\"\nbuffer = \"9packets\"\n";
    let path = parse(&format!("{path}{changes}[[flow]]\ncc = \"cubic\"\n")).path;
    let rates: Vec<_> = path.schedule(|change| change.rate).collect();
    let at = Span::from_secs;
    assert_eq!(
        rates,
        [(at(3), Rate::from_mbps(2)), (at(9), Rate::from_mbps(1))]
    );
    assert_eq!(
        path.schedule(|change| change.rtt).collect::<Vec<_>>(),
        [(at(3), Span::from_millis(9))]
    );
    assert_eq!(path.fastest(), Rate::from_mbps(8));
}

#[test]
fn jitter_is_read_in_every_form_and_none_at_all_is_off() {
    let jitter = |text: &str| with(LEAST, &[("path.jitter", text)]).path.jitter;
    let ms = Span::from_millis;
    assert_eq!(
        jitter("hold 20ms every 100 ms"),
        Jitter::Hold {
            hold: ms(20),
            every: ms(100)
        }
    );
    assert_eq!(
        jitter("hold 10ms"),
        Jitter::Hold {
            hold: ms(10),
            every: ms(10)
        }
    );
    assert_eq!(jitter("5ms"), Jitter::uniform(ms(5), false));
    assert_eq!(jitter("0ms"), Jitter::Off);
}

#[test]
fn a_buffer_in_time_is_what_the_shaper_lets_go_in_it() {
    let text = LEAST.replace("\"1bdp\"", "\"60ms\", shaper = \"10mbit burst 30kB\"");
    let scenario = Scenario::parse(&text, "it.toml").unwrap();
    assert_eq!(scenario.path.link.limit, fullpipe_path::Limit::Packets(50));
}

#[test]
fn what_a_file_holds_is_part_of_the_scenario() {
    // The file name is relative to the scenario's folder, not to the working directory.
    let file = "tests/scenario/it.toml";
    let text = LEAST.replace(
        "\"1bdp\"",
        "\"1bdp\", loss = \"list file files/losses.txt\"",
    );
    let scenario = Scenario::parse(&text, file).unwrap();
    assert_eq!(scenario.path.link.loss, Loss::List([3, 40, 41].into()));
    assert!(
        scenario.to_toml().contains("loss = \"list 3, 40, 41\""),
        "it no longer needs the file"
    );

    let text = LEAST.replace(
        "\"1bdp\"",
        "\"1bdp\", jitter = \"histogram file files/delays.csv reorder\"",
    );
    let written = Scenario::parse(&text, file).unwrap().to_toml();
    assert!(
        written.contains("jitter = \"histogram 0s 60, 2ms 30, 5ms 10, 20ms 0 reorder\""),
        "{written}"
    );
}
