//! A flow's own link to the network.

use fullpipe_units::Rate;

use crate::Scenario;

/// Factor by which an access link is faster than the fastest link ever is.
pub const ACCESS_SPEED: u64 = 10;

impl Scenario {
    /// Returns the rate of each flow's access link.
    pub fn access_rate(&self) -> Rate {
        Rate::from_bps(self.fastest().as_bps().saturating_mul(ACCESS_SPEED))
    }
}
