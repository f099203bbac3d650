//! The list of impairments has what a path can do, and the page a word on each.

use fullpipe_path::IMPAIRMENTS;
use fullpipe_scenario::explain;

/// The keys of a path that carry packets, rather than harm them.
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
