//! A scenario's path for packets from outside. The caller reports each arrival and receives
//! departures, deliveries and drops. Sans-IO: the caller has the clock. The path consists of the
//! same elements as in the simulator, with the same random streams.
//!
//! ```
//! # use fullpipe_emulator::{Direction, EmulatedPacket, Emulator, Observer, PacketKind};
//! # use fullpipe_units::{Bytes, Span, Time};
//! struct Print;
//! impl Observer<&str> for Print {
//!     fn delivered(&mut self, at: Time, waited: Span, packet: EmulatedPacket<&str>) {
//!         println!("{at:?}: {} after {waited:?} in queues", packet.payload);
//!     }
//! }
//! let text = "duration = \"1s\"\n[path]\nrate = \"12mbit\"\nrtt = \"20ms\"\nbuffer = \"9packets\"\n[[flow]]\ncc = \"cubic\"";
//! let scenario = fullpipe_scenario::Scenario::parse(text, "example.toml")?;
//! let mut path = Emulator::new(&scenario, fullpipe_emulator::whole(&scenario));
//! let data = |payload| EmulatedPacket::new(0, Direction::Forward, PacketKind::Data, Bytes::new(1_500), payload);
//! path.arrive(Time::ZERO, data("first"), &mut Print);
//! path.arrive(Time::ZERO, data("second"), &mut Print);
//! while let Some(at) = path.next_at() {
//!     path.advance(at, &mut Print); // at 11 ms: "first"; at 12 ms: "second", after 1 ms
//! }
//! # Ok::<(), fullpipe_scenario::Error>(())
//! ```

mod directional_path;
mod emulator;
mod link;
mod packet;

pub use emulator::{Emulator, check, whole};
pub use fullpipe_network::{DropCause, PacketKind};
pub use packet::{Direction, EmulatedPacket, LinkTransit, Observer};
