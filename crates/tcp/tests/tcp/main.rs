//! Sender and receiver in scripted exchanges; each file tests one mechanism or RFC. The invariants
//! of all exchanges are in `property`.

mod acks;
mod contract_order;
mod decisions;
mod ecn;
mod growth;
mod handshake;
mod large_window;
mod limits;
mod misbehaving;
mod offer;
mod one_way;
mod pacing;
mod property;
mod prr;
mod rack;
mod rate;
mod rto;
mod script;
mod tlp;
mod undo;
