//! Media rate control and pacing (§4.3.2, §4.4).

use fullpipe_units::{Rate, Span};

use super::declared::Params;
use crate::{Frame, MediaSource};

/// PACKET_OVERHEAD (§4.4), in bytes.
const PACKET_OVERHEAD: f64 = 20.0;
/// RATE_PACE_MIN (§4.3.2), in bit/s.
const RATE_PACE_MIN: f64 = 50_000.0;
/// RELAXED_PACING_LIMIT_LOW (§4.3.2).
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;

/// The target bitrate, in bit/s.
#[derive(Debug)]
pub(super) struct MediaRate {
    source: Option<MediaSource>,
    pub(super) target: f64,
    pub(super) adjust_factor: f64,
    pub(super) frame_size_dev: f64,
}

impl MediaRate {
    pub(super) fn new(source: Option<MediaSource>) -> MediaRate {
        MediaRate {
            source,
            target: source.map_or(0.0, |source| source.min.as_f64()),
            adjust_factor: 0.0,
            frame_size_dev: 0.0,
        }
    }

    /// Returns TARGET_BITRATE_MAX; a source that is no encoder has none.
    pub(super) fn max(&self) -> f64 {
        self.source
            .map_or(f64::INFINITY, |source| source.max.as_f64())
    }

    /// Processes a new frame.
    pub(super) fn on_frame(&mut self, frame: &Frame, params: &Params) {
        let Some(MediaSource { frame_period, .. }) = self.source else {
            return;
        };
        let period = frame_period.as_secs_f64();
        let error = (frame.waited.as_secs_f64() - period / 4.0) / period;
        self.adjust_factor = (self.adjust_factor + error * params.rate_adjust_gain).clamp(0.0, 0.5);
        let nominal = self.target * period / 8.0;
        let deviation = ((frame.size.as_f64() - nominal) / nominal).max(0.0);
        let alpha = params.frame_size_dev_alpha;
        self.frame_size_dev = ((1.0 - alpha) * self.frame_size_dev + alpha * deviation).min(0.2);
    }

    /// Computes the target bitrate of a reference window.
    pub(super) fn update(&mut self, ref_wnd: f64, mss: f64, srtt: Span) {
        if srtt == Span::ZERO {
            return;
        }
        let ref_wnd_ratio = (mss / ref_wnd).min(1.0);
        let mut scale = 1.0 - (ref_wnd_ratio - 0.1).clamp(0.0, 0.2);
        scale *= mss / (mss + PACKET_OVERHEAD);
        scale /= 1.2 + self.adjust_factor + self.frame_size_dev;
        let target = scale * 8.0 * ref_wnd / srtt.as_secs_f64();
        let min = self.source.map_or(0.0, |source| source.min.as_f64());
        self.target = target.max(min).min(self.max());
    }

    /// Returns pace_bitrate.
    pub(super) fn pacing_rate(&self, params: &Params) -> Rate {
        let rate = self.target.max(RATE_PACE_MIN) * params.packet_pacing_headroom;
        let nominal = self.target / self.max();
        let relaxed =
            ((nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW)).min(1.0);
        let least = 1.0 / params.max_relaxed_pacing_factor;
        Rate::from_bps_f64(rate / (1.0 - relaxed).max(least).min(1.0))
    }
}
