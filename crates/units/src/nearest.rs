//! The known name that is nearest to a mistyped one, for error messages.

/// Returns the name in `known` with the fewest edits from `name`, if it is near enough to be meant.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = |candidate: &&str| edits(&name.to_lowercase(), &candidate.to_lowercase());
    let best = known.iter().copied().min_by_key(near)?;
    (near(&best) <= 1 + name.chars().count() / 3).then_some(best)
}

/// Returns the Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let known = ["cubic", "newreno", "bbr1"];
        assert_eq!(nearest("cubik", &known), Some("cubic"));
        assert_eq!(nearest("NewReno", &known), Some("newreno"));
        assert_eq!(nearest("bbr", &known), Some("bbr1"));
        assert_eq!(nearest("vegas", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
