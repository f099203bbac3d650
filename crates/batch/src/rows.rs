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
        let mut run = Vec::new();
        for link in links {
            let (name, metrics) = named(link)?;
            run.extend(cells(&format!("link.{name}"), metrics));
        }
        run.extend(cells("", Json::Object(whole)));
        for (index, flow) in flows.into_iter().enumerate() {
            let (name, metrics) = named(flow)?;
            let mut row = vec![
                ("point".to_owned(), Cell::Count(point as u64)),
                ("seed".to_owned(), Cell::Count(seed)),
                ("flow".to_owned(), Cell::Word(name)),
                ("flow_index".to_owned(), Cell::Count(index as u64)),
            ];
            row.extend(cells("", metrics));
            row.extend(run.iter().cloned());
            self.push(row);
        }
        Ok(())
    }

    fn push(&mut self, row: Vec<(String, Cell)>) {
        for (name, cell) in row {
            let column = match self.index.get(&name) {
                Some(column) => *column,
                None => {
                    self.index.insert(name.clone(), self.columns.len());
                    self.columns.push((name, Vec::new()));
                    self.columns.len() - 1
                }
            };
            let cells = &mut self.columns[column].1;
            cells.resize(self.rows, Cell::None); // earlier rows lack this column
            cells.push(cell);
        }
        self.rows += 1;
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

/// Returns the numbers and words in `value`, each with its path below `at`. Of lists, only those of
/// decades are included, with the start of each decade in the path.
fn cells(at: &str, value: Json) -> Vec<(String, Cell)> {
    let join = |name: String| {
        if at.is_empty() {
            name
        } else {
            format!("{at}.{name}")
        }
    };
    let cell = match value {
        Json::Object(inner) => {
            return inner
                .into_iter()
                .flat_map(|(name, value)| cells(&join(name), value))
                .collect();
        }
        Json::Array(list) => {
            let decade = |mut each: Json| {
                Some((each.as_object_mut()?.remove("from_bytes")?.as_u64()?, each))
            };
            let decades = list.into_iter().filter_map(decade);
            return decades
                .flat_map(|(from, decade)| cells(&join(from.to_string()), decade))
                .collect();
        }
        Json::Null => Cell::None,
        Json::Bool(flag) => Cell::Count(u64::from(flag)),
        Json::Number(number) => match number.as_u64() {
            Some(count) => Cell::Count(count),
            None => Cell::Measure(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(word) => Cell::Word(word),
    };
    vec![(at.to_owned(), cell)]
}
