//! The algorithms, compared with their specifications' numbers through the public contract only.

mod bbr1;
mod bbr2;
mod bbr3;
mod c4;
mod copa;
mod cubic;
mod dctcp;
mod driver;
mod kernel;
mod ledbat;
mod ledbatpp;
mod lia;
mod newreno;
mod path;
mod prague;
mod rledbat;
mod scream;
mod slow_start;
mod spared;
mod vegas;
