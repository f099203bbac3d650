//! Sender and receiver in scripted exchanges, each file a rule or an RFC's; what holds in all of
//! them is in `property`.

mod contract_order;
mod ecn;
mod handshake;
mod large_window;
mod limits;
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
