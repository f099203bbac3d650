//! Compares the queues with their pages, which contain their declared options, and the impairments
//! with the page on the path.

#[path = "../../../tests/blessed.rs"]
mod blessed;

use blessed::check_table;
use fullpipe_path::{Descriptor, IMPAIRMENTS, QUEUES};

/// The queue's option table, generated from its descriptor.
fn table(queue: &Descriptor) -> String {
    let mut table =
        String::from("| Option | Default | Range | Purpose | Section |\n|---|---|---|---|---|\n");
    let limit = queue.limit.map_or("must be given".to_owned(), |packets| {
        format!("{packets}packets")
    });
    let unit = if queue.in_bytes {
        "bytes"
    } else {
        "packets or bytes"
    };
    table += &format!(
        "| limit: `path.buffer` | {limit} | {unit} | capacity of the queue, excluding the packet being sent | tc(8) |\n"
    );
    for param in queue.params {
        let default = param
            .domain
            .default()
            .map_or(param.otherwise.to_owned(), |value| value.to_string());
        let (name, range) = (param.name, param.domain.range());
        table += &format!(
            "| `{name}` | {default} | {range} | {} | {} |\n",
            param.purpose, param.section
        );
    }
    table
}

#[test]
fn every_queue_has_its_page_with_its_table() {
    for queue in QUEUES {
        let page = format!(
            "{}/../../docs/reference/models/{}.md",
            env!("CARGO_MANIFEST_DIR"),
            queue.name
        );
        let text = std::fs::read_to_string(&page)
            .unwrap_or_else(|error| panic!("{page}: {error}\n{}", table(queue)));
        for section in [
            "Description",
            "Specification",
            "Deviations",
            "Parameters",
            "Validation",
            "References",
        ] {
            assert!(
                text.contains(&format!("\n## {section}\n")),
                "{page} has no section {section}"
            );
        }
        check_table(&page, &table(queue));
    }
}

/// The table of impairments, generated from their descriptions.
fn impairments() -> String {
    let mut table = String::from(
        "| Impairment | Keys | Part | Value | Default | Purpose |\n|---|---|---|---|---|---|\n",
    );
    for impairment in IMPAIRMENTS {
        let keys: Vec<String> = impairment
            .keys
            .iter()
            .map(|key| format!("`{key}`"))
            .collect();
        table += &format!(
            "| {} | {} | | | | {} |\n",
            impairment.name,
            keys.join(", "),
            impairment.purpose
        );
        for argument in impairment.arguments {
            let name = if argument.named {
                format!("`{}`", argument.name)
            } else {
                argument.name.to_owned()
            };
            let what = argument.unit.name();
            let default = argument.default.unwrap_or("must be given");
            table += &format!(
                "| | | {name} | {what} | {default} | {} |\n",
                argument.purpose
            );
        }
    }
    table
}

#[test]
fn the_page_on_the_path_has_every_impairment() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/models/path.md"
    );
    let text = std::fs::read_to_string(page).expect("the page is there");
    check_table(page, &impairments());
    for impairment in IMPAIRMENTS {
        assert!(
            text.contains(&format!("\"{}\"", impairment.example)),
            "{page} does not show {}",
            impairment.example
        );
    }
}
