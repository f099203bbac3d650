//! Keys of `[[program]]`: transfers that a user's own programs make.

use std::collections::BTreeMap;

use fullpipe_units::{ParamValue, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flow::no_extra;
use super::no_time;
use crate::raw_value::RawValue;
use crate::values::{Extra, Name};
use crate::workload::Text;

/// A transfer between two programs that run on this machine behind the path, with --on kernel or
/// uml. The server sends data over the path's links to its client, as the sender of a flow does.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct Program {
    /// Name of the flow in tables and file names. Comparisons treat it like an algorithm's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"my-quic")]
    #[schemars(extend("x-default" = "the recipe's name, numbered if several unnamed programs have the same recipe"))]
    pub(crate) name: Option<RawValue<Name>>,
    /// Recipe, which has the command lines: a name from `fullpipe list programs`.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Name>", example = &"iperf3", extend("x-default" = "none: server and client have the command lines"))]
    pub(crate) recipe: Option<RawValue<Name>>,
    /// Parameters of the recipe: numbers or words. `fullpipe explain <recipe>` lists them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-default" = "the defaults of the recipe"))]
    pub(crate) params: BTreeMap<String, RawValue<ParamValue>>,
    /// Command line of the server, which sends the data. It starts before the run, and has to listen
    /// at {port}. {cert} and {key} are the files of a certificate for tests, {far} is its own
    /// address. No shell reads the line. It runs only with the option --programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Text>", example = &"my-server --port {port} --cert {cert} --key {key}", extend("x-default" = "the recipe's"))]
    pub(crate) server: Option<RawValue<Text>>,
    /// Command line of the client, which takes the data from the server's address, {far}, and
    /// {port}. {bytes} is more than the path can carry in the run, {seconds} the time that is left
    /// at start. The transfer is complete when the client ends with exit code 0; at the end of the
    /// run it gets SIGTERM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Text>", example = &"my-client -o /dev/null {far}:{port}/100MB", extend("x-default" = "the recipe's"))]
    pub(crate) client: Option<RawValue<Text>>,
    /// Time at which the client starts.
    #[serde(default = "no_time")]
    pub(crate) start: RawValue<Span>,
    /// Two-way propagation delay of this flow in addition to path.rtt.
    #[serde(default = "no_extra")]
    pub(crate) rtt: RawValue<Extra>,
    /// Files to keep with the results, as a pattern of names in the directory in which both
    /// programs run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RawValue<Text>", example = &"*.qlog", extend("x-default" = "the recipe's, or no files"))]
    pub(crate) qlog: Option<RawValue<Text>>,
}
