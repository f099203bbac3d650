//! Compares the reference page on workloads with the models and presets as declared.
//! `FULLPIPE_BLESS=1` writes the table of models.

#[path = "../../../tests/blessed.rs"]
mod blessed;

use blessed::check_table;
use fullpipe_workload::{MODELS, Needs, PRESETS};

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/workload-tables.md"
);
const HEADER: &str = "| `model` | Flows | Needs | Example |\n|---|---|---|---|\n";

#[test]
fn the_page_has_every_model_and_every_preset() {
    let page = std::fs::read_to_string(PAGE).expect("the page exists");
    let rows: String = MODELS
        .iter()
        .map(|model| {
            let needs = match model.source {
                Needs::Flows => "flows, or a preset",
                Needs::Cdf => "a file of lines `BYTES SHARE`",
                Needs::Nothing => "no source, a load",
            };
            format!(
                "| `{}` | {} | {needs} | `{}` |\n",
                model.name, model.purpose, model.example
            )
        })
        .collect();
    check_table(PAGE, &format!("{HEADER}{rows}"));
    for preset in &PRESETS {
        let source = format!("`source = \"{}\"`", preset.name);
        assert!(
            page.contains(&source),
            "docs/reference/workload-tables.md misses {source}"
        );
    }
}
