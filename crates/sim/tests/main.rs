//! Whole runs of the simulator: its models, its determinism, and its architecture.

mod apps;
mod architecture;
mod copa;
mod cubic_response;
mod delay_trace;
mod determinism;
mod expectations;
mod host;
mod kernel_oracle;
mod marks;
mod max_min;
mod path;
mod profiles;
mod queue_oracle;
mod queues;
mod scavengers;
mod scenarios;
mod slowdown;
mod socket;
mod topology;
mod transitions;
mod workloads;
