//! The known name that is nearest to a mistyped one, for error messages.

use std::cmp::Reverse;

/// Words of other programs and papers, with the names that scenarios have for them.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("algorithm", &["cc"]),
    ("bandwidth", &["rate"]),
    ("bw", &["rate"]),
    ("capacity", &["rate"]),
    ("congestion", &["cc"]),
    ("congestion_control", &["cc"]),
    ("controller", &["cc"]),
    ("delay", &["rtt", "delay"]),
    ("latency", &["rtt", "delay"]),
    ("owd", &["delay", "rtt"]),
    ("qdisc", &["queue"]),
    ("aqm", &["queue"]),
    ("size", &["bytes"]),
    ("tcp", &["cc"]),
    ("time", &["duration"]),
    ("warmup", &["measure_from"]),
    ("warm_up", &["measure_from"]),
];

/// Returns the name in `known` that stands for a word of other programs, like `rate` for
/// `bandwidth`. A word with points before it, like `path.bandwidth`, needs a name in the same table.
pub fn synonym<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let (table, last) = word.rsplit_once('.').unwrap_or(("", word));
    let lower = last.to_lowercase().replace('-', "_");
    let (_, meant) = SYNONYMS.iter().find(|(word, _)| *word == lower)?;
    meant.iter().find_map(|name| {
        known.iter().copied().find(|known| {
            let (of, known) = known.rsplit_once('.').unwrap_or(("", known));
            known == *name && of == table
        })
    })
}

/// Returns the name in `known` that was meant by `name`: its synonym, or the one with the fewest
/// edits from it, if it is near enough.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if let Some(meant) = synonym(name, known) {
        return Some(meant);
    }
    let meant = plain(name);
    if let Some(same) = known.iter().copied().find(|each| plain(each) == meant) {
        return Some(same);
    }
    let near = |candidate: &&str| edits(&name.to_lowercase(), &candidate.to_lowercase());
    let best = known.iter().copied().min_by_key(near)?;
    (near(&best) <= 1 + name.chars().count() / 3).then_some(best)
}

/// Returns the name in `known` that [`nearest`] finds, or else the one that has the most words in
/// common with `name`, like `beta_ecn` for `beta`; of several the one with the fewest edits.
pub fn related<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    nearest(name, known).or_else(|| {
        let common = |candidate: &str| {
            let same = |word: &&str| words(candidate).any(|other| is_begin(word, other));
            words(name).filter(same).count()
        };
        let rank = |candidate: &&str| (Reverse(common(candidate)), edits(name, candidate));
        let best = known.iter().copied().min_by_key(rank)?;
        (common(best) > 0).then_some(best)
    })
}

/// Returns a name in small letters, without what separates words, and with signs as letters: `ledbatpp`
/// for `LEDBAT++` and for `ledbat-plus-plus`.
fn plain(name: &str) -> String {
    let letters = name.to_lowercase().replace(['_', '-', '.', ' '], "");
    letters.replace("plus", "p").replace('+', "p")
}

/// Returns the words of a name.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['_', '-', '.'])
}

/// Returns whether one of two words begins with the other, of three letters at least.
fn is_begin(a: &str, b: &str) -> bool {
    a.len().min(b.len()) > 2 && (a.starts_with(b) || b.starts_with(a))
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
    use super::{nearest, related, synonym};

    #[test]
    fn finds_what_was_meant() {
        let known = ["cubic", "newreno", "bbr1"];
        assert_eq!(nearest("cubik", &known), Some("cubic"));
        assert_eq!(nearest("NewReno", &known), Some("newreno"));
        assert_eq!(nearest("bbr", &known), Some("bbr1"));
        assert_eq!(nearest("vegas", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn signs_and_separators_do_not_matter() {
        let known = [
            "ledbat",
            "ledbat++",
            "rledbat",
            "fq_codel",
            "bbr3-picoquic-2024-09",
        ];
        for word in [
            "ledbatpp",
            "LEDBATPP",
            "ledbat-plus-plus",
            "ledbatplusplus",
            "ledbat+ +",
        ] {
            assert_eq!(nearest(word, &known), Some("ledbat++"), "{word}");
        }
        assert_eq!(nearest("fqcodel", &known), Some("fq_codel"));
        assert_eq!(
            nearest("bbr3picoquic202409", &known),
            Some("bbr3-picoquic-2024-09")
        );
    }

    #[test]
    fn finds_a_name_with_words_in_common() {
        let newreno = ["profile", "slow_start", "abc_limit", "beta_ecn"];
        assert_eq!(related("beta", &newreno), Some("beta_ecn"));
        assert_eq!(related("prof", &newreno), Some("profile"));
        assert_eq!(related("slwo_start", &newreno), Some("slow_start"));
        assert_eq!(related("g", &newreno), None);
        let bbr = ["high_gain", "startup_pacing_gain", "startup_cwnd_gain"];
        assert_eq!(related("gain", &bbr), Some("high_gain"));
        assert_eq!(related("startup_gain", &bbr), Some("startup_cwnd_gain"));
        assert_eq!(related("beta", &bbr), None);
        assert_eq!(related("x", &[]), None);
    }

    #[test]
    fn knows_the_words_of_other_programs() {
        let path = ["rate", "rtt", "buffer"];
        assert_eq!(nearest("bandwidth", &path), Some("rate"));
        assert_eq!(nearest("latency", &path), Some("rtt"));
        assert_eq!(nearest("latency", &["rate", "delay"]), Some("delay"));
        let all = ["path.rate", "path.rtt", "link.N.rate", "flow.N.cc"];
        assert_eq!(nearest("link.N.bandwidth", &all), Some("link.N.rate"));
        assert_eq!(nearest("flow.N.algorithm", &all), Some("flow.N.cc"));
        assert_eq!(synonym("rate", &path), None);
    }
}
