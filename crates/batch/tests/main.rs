//! Many runs: rows that depend on neither threads nor order.

mod population;
mod sweep;
