//! Columns of the trace as observations.

use fullpipe_scenario::Scenario;
use fullpipe_sim::Simulation;
use fullpipe_trace::{FlowRow, LinkRow};
use fullpipe_units::{Bytes, Rate, Span};

/// Value of a column that is null in a trace.
const NULL: f64 = -1.0;

/// A column of the trace, for a flow or a link.
#[derive(Clone, Debug)]
pub struct Column {
    of: Of,
    /// The flow or link; `None` for the agent's own flow, or the bottleneck.
    place: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Of {
    Flow(fn(&FlowRow) -> f64),
    Link(fn(&LinkRow) -> f64),
}

fn bytes(value: Bytes) -> f64 {
    if value == Bytes::MAX {
        NULL
    } else {
        value.as_f64()
    }
}

fn span(value: Option<Span>) -> f64 {
    value
        .filter(|span| *span != Span::MAX)
        .map_or(NULL, Span::as_secs_f64)
}

fn rate(value: Option<Rate>) -> f64 {
    value.map_or(NULL, Rate::as_f64)
}

/// The numeric columns of the tables `flows` and `links`, in their units.
const KNOWN: &[(&str, &str, Of)] = &[
    ("flows", "time", Of::Flow(|row| row.time.as_secs_f64())),
    ("flows", "cwnd", Of::Flow(|row| bytes(row.cwnd))),
    ("flows", "inflight", Of::Flow(|row| bytes(row.inflight))),
    ("flows", "ssthresh", Of::Flow(|row| bytes(row.ssthresh))),
    (
        "flows",
        "pacing_rate",
        Of::Flow(|row| rate(row.pacing_rate)),
    ),
    (
        "flows",
        "delivery_rate",
        Of::Flow(|row| rate(row.delivery_rate)),
    ),
    ("flows", "rtt", Of::Flow(|row| span(row.rtt))),
    (
        "flows",
        "srtt",
        Of::Flow(|row| span(Some(row.srtt).filter(|srtt| *srtt > Span::ZERO))),
    ),
    ("flows", "min_rtt", Of::Flow(|row| span(Some(row.min_rtt)))),
    ("flows", "delivered", Of::Flow(|row| bytes(row.delivered))),
    ("flows", "acked", Of::Flow(|row| bytes(row.acked))),
    ("flows", "lost", Of::Flow(|row| bytes(row.lost))),
    (
        "flows",
        "limited_by",
        Of::Flow(|row| f64::from(row.limited_by)),
    ),
    ("links", "time", Of::Link(|row| row.time.as_secs_f64())),
    (
        "links",
        "queue_packets",
        Of::Link(|row| row.queue_packets as f64),
    ),
    (
        "links",
        "queue_bytes",
        Of::Link(|row| bytes(row.queue_bytes)),
    ),
    ("links", "sojourn", Of::Link(|row| span(Some(row.sojourn)))),
    ("links", "drops", Of::Link(|row| row.drops as f64)),
    ("links", "marks", Of::Link(|row| row.marks as f64)),
];

impl Column {
    /// Reads `TABLE.COLUMN` or `TABLE.COLUMN@NAME`, the name that of a flow or link of the scenario.
    ///
    /// # Errors If there is no such column, flow or link: the problem and its fix.
    pub fn read(text: &str, scenario: &Scenario) -> Result<Column, (String, String)> {
        let (column, name) = match text.split_once('@') {
            Some((column, name)) => (column, Some(name)),
            None => (text, None),
        };
        let all: Vec<String> = KNOWN
            .iter()
            .map(|(table, name, _)| format!("{table}.{name}"))
            .collect();
        let Some(known) = all.iter().position(|each| each == column) else {
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let fix = match fullpipe_units::nearest(column, &all) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!(
                    "use a feature of an interval, or a column of the trace: {}",
                    all.join(", ")
                ),
            };
            return Err((
                "neither a feature of an interval nor a column of the trace".to_owned(),
                fix,
            ));
        };
        let of = KNOWN[known].2;
        let names: Vec<&str> = match of {
            Of::Flow(_) => scenario
                .flows
                .iter()
                .map(|flow| flow.name.as_str())
                .collect(),
            Of::Link(_) => scenario.links().map(|link| link.name.as_str()).collect(),
        };
        let place = match name {
            None => None,
            Some(name) => match names.iter().position(|each| *each == name) {
                Some(place) => Some(place),
                None => {
                    let kind = if matches!(of, Of::Flow(_)) {
                        "flow"
                    } else {
                        "link"
                    };
                    let problem = format!("the scenario has no {kind} {name:?}");
                    return Err((problem, format!("name one of {}", names.join(", "))));
                }
            },
        };
        Ok(Column { of, place })
    }

    /// Returns the value, for an agent's flow.
    pub(crate) fn value(&self, simulation: &mut Simulation, agent: usize) -> f64 {
        match self.of {
            Of::Flow(value) => simulation
                .flow_row(self.place.unwrap_or(agent))
                .map_or(NULL, |row| value(&row)),
            Of::Link(value) => value(&simulation.link_row(self.place.unwrap_or(0))),
        }
    }

    /// Returns the names of all columns, as `read` takes them.
    pub fn names() -> impl Iterator<Item = String> {
        KNOWN
            .iter()
            .map(|(table, name, _)| format!("{table}.{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_trace::COLUMNS;

    #[test]
    fn every_numeric_column_of_flows_and_links_can_be_observed() {
        // Words, and shares that a trace computes from two rows.
        let others = ["flows.flow", "links.link", "links.rate"];
        let declared: Vec<String> = COLUMNS
            .iter()
            .filter(|column| ["flows", "links"].contains(&column.table))
            .map(|column| format!("{}.{}", column.table, column.name))
            .filter(|name| !others.contains(&name.as_str()))
            .collect();
        let mut ours: Vec<String> = Column::names().collect();
        ours.sort();
        let mut expected = declared;
        expected.sort();
        assert_eq!(ours, expected);
    }
}
