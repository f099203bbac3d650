//! Flows that arrive during a run: many short and few long ones, from captures or drawn from
//! distributions. Sans-IO and deterministic: turns columns of flows into arrivals in order of time.
//!
//! ```
//! # use fullpipe_units::{Rate, Span};
//! # use fullpipe_workload::{Model, ArrivalSource};
//! let model = Model::parse("bounded_pareto shape 1.2 min 1kB max 10MB")?;
//! let source = ArrivalSource::new(&model, None)?.at_load(0.5, Rate::from_mbps(100))?;
//! for arrival in source.arrivals(1, "web", Span::from_secs(1)) {
//!     println!("{:?}: {}", arrival.at, arrival.bytes);
//! }
//! # Ok::<(), fullpipe_workload::Refusal>(())
//! ```

mod cdf;
mod flows;
mod ideal;
mod law;
mod model;
mod preset;
mod servers;
mod source;

pub use cdf::{Cdf, CdfError};
pub use flows::{Chunk, Chunks, Flows, FlowsError};
pub use ideal::{Best, Delays, Jobs, Peak, Wire};
pub use law::{BoundedPareto, Law, Lognormal};
pub use model::{Described, MODELS, Model, Needs, Refusal};
pub use preset::{PRESETS, Pauses, Preset};
pub use source::{Arrival, ArrivalSource, Arrivals, Input};
