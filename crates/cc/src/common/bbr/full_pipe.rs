//! Is the pipe full? Rounds in which the bandwidth does not grow say so: draft-ietf-ccwg-bbr-06
//! §5.3.1.2.

/// When growth is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// With the ACK that begins a round (v1, v2, the draft).
    AtRoundStart,
    /// With every ACK (Linux v3); what is counted are rounds all the same.
    AtEveryAck,
}

/// The estimator of a plateau.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullPipe {
    /// Bandwidth at the last real growth, B/s: `full_bw`.
    pub bw: f64,
    /// Rounds since: `full_bw_cnt`.
    pub count: u32,
    /// Since the last reset there was a plateau: `full_bw_now`.
    pub now: bool,
    /// There has been one: `full_bw_reached`.
    pub reached: bool,
}

impl FullPipe {
    /// Takes a bandwidth that the application did not limit; `growth` times the last is growth, and
    /// `rounds` without it are a plateau. Three, because the receive window takes one to grow, the
    /// sender one to fill it, and the rate one to show.
    #[inline]
    pub fn on_ack(
        &mut self,
        bw: f64,
        round_start: bool,
        noticed: Growth,
        growth: f64,
        rounds: u32,
    ) {
        if self.now || !(round_start || noticed == Growth::AtEveryAck) {
            return;
        }
        if bw >= self.bw * growth {
            self.bw = bw;
            self.count = 0;
        } else if round_start {
            self.count += 1;
            self.now = self.count >= rounds;
            self.reached |= self.now;
        }
    }

    /// Looks for a plateau anew: `bbr_reset_full_bw`.
    pub fn reset(&mut self) {
        *self = FullPipe {
            reached: self.reached,
            ..FullPipe::default()
        };
    }

    /// Looks for growth beyond `bw` from now on.
    pub fn reset_to(&mut self, bw: f64) {
        *self = FullPipe {
            bw,
            reached: self.reached,
            ..FullPipe::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_within_a_round_counts_where_every_ack_is_looked_at() {
        for (noticed, full) in [(Growth::AtRoundStart, true), (Growth::AtEveryAck, false)] {
            let mut pipe = FullPipe::default();
            pipe.on_ack(100.0, true, noticed, 1.25, 3);
            for round in 0..3 {
                pipe.on_ack(100.0, true, noticed, 1.25, 3);
                if round == 1 {
                    pipe.on_ack(130.0, false, noticed, 1.25, 3);
                }
            }
            assert_eq!((pipe.now, pipe.reached), (full, full), "{noticed:?}");
        }
    }

    #[test]
    fn a_reset_forgets_the_plateau_but_not_that_there_was_one() {
        let mut pipe = FullPipe::default();
        for _ in 0..4 {
            pipe.on_ack(100.0, true, Growth::AtRoundStart, 1.25, 3);
        }
        pipe.reset_to(100.0);
        assert_eq!(
            (pipe.now, pipe.reached, pipe.count, pipe.bw),
            (false, true, 0, 100.0)
        );
    }
}
