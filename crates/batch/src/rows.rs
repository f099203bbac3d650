//! Rows of runs: one row per flow and run, with columns named after the metrics.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the metric, with dots for nested metrics: `rtt_s.mean`, `link.bottleneck.drops`.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts.
    Counts(Vec<u64>),
    /// Measures; NaN stands for a missing value.
    Measures(Vec<f64>),
    /// Words, each an index into `labels`.
    Words {
        /// One code per row.
        codes: Vec<u32>,
        /// The distinct words.
        labels: Vec<String>,
    },
}

/// Rows of several runs.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: usize,
    columns: Vec<(String, Vec<Cell>)>,
    index: BTreeMap<String, usize>,
    /// Column behind the one of the cell added last: usually that of the next, since most rows have the same.
    next: usize,
}

/// The error that a value is not a run's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMetrics;

/// Returns the rows of runs that were made elsewhere, or saved. Each item is a point and the
/// serialized metrics of one of its runs.
///
/// # Errors If an item is not a run's metrics.
pub fn rows(runs: impl IntoIterator<Item = (usize, Json)>) -> Result<Vec<Column>, NotMetrics> {
    let mut rows = Rows::default();
    for (point, metrics) in runs {
        rows.add(point, metrics)?;
    }
    Ok(rows.columns())
}

#[derive(Clone, Debug, PartialEq)]
enum Cell {
    None,
    Count(u64),
    Measure(f64),
    Word(String),
}

