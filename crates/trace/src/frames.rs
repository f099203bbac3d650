//! Frames of a media source, from the encoder to the receiver.

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Time};

use crate::{Histogram, MeasuredTime};

/// An incomplete frame: some of its data has not arrived.
#[derive(Clone, Copy, Debug)]
struct Incomplete {
    created: Time,
    left: Bytes,
}

/// Measurements of a flow's frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    /// Times from the encoder to the arrival of the last byte.
    pub(crate) delays: Histogram,
    /// Incomplete frames that were handed over within the window.
    pub(crate) lost: u64,
    /// The incomplete frames, oldest first. A frame with a lost packet remains incomplete.
    incomplete: VecDeque<Incomplete>,
}

/// Number of incomplete frames that are remembered: the data of an older one no longer arrives.
const REMEMBERED: usize = 4096;

impl Frames {
    pub(crate) fn on_frame(&mut self, window: &MeasuredTime, created: Time, size: Bytes) {
        self.lost += u64::from(window.holds(created));
        if self.incomplete.len() == REMEMBERED {
            self.incomplete.pop_front();
        }
        self.incomplete.push_back(Incomplete {
            created,
            left: size,
        });
    }

    pub(crate) fn on_data(&mut self, window: &MeasuredTime, now: Time, created: Time, size: Bytes) {
        let Ok(place) = self
            .incomplete
            .binary_search_by_key(&created, |frame| frame.created)
        else {
            return;
        };
        let frame = &mut self.incomplete[place];
        frame.left -= size;
        if frame.left > Bytes::ZERO || now > window.to {
            return;
        }
        self.incomplete.remove(place);
        self.lost -= u64::from(window.holds(created));
        if window.holds(now) {
            self.delays.add(now - created);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_units::Span;

    #[test]
    fn a_frame_is_complete_with_its_last_byte_in_any_order() {
        let ms = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let window = MeasuredTime::new(ms(100), ms(300));
        let mut frames = Frames::default();
        for at in [80, 100, 120, 290] {
            frames.on_frame(&window, ms(at), Bytes::new(2_000));
        }
        let half = Bytes::new(1_000);
        for (at, created) in [
            (110, 80),
            (130, 100),
            (140, 120),
            (150, 80),  // complete after 70 ms; handed over before the window
            (170, 120), // complete after 50 ms
            (301, 290),
            (302, 290), // complete after the end of the run
        ] {
            frames.on_data(&window, ms(at), ms(created), half);
        }
        assert_eq!(frames.delays.weight(), 2);
        assert_eq!(frames.lost, 2, "those of 100 ms and of 290 ms");
    }
}
