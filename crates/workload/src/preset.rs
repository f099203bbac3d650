//! Presets: captures that are not public, synthesized from published statistics.

use fullpipe_units::{Bytes, Draw, Rng, Span, Time};

use crate::flows::{Chunk, Flows};
use crate::law::{BoundedPareto, Law};

/// A synthetic capture with a name, generated anew for each seed.
#[derive(Debug)]
pub struct Preset {
    /// Name of the preset.
    pub name: &'static str,
    /// Purpose, in one sentence.
    pub purpose: &'static str,
    /// Source of its numbers.
    pub source: &'static str,
    /// Flows per second; gaps are exponential.
    pub rate: f64,
    /// Time from the first start to the last.
    pub span: Span,
    /// Distribution of flow sizes.
    pub volumes: BoundedPareto,
    /// Pauses within flows.
    pub pauses: Pauses,
}

/// Pauses within some flows. Their places in the flow are uniform.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// Share of flows with pauses.
    pub share: f64,
    /// Mean number of pauses in those flows, at least one; geometrically distributed.
    pub mean_count: f64,
    /// Length of the shortest pause.
    pub least: Span,
    /// Mean length in addition to the shortest; exponentially distributed.
    pub mean_beyond: Span,
}

/// The presets.
pub static PRESETS: [Preset; 1] = [Preset {
    name: "mawi-2020-06-10",
    purpose: "15 minutes of a backbone link: most flows are short, most bytes are in long flows; fitted to published percentiles, not the trace itself",
    source: "R. Bless, L. Lihotzki, M. Zitterbart, ICCRG at IETF 123 (2025): 890,000 TCP flows in 15 min, 90 % of them < 18.2 kB, a random byte with 90 % in one > 6.4 MB",
    rate: 890_000.0 / 900.0,
    span: Span::from_secs(900),
    // Two equations for shape and min, given max: F(18.2 kB) = 0.9, and 0.1 of the bytes in flows
    // up to 6.4 MB.
    volumes: BoundedPareto {
        shape: 0.603,
        min: Bytes::new(400),
        max: Bytes::new(2_000_000_000),
    },
    // The source publishes only that pauses above 100 ms are kept; these numbers are our choice.
    pauses: Pauses {
        share: 0.25,
        mean_count: 3.0,
        least: Span::from_millis(100),
        mean_beyond: Span::from_secs(1),
    },
}];

/// Limit on the number of flows: rows are counted with 32 bits.
const MOST: usize = u32::MAX as usize;

impl Preset {
    /// Returns the preset with this name.
    pub fn named(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Returns the mean rate of the flows' data, in bit/s.
    pub fn offered(&self) -> f64 {
        self.rate * Law::BoundedPareto(self.volumes).mean() * 8.0
    }

    /// Returns the flows that start up to `until`; those up to an earlier time are a prefix of
    /// them.
    pub fn flows(&self, seed: u64, name: &str, until: Span) -> Flows {
        let stream = |usage| Rng::stream(seed, name, usage);
        let (mut gaps, mut volumes, mut pauses) =
            (stream("gaps"), stream("volumes"), stream("pauses"));
        let gap = Draw::Exponential {
            mean: Span::from_secs_f64(1.0 / self.rate),
        };
        let law = Law::BoundedPareto(self.volumes);
        let end = Time::ZERO + until.min(self.span);
        let (mut starts, mut bytes, mut first_chunks, mut chunks) =
            (Vec::new(), Vec::new(), vec![0], Vec::new());
        let mut at = Time::ZERO;
        // The first flow starts the capture.
        while at <= end && starts.len() < MOST {
            let volume = law.draw(&mut volumes);
            self.pauses.split(volume, &mut pauses, &mut chunks);
            starts.push(at);
            bytes.push(volume);
            first_chunks.push(chunks.len() as u32);
            at += gap.next(&mut gaps);
        }
        Flows::with_chunks(starts, bytes, first_chunks, chunks)
            .expect("flows drawn in order are in order")
    }
}

impl Pauses {
    /// Adds a flow's chunks, if it pauses.
    fn split(&self, volume: Bytes, rng: &mut Rng, chunks: &mut Vec<Chunk>) {
        if !rng.chance(self.share) {
            return;
        }
        let mut cuts = Vec::new();
        loop {
            cuts.push(rng.below(volume.get()));
            // Geometric, from one on: each pause is followed by another with probability 1 -
            // 1/mean.
            if !rng.chance(1.0 - 1.0 / self.mean_count) {
                break;
            }
        }
        // Cuts at the ends of the flow, or two in one place, separate nothing.
        cuts.push(0);
        cuts.sort_unstable();
        cuts.dedup();
        cuts.push(volume.get());
        let beyond = Draw::Exponential {
            mean: self.mean_beyond,
        };
        let mut offset = Span::ZERO;
        for ends in cuts.windows(2) {
            chunks.push(Chunk {
                offset,
                bytes: Bytes::new(ends[1] - ends[0]),
            });
            offset += self.least + beyond.next(rng);
        }
    }
}
