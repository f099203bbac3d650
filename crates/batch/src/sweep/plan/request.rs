//! A request for a sweep, and the axes that result from it.

use fullpipe_scenario::Template;

use crate::sweep::axis::{Range, split};

/// A request for a sweep.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Keys with one value each, for every point.
    pub fixed: Vec<(String, String)>,
    /// Keys with their values, or with one range each; they replace axes of the file with the same
    /// key.
    pub axes: Vec<(String, Vec<String>)>,
    /// Keys with the text after the `=` of a `--set`: one value for every point, or several values,
    /// separated by commas.
    pub set: Vec<(String, String)>,
    /// Keys that are varied together; empty for those of the file.
    pub zip: Vec<String>,
    /// Number of points to draw; `None` for that of the file, or every combination.
    pub sample: Option<u64>,
    /// Runs of each point; `None` for the file's number, or one.
    pub repeat: Option<u64>,
    /// Seed of the first run of each point, and of random draws; `None` for the scenario's.
    pub seed: Option<u64>,
    /// The points themselves, instead of axes: each a list of keys with their values.
    pub points: Option<Vec<Vec<(String, String)>>>,
    /// The complete scenario of each of `points`, as [`Plan::scenario`](super::Plan::scenario) wrote it once; its
    /// settings only name it. Empty to make the scenarios from the text and the settings.
    pub whole: Vec<Template>,
}

/// Keys with their values, or with a range each.
pub(crate) type Varied = Vec<(String, Vec<String>)>;

/// Returns the axes of file and request; a key with one value is set in the template instead.
pub(crate) fn varied(template: &mut Template, request: &Request) -> Varied {
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

/// Replaces the axis with this key, or adds it behind all others.
fn place(axes: &mut Varied, key: &str, values: Vec<String>) {
    match axes.iter_mut().find(|(known, _)| known == key) {
        Some((_, there)) => *there = values,
        None => axes.push((key.to_owned(), values)),
    }
}
