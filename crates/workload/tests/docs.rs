//! Compares the page on workloads with the models and presets as declared.

use fullpipe_workload::{MODELS, Needs, PRESETS};

#[test]
fn the_page_has_every_model_and_every_preset() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/workloads.md");
    let page = std::fs::read_to_string(file).expect("the page is there");
    for model in &MODELS {
        let needs = match model.source {
            Needs::Flows => "flows, or a preset",
            Needs::Cdf => "a file of lines `BYTES SHARE`",
            Needs::Nothing => "no source, a load",
        };
        let row = format!(
            "| `{}` | {} | {needs} | `{}` |",
            model.name, model.purpose, model.example
        );
        assert!(page.contains(&row), "docs/guide/workloads.md misses\n{row}");
    }
    for preset in &PRESETS {
        assert!(
            page.contains(&format!("`source = \"{}\"`", preset.name)),
            "docs/guide/workloads.md misses {}",
            preset.name
        );
    }
}