impl Rows {
    /// Adds a row for each flow and each workload of a run, from its serialized metrics.
    pub(crate) fn add(&mut self, point: usize, metrics: Json) -> Result<(), NotMetrics> {
        let Json::Object(mut whole) = metrics else {
            return Err(NotMetrics);
        };
        let seed = whole
            .remove("seed")
            .and_then(|seed| seed.as_u64())
            .ok_or(NotMetrics)?;
        let (Some(Json::Array(mut flows)), Some(Json::Array(links))) =
            (whole.remove("flows"), whole.remove("links"))
        else {
            return Err(NotMetrics);
        };
        // All flows of a workload share one row, behind those of the other flows.
        if let Some(Json::Array(workloads)) = whole.remove("workloads") {
            flows.extend(workloads);
        }
        if let Some(Json::Array(warnings)) = whole.remove("warnings")
            && !warnings.is_empty()
        {
            let words: Vec<&str> = warnings.iter().filter_map(Json::as_str).collect();
            whole.insert("warnings".to_owned(), Json::String(words.join("; ")));
        }
        if let Some(steadiness) = whole.get_mut("steadiness").and_then(Json::as_object_mut)
            && let Some(Json::Array(drifting)) = steadiness.remove("drifting")
        {
            let words: Vec<String> = drifting.iter().map(drifting_words).collect();
            steadiness.insert("drifting".to_owned(), Json::String(words.join("; ")));
        }
        let mut run = Vec::new();
        let mut keep = |name: &str, cell| run.push((name.to_owned(), cell));
        for link in links {
            let (name, metrics) = named(link)?;
            cells(&mut format!("link.{name}"), metrics, &mut keep);
        }
        cells(&mut String::new(), Json::Object(whole), &mut keep);
        for (index, flow) in flows.into_iter().enumerate() {
            let (name, metrics) = named(flow)?;
            self.next = 0;
            self.put("point", Cell::Count(point as u64));
            self.put("seed", Cell::Count(seed));
            self.put("flow", Cell::Word(name));
            self.put("flow_index", Cell::Count(index as u64));
            cells(&mut String::new(), metrics, &mut |name, cell| {
                self.put(name, cell);
            });
            for (name, cell) in &run {
                self.put(name, cell.clone());
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// Adds a cell to the row in progress.
    fn put(&mut self, name: &str, cell: Cell) {
        let expected = self.columns.get(self.next);
        let column = if expected.is_some_and(|(column, _)| column == name) {
            self.next
        } else {
            self.column(name)
        };
        self.next = column + 1;
        let cells = &mut self.columns[column].1;
        cells.resize(self.rows, Cell::None); // earlier rows lack this column
        cells.push(cell);
    }

    /// Returns the index of the column of this name; adds the column if it is new.
    fn column(&mut self, name: &str) -> usize {
        *self.index.entry(name.to_owned()).or_insert_with(|| {
            self.columns.push((name.to_owned(), Vec::new()));
            self.columns.len() - 1
        })
    }

    /// Returns the columns.
    pub(crate) fn columns(self) -> Vec<Column> {
        let rows = self.rows;
        let columns = self.columns.into_iter().map(|(name, mut cells)| {
            cells.resize(rows, Cell::None);
            Column {
                name,
                values: values(cells),
            }
        });
        columns.collect()
    }
}

/// Returns words if any cell is a word; measures if any cell is missing or a fraction; otherwise
/// counts.
fn values(cells: Vec<Cell>) -> Values {
    if cells.iter().all(|cell| matches!(cell, Cell::Count(_))) {
        return Values::Counts(
            cells
                .iter()
                .map(|cell| if let Cell::Count(n) = cell { *n } else { 0 })
                .collect(),
        );
    }
    if !cells.iter().any(|cell| matches!(cell, Cell::Word(_))) {
        let number = |cell: &Cell| match cell {
            Cell::Count(n) => *n as f64,
            Cell::Measure(x) => *x,
            Cell::None | Cell::Word(_) => f64::NAN,
        };
        return Values::Measures(cells.iter().map(number).collect());
    }
    let (mut labels, mut known) = (Vec::new(), BTreeMap::new());
    let mut code = |cell: Cell| {
        let word = if let Cell::Word(word) = cell {
            word
        } else {
            String::new()
        };
        *known.entry(word.clone()).or_insert_with(|| {
            labels.push(word);
            labels.len() as u32 - 1
        })
    };
    let codes = cells.into_iter().map(&mut code).collect();
    Values::Words { codes, labels }
}

/// Returns a number that drifts as words: `flow cubic goodput_bps trend`.
fn drifting_words(number: &Json) -> String {
    let words = ["of", "name", "metric", "test"].map(|key| number[key].as_str().unwrap_or(""));
    words.join(" ")
}

/// Returns the name and the metrics of a flow or a link.
fn named(metrics: Json) -> Result<(String, Json), NotMetrics> {
    let Json::Object(mut metrics) = metrics else {
        return Err(NotMetrics);
    };
    let Some(Json::String(name)) = metrics.remove("name") else {
        return Err(NotMetrics);
    };
    Ok((name, Json::Object(metrics)))
}

/// Passes the numbers and words in `value` to `put`, each with its path below `at`, which is as before at
/// the end. Of lists, only those of decades are included, with the start of each decade in the path.
fn cells(at: &mut String, value: Json, put: &mut impl FnMut(&str, Cell)) {
    let cell = match value {
        Json::Object(inner) => {
            for (name, value) in inner {
                below(at, &name, value, put);
            }
            return;
        }
        Json::Array(list) => {
            for mut each in list {
                let from = each
                    .as_object_mut()
                    .and_then(|each| each.remove("from_bytes"));
                if let Some(from) = from.and_then(|from| from.as_u64()) {
                    below(at, &from.to_string(), each, put);
                }
            }
            return;
        }
        Json::Null => Cell::None,
        Json::Bool(flag) => Cell::Count(u64::from(flag)),
        Json::Number(number) => match number.as_u64() {
            Some(count) => Cell::Count(count),
            None => Cell::Measure(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(word) => Cell::Word(word),
    };
    put(at, cell);
}

/// Passes on the [`cells`] of `value`, which is called `name` below `at`.
fn below(at: &mut String, name: &str, value: Json, put: &mut impl FnMut(&str, Cell)) {
    let length = at.len();
    if length > 0 {
        at.push('.');
    }
    at.push_str(name);
    cells(at, value, put);
    at.truncate(length);
}
