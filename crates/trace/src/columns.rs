//! The columns of a trace, declared once: units of exported columns, and the tables of
//! `docs/reference/metrics.md`, come from here. Algorithms declare their own columns.

/// A column that a table of a trace has.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredColumn {
    /// Name of the table.
    pub table: &'static str,
    /// Name of the column.
    pub name: &'static str,
    /// Unit of its values in files and frames; times are recorded in nanoseconds.
    pub unit: &'static str,
    /// Meaning.
    pub says: &'static str,
}

const fn of(
    table: &'static str,
    name: &'static str,
    unit: &'static str,
    says: &'static str,
) -> DeclaredColumn {
    DeclaredColumn {
        table,
        name,
        unit,
        says,
    }
}

/// The columns of each table, in the order of tables and columns.
pub static COLUMNS: &[DeclaredColumn] = &[
    of("flows", "time", "s", "since the start of the run"),
    of("flows", "flow", "", "name of the flow"),
    of(
        "flows",
        "cwnd",
        "B",
        "congestion window in force: the controller's; in fast recovery PRR's, unless the algorithm has its own recovery (BBR)",
    ),
    of(
        "flows",
        "inflight",
        "B",
        "data sent and neither acknowledged, SACKed nor declared lost",
    ),
    of(
        "flows",
        "ssthresh",
        "B",
        "slow-start threshold; null before the first congestion",
    ),
    of(
        "flows",
        "pacing_rate",
        "bit/s",
        "in force; null without pacing",
    ),
    of(
        "flows",
        "delivery_rate",
        "bit/s",
        "sample of the latest ACK (draft-ietf-ccwg-bbr-06 §4.1.2.3); null if it gave none",
    ),
    of(
        "flows",
        "rtt",
        "s",
        "sample of the latest ACK, as in `rtt_s`; null if it gave none",
    ),
    of(
        "flows",
        "srtt",
        "s",
        "smoothed RTT (RFC 6298), including the handshake; null before it",
    ),
    of(
        "flows",
        "min_rtt",
        "s",
        "smallest RTT of the connection, including the handshake; null before it",
    ),
    of(
        "flows",
        "delivered",
        "B",
        "data acknowledged so far, cumulatively or by SACK",
    ),
    of(
        "flows",
        "acked",
        "B",
        "data acknowledged cumulatively so far (SND.UNA); on QUIC `delivered`",
    ),
    of(
        "flows",
        "lost",
        "B",
        "data declared lost so far, including spurious losses",
    ),
    of(
        "flows",
        "limited_by",
        "",
        "current [limit](#what-limits-a-flow)",
    ),
    of("links", "time", "s", "since the start of the run"),
    of("links", "link", "", "name of the link"),
    of(
        "links",
        "queue_packets",
        "",
        "waiting packets, excluding the one in transmission",
    ),
    of("links", "queue_bytes", "B", "waiting bytes"),
    of(
        "links",
        "sojourn",
        "s",
        "with a drop-tail queue, total waiting time of the packet accepted last; with an AQM, waiting time of the packet sent last; 0 if no packet waits",
    ),
    of(
        "links",
        "drops",
        "",
        "data packets dropped so far, by the queue or by the policer",
    ),
    of("links", "marks", "", "packets marked so far"),
    of(
        "links",
        "rate",
        "bit/s",
        "mean capacity of the link since its previous row, or of its shaper if that is slower; with a trace of transmission opportunities over at least 100 ms",
    ),
    of("queues", "time", "s", "time of the sample"),
    of("queues", "link", "", "name of the link"),
    of("queues", "flow", "", "name of the flow or the workload"),
    of(
        "queues",
        "queue_bytes",
        "B",
        "its waiting bytes, data and ACKs; the sum over `flow` is `queue_bytes` of `links`",
    ),
    of(
        "queues",
        "drops",
        "",
        "its data packets dropped so far, by the queue or by the policer",
    ),
    of("queues", "marks", "", "its packets marked so far"),
    of("transitions", "time", "s", "time of the change"),
    of("transitions", "flow", "", "name of the flow"),
    of("transitions", "from", "", "old state"),
    of("transitions", "to", "", "new state"),
    of("transitions", "reason", "", "rule that caused it"),
    of(
        "responses",
        "start",
        "s",
        "time of the request; for the first response, departure of the SYN",
    ),
    of("responses", "end", "s", "arrival of the last byte"),
    of("responses", "flow", "", "name of the flow"),
    of("responses", "bytes", "B", "size"),
    of("workloads", "time", "s", "time of the sample"),
    of("workloads", "workload", "", "name of the workload"),
    of("workloads", "active", "", "its active flows"),
    of("packets", "time", "s", "departure from the sender"),
    of("packets", "flow", "", "name of the flow"),
    of(
        "packets",
        "sequence",
        "B",
        "position of its first byte in the stream, as if all segments were full",
    ),
    of("packets", "bytes", "B", "payload"),
    of("packets", "kind", "", "`new` or `retransmission`"),
    of(
        "packets",
        "fate",
        "",
        "`arrived`, `marked` (it arrived with a CE mark), `dropped` (by a queue), `policed`, `lost` (at random), or `under way` at the end of the run",
    ),
    of(
        "packets",
        "link",
        "",
        "name of the link at which it was dropped, policed or lost; else null",
    ),
    of(
        "packets",
        "access",
        "s",
        "time until it reached the first link: transmission on the flow's access link, and random delays of sending; null if it had not reached it at the end of the run",
    ),
    of(
        "packets",
        "queue",
        "s",
        "waiting time in the queues of all links; null if it did not arrive",
    ),
    of(
        "packets",
        "path",
        "s",
        "rest of the one-way delay: transmission, propagation and jitter; null if it did not arrive",
    ),
    of("acks", "time", "s", "arrival at the sender"),
    of("acks", "flow", "", "name of the flow"),
    of(
        "acks",
        "acked",
        "B",
        "cumulative acknowledgment, in the unit of `sequence`",
    ),
    of(
        "acks",
        "sack_start",
        "B",
        "first byte of a SACK block; null without one",
    ),
    of("acks", "sack_end", "B", "byte behind its last"),
    of("transfers", "start", "s", "departure of its SYN"),
    of("transfers", "workload", "", "name of its workload"),
    of("transfers", "bytes", "B", "size"),
    of(
        "transfers",
        "rtt",
        "s",
        "propagation delay, both directions",
    ),
    of(
        "transfers",
        "alone",
        "s",
        "time that it would take [alone](../guide/workloads.md#slowdown)",
    ),
    of(
        "transfers",
        "completion",
        "s",
        "completion time; null if it did not end",
    ),
];

/// Columns of times, which are recorded in nanoseconds.
const NANOSECONDS: [&str; 3] = ["time", "start", "end"];

impl DeclaredColumn {
    /// Returns the unit of the recorded values.
    pub(crate) fn recorded_unit(&self) -> &'static str {
        if NANOSECONDS.contains(&self.name) {
            "ns"
        } else {
            self.unit
        }
    }
}

/// Returns the declaration of a column.
///
/// # Panics If it is not declared.
pub(crate) fn declared(table: &str, name: &str) -> &'static DeclaredColumn {
    let mut columns = COLUMNS.iter();
    columns
        .find(|column| (column.table, column.name) == (table, name))
        .expect("a recorded column is declared")
}

/// Returns whether a column is part of the fingerprint. Those that are not follow from the scenario
/// and from the other tables' packets; without them, a fingerprint is that of earlier versions.
pub(crate) fn in_fingerprint(table: &str, column: &str) -> bool {
    !matches!(
        (table, column),
        ("queues" | "packets" | "acks", _) | ("links", "rate")
    )
}
