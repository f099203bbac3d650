//! The algorithms: each has its own folder or file, and one line in the registry.

pub mod bbr;
pub mod c4;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod ledbat;
pub mod ledbatpp;
pub mod lia;
pub mod newreno;
pub mod prague;
pub mod rledbat;
pub mod scream;
pub mod swift;
pub mod vegas;
pub mod vivace;

pub use bbr::{Bbr, Bbr1};
pub use c4::C4;
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use ledbat::Ledbat;
pub use ledbatpp::LedbatPp;
pub use lia::Lia;
pub use newreno::NewReno;
pub use prague::Prague;
pub use rledbat::Rledbat;
pub use scream::Scream;
pub use swift::Swift;
pub use vegas::Vegas;
pub use vivace::Vivace;
