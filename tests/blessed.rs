//! Tables of the documentation that derive from declarations. Tests of several crates include this
//! file.

/// Checks that a page has this table. With `FULLPIPE_BLESS=1` writes it instead, in place of the
/// table with the same header.
pub(crate) fn check_table(page: &str, table: &str) {
    let text = std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{page}: {error}"));
    let header = table.lines().next().expect("a table has a header");
    let mut lines = text.lines();
    let mut written = String::new();
    while let Some(line) = lines.next() {
        if line != header {
            written += &format!("{line}\n");
            continue;
        }
        written += table;
        if let Some(after) = lines.by_ref().find(|line| !line.starts_with('|')) {
            written += &format!("{after}\n");
        }
    }
    if std::env::var_os("FULLPIPE_BLESS").is_some() {
        std::fs::write(page, &written).expect("the page is writable");
    }
    assert!(
        written.contains(table),
        "{page} has no table with the header {header}"
    );
    assert!(
        written == text || std::env::var_os("FULLPIPE_BLESS").is_some(),
        "{page} does not have this table (FULLPIPE_BLESS=1 writes it):\n{table}"
    );
}
