//! What a sweep is asked to be, and what it varies by that.

use fullpipe_scenario::Template;

use crate::sweep::axis::{Range, split};

/// What a sweep is asked to be.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Keys with one value each, for every point.
    pub fixed: Vec<(String, String)>,
    /// Keys with their values, or with one range each; in the place of those in the file that have
    /// the same key.
    pub axes: Vec<(String, Vec<String>)>,
    /// Keys with what stands behind the `=` of a `--set`: one value for every point, or several
    /// with commas between.
    pub set: Vec<(String, String)>,
    /// Keys that are varied together; none for those of the file.
    pub zip: Vec<String>,
    /// How many points are drawn; none for what the file says, or every combination.
    pub sample: Option<u64>,
    /// Runs of each point; none for what the file says, or one.
    pub repeat: Option<u64>,
    /// The seed of the first run of each point, and of what is drawn; none for the scenario's.
    pub seed: Option<u64>,
    /// The points themselves, in the place of axes: each a list of keys with their values.
    pub points: Option<Vec<Vec<(String, String)>>>,
}

/// Keys with their values, or with a range each.
pub(super) type Varied = Vec<(String, Vec<String>)>;

/// What the file and the request vary; a key with one value is set in the template instead.
pub(super) fn varied(template: &mut Template, request: &Request) -> Varied {
    let mut axes = match request.points {
        None => template.sweep().axes.clone(),
        Some(_) => Vec::new(),
    };
    for (key, values) in &request.axes {
        place(&mut axes, key, values.clone());
    }
    let mut fixed = request.fixed.clone();
    for (key, text) in &request.set {
        let values = split(text);
        if values.len() > 1 || Range::read(text).is_some() {
            place(&mut axes, key, values);
        } else {
            fixed.push((key.clone(), text.clone()));
        }
    }
    for (key, text) in &fixed {
        axes.retain(|(varied, _)| varied != key);
        template.set(key, text);
    }
    axes
}

/// Puts an axis in the place of the one with its key, or behind all.
fn place(axes: &mut Varied, key: &str, values: Vec<String>) {
    match axes.iter_mut().find(|(known, _)| known == key) {
        Some((_, there)) => *there = values,
        None => axes.push((key.to_owned(), values)),
    }
}
