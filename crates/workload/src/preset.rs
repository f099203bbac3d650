//! Captures that can't be had, made up from what was published about them.

use fullpipe_units::{Bytes, Draw, Rng, Span, Time};

use crate::flows::{Chunk, Flows};
use crate::law::{BoundedPareto, Law};

/// A capture by its name, made up anew for each seed.
#[derive(Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it stands for, in one sentence.
    pub purpose: &'static str,
    /// What its numbers come from.
    pub source: &'static str,
    /// Flows a second; gaps are exponential.
    pub rate: f64,
    /// From the first start to the last.
    pub span: Span,
    /// How large flows are.
    pub volumes: BoundedPareto,
    /// Pauses within flows.
    pub pauses: Pauses,
}

/// Some flows pause: how many, how often, and for how long. Where in the flow is drawn uniformly.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// The part of the flows that have any.
    pub share: f64,
    /// The mean number in those, at least one; geometric.
    pub mean_count: f64,
    /// No pause is shorter.
    pub least: Span,
    /// The mean of what comes on top; exponential.
    pub mean_beyond: Span,
}

/// The presets.
pub static PRESETS: [Preset; 1] = [Preset {
    name: "mawi-2020-06-10",
    purpose: "a backbone's 15 minutes: most flows are short, most bytes in long ones; a fit of published percentiles, not the trace",
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
    // Nothing is published of pauses but that those above 100 ms are kept: our choice.
    pauses: Pauses {
        share: 0.25,
        mean_count: 3.0,
        least: Span::from_millis(100),
        mean_beyond: Span::from_secs(1),
    },
}];

/// No preset is longer: rows are counted with 32 bits.
const MOST: usize = u32::MAX as usize;

impl Preset {
    /// The preset of that name.
    pub fn named(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// What the flows carry in the mean, bit/s.
    pub fn offered(&self) -> f64 {
        self.rate * Law::BoundedPareto(self.volumes).mean() * 8.0
    }

    /// The flows that start up to `until`; those up to an earlier time are the first of them.
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
        // The first flow begins the capture.
        while at <= end && starts.len() < MOST {
            let volume = law.draw(&mut volumes);
            self.pauses.split(volume, &mut pauses, &mut chunks);
            starts.push(at);
            bytes.push(volume);
            first_chunks.push(chunks.len() as u32);
            at += gap.next(&mut gaps);
        }
        Flows::with_chunks(starts, bytes, first_chunks, chunks)
            .expect("what is drawn in order is in order")
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
            // Geometric from one on: another with 1 - 1/mean.
            if !rng.chance(1.0 - 1.0 / self.mean_count) {
                break;
            }
        }
        // Cuts at the flow's ends, or two at one place, part nothing.
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
