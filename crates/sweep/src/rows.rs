//! What is kept of runs: a row a flow and run, by the names of the metrics.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use trace::Summary;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name: that of the metric, with points where metrics lie in each other: `rtt_s.mean`, `link.bottleneck.drops`.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts.
    Counts(Vec<u64>),
    /// Measures; NaN is "none".
    Measures(Vec<f64>),
    /// Words: an index into `labels` each.
    Words {
        /// One a row.
        codes: Vec<u32>,
        /// The words.
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

#[derive(Clone, Debug, PartialEq)]
enum Cell {
    None,
    Count(u64),
    Measure(f64),
    Word(String),
}

impl Rows {
    /// Adds a row for each flow of a run.
    pub(crate) fn add(&mut self, point: usize, summary: &Summary) {
        let links = summary.links.iter().flat_map(|link| {
            let Json::Object(mut metrics) = json(link) else { unreachable!("a link's metrics have names") };
            metrics.remove("name");
            cells(&format!("link.{}", link.name), Json::Object(metrics))
        });
        let links: Vec<(String, Cell)> = links.collect();
        for (index, flow) in summary.flows.iter().enumerate() {
            let mut row = vec![
                ("point".to_owned(), Cell::Count(point as u64)),
                ("seed".to_owned(), Cell::Count(summary.seed)),
                ("flow".to_owned(), Cell::Word(flow.name.clone())),
                ("flow_index".to_owned(), Cell::Count(index as u64)),
            ];
            let Json::Object(mut metrics) = json(flow) else { unreachable!("a flow's metrics have names") };
            metrics.remove("name");
            row.extend(cells("", Json::Object(metrics)));
            row.extend(links.iter().cloned());
            row.extend([
                ("jain".to_owned(), summary.jain.map_or(Cell::None, Cell::Measure)),
                ("packets".to_owned(), Cell::Count(summary.packets)),
                ("events".to_owned(), Cell::Count(summary.events)),
                ("duration_s".to_owned(), Cell::Measure(summary.duration_s)),
                ("measure_from_s".to_owned(), Cell::Measure(summary.measure_from_s)),
                ("version".to_owned(), Cell::Word(summary.version.to_owned())),
            ]);
            self.push(row);
        }
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
            cells.resize(self.rows, Cell::None); // it was not in earlier rows
            cells.push(cell);
        }
        self.rows += 1;
    }

    /// The columns.
    pub(crate) fn columns(self) -> Vec<Column> {
        let rows = self.rows;
        let columns = self.columns.into_iter().map(|(name, mut cells)| {
            cells.resize(rows, Cell::None);
            Column { name, values: values(cells) }
        });
        columns.collect()
    }
}

/// Words if there is one, measures if one is none or a fraction, else counts.
fn values(cells: Vec<Cell>) -> Values {
    if cells.iter().all(|cell| matches!(cell, Cell::Count(_))) {
        return Values::Counts(cells.iter().map(|cell| if let Cell::Count(n) = cell { *n } else { 0 }).collect());
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
        let word = if let Cell::Word(word) = cell { word } else { String::new() };
        *known.entry(word.clone()).or_insert_with(|| {
            labels.push(word);
            labels.len() as u32 - 1
        })
    };
    let codes = cells.into_iter().map(&mut code).collect();
    Values::Words { codes, labels }
}

fn json(metrics: &impl serde::Serialize) -> Json {
    serde_json::to_value(metrics).expect("metrics are numbers by name")
}

/// The numbers and words in `value`, each by its path below `at`. A list is none of the metrics that rows have.
fn cells(at: &str, value: Json) -> Vec<(String, Cell)> {
    let cell = match value {
        Json::Object(inner) => {
            let join = |name: String| if at.is_empty() { name } else { format!("{at}.{name}") };
            return inner.into_iter().flat_map(|(name, value)| cells(&join(name), value)).collect();
        }
        Json::Array(_) => return Vec::new(),
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
