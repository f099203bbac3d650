//! A sender driven by a table: each line is a time in milliseconds and an event.
//!
//! ```text
//!     0  > 0-9                    these segments leave
//!   100  < ack 0 sack 1-3 5       an ACK arrives; also `dsack 2`, `win 20` (segments from `ack` on), `ts 40` (echo),
//!                               `ce 3` (marked packets so far), `ece` (the flag)
//!   100  > r0 10                  a retransmission and a new segment leave
//!   900  -                        time passes
//! ```
//! A segment that the sender emits before the last line fails the script unless the table lists it
//! at that time. Without `ts`, an ACK has the echo that RFC 7323 §4.3 requires if the latest copy
//! of the first segment that it acknowledges has arrived. Time 0 is the end of the handshake,
//! except for [`Bench::closed`], where it is the time of the SYN.
#![allow(unreachable_pub)]

pub mod controller;

use std::collections::BTreeMap;

use fullpipe_cc::{CaState, NoObserver, RecoveryOwner};
use fullpipe_tcp::{
    Ack, AckKind, AckOutcome, App, Block, EcnFeedback, Limit, Pacing, SMSS, Segment, Sender,
    SenderConfig, Stack,
};
use fullpipe_units::{Bytes, Rng, Span, Time};

pub use controller::{Event, Test};

/// Returns the size of `n` full segments.
pub fn segments(n: u64) -> Bytes {
    SMSS * n
}

pub fn ms(ms: f64) -> Span {
    Span::from_nanos((ms * 1e6).round() as u64)
}

/// Returns a transfer of `n` full segments.
pub fn transfer(n: u64) -> App {
    App::Transfer { bytes: segments(n) }
}

pub struct Setup {
    pub controller: Test,
    pub owner: RecoveryOwner,
    pub app: App,
    pub pacing: Pacing,
    /// In milliseconds.
    pub rtt: f64,
    pub window: u32,
    pub ecn: EcnFeedback,
    pub codepoint: Option<fullpipe_cc::EcnCodepoint>,
    pub stack: Stack,
}

impl Setup {
    /// Returns a setup with a constant window of `n` segments.
    pub fn fixed(n: u64, app: App) -> Setup {
        let controller = Test::fixed(n);
        Setup {
            controller,
            owner: RecoveryOwner::Own,
            app,
            pacing: Pacing::Auto,
            rtt: 100.0,
            window: 1000,
            ecn: EcnFeedback::Accurate,
            codepoint: None,
            stack: Stack::default(),
        }
    }

    /// Returns a setup with a window of `n` segments that PRR halves.
    pub fn halving(n: u64, app: App) -> Setup {
        Setup {
            controller: Test::halving(n),
            owner: RecoveryOwner::Prr,
            ..Setup::fixed(n, app)
        }
    }
}

pub struct Bench {
    pub sender: Sender<Test>,
    pub outcome: AckOutcome,
    base: Time,
    pub now: Time,
    out: Vec<(Time, Segment)>,
    /// Time at which each segment was last sent, for the first `noted` entries of `out`.
    last_sent: BTreeMap<u64, Time>,
    noted: usize,
    /// The highest cumulative ACK, and its echo.
    una: u64,
    echo: Time,
    seen: usize,
}

impl Bench {
    /// Creates a connection whose SYN has just left.
    pub fn closed(setup: Setup) -> Bench {
        let Setup {
            controller,
            owner,
            app,
            pacing,
            ecn,
            codepoint,
            stack,
            ..
        } = setup;
        let rng = Rng::stream(1, "test", "controller");
        let mut sender = Sender::new(
            SenderConfig {
                controller,
                owner,
                app,
                pacing,
                hosted: false,
                rate_interval: Span::ZERO,
                smss: SMSS,
                initial_cwnd: SMSS * 10,
                stack,
                rng,
            },
            Time::ZERO,
        )
        .with_ecn(ecn, codepoint);
        let out = vec![(Time::ZERO, sender.syn(Time::ZERO))];
        Bench {
            sender,
            outcome: AckOutcome::default(),
            base: Time::ZERO,
            now: Time::ZERO,
            out,
            last_sent: BTreeMap::new(),
            noted: 0,
            una: 0,
            echo: Time::ZERO,
            seen: 0,
        }
    }

    /// Creates a connection that has just opened; time 0 of the script is now.
    pub fn open(setup: Setup) -> Bench {
        let (rtt, window) = (ms(setup.rtt), setup.window);
        let mut bench = Bench::closed(setup);
        bench.base = Time::ZERO + rtt;
        bench.now = bench.base;
        bench.out.clear();
        let ack = Ack {
            next: 0,
            echo: Time::ZERO,
            sent: bench.base,
            window,
            blocks: 0,
            dsack: false,
            kind: AckKind::Syn,
            ecn: 0,
        };
        bench.receive(&ack, &[]);
        bench
    }

    /// Returns the script's time of an instant, in milliseconds.
    pub fn time(&self, at: Time) -> f64 {
        at.since(self.base).as_nanos() as f64 / 1e6
    }

    /// Returns the instant of a script's time.
    pub fn at(&self, millis: f64) -> Time {
        self.base + ms(millis)
    }

    pub fn receive(&mut self, ack: &Ack, blocks: &[Block]) {
        self.outcome = self.sender.on_ack(self.now, ack, blocks, &mut NoObserver);
        self.transmit();
    }

    fn transmit(&mut self) {
        let (now, out) = (self.now, &mut self.out);
        self.sender
            .transmit(now, &mut NoObserver, |segment| out.push((now, segment)));
    }

    /// Lets timers fire and the pacer send before `until`, and at `until` if `inclusive`.
    pub fn pass(&mut self, until: Time, inclusive: bool) {
        loop {
            let at = self.sender.timer_at().min(self.sender.departure_at());
            if at > until || (at == until && !inclusive) {
                break;
            }
            self.now = self.now.max(at);
            let (now, out) = (self.now, &mut self.out);
            if self.sender.must_resend_syn(now) {
                out.push((now, self.sender.syn(now)));
            } else {
                self.sender
                    .on_timer(now, &mut NoObserver, |segment| out.push((now, segment)));
                self.transmit();
            }
            assert!(self.out.len() < 100_000, "the sender does not stop");
        }
        self.now = self.now.max(until);
    }

    /// Takes the segments sent since the last call.
    pub fn sent(&mut self) -> Vec<(Time, Segment)> {
        self.note();
        self.noted = 0;
        std::mem::take(&mut self.out)
    }

    /// Plays a table to its end.
    #[track_caller]
    pub fn play(&mut self, table: &str) {
        let mut expected = Vec::new();
        for line in table
            .lines()
            .map(|line| line.split("//").next().unwrap_or("").trim())
            .filter(|line| !line.is_empty())
        {
            let mut words = line.split_whitespace();
            let time: f64 = words
                .next()
                .and_then(|word| word.parse().ok())
                .unwrap_or_else(|| panic!("time in: {line}"));
            let at = self.at(time);
            match words.next() {
                Some(">") => words.for_each(|word| {
                    expand(word, |name| expected.push(format!("{time} > {name}")))
                }),
                Some("<") => {
                    assert!(at >= self.now, "{line} goes back in time");
                    self.pass(at, false);
                    let (ack, blocks) = self.parse_ack(words.map(str::to_owned).collect());
                    self.receive(&ack, &blocks);
                }
                Some("-") => self.pass(at, true),
                _ => panic!("not a line of a script: {line}"),
            }
            self.pass(at, true);
        }
        let sent: Vec<String> = self
            .sent()
            .iter()
            .map(|(at, segment)| self.describe(*at, segment))
            .collect();
        assert_eq!(sent, expected, "\nsent, and expected");
    }

    fn describe(&self, at: Time, segment: &Segment) -> String {
        let again = if segment.retransmit { "r" } else { "" };
        let name = if segment.syn {
            "syn".to_owned()
        } else {
            segment.seq.to_string()
        };
        format!("{} > {again}{name}", self.time(at))
    }

    fn note(&mut self) {
        self.last_sent.extend(
            self.out[self.noted..]
                .iter()
                .map(|(at, segment)| (segment.seq, *at)),
        );
        self.noted = self.out.len();
    }

    fn parse_ack(&mut self, words: Vec<String>) -> (Ack, Vec<Block>) {
        self.note();
        let mut ack = Ack {
            next: 0,
            echo: self.now,
            sent: self.now,
            window: 1000,
            blocks: 0,
            dsack: false,
            kind: AckKind::Plain,
            ecn: 0,
        };
        let mut blocks = Vec::new();
        let mut field = String::new();
        let mut echo = None;
        for word in words {
            match (field.as_str(), word.as_str()) {
                (_, "syn-ack") => ack.kind = AckKind::Syn,
                (_, "ack" | "sack" | "dsack" | "ts" | "win" | "ce") => field = word,
                (_, "ece") => ack.ecn = 1,
                ("ce", n) => ack.ecn = n.parse().unwrap(),
                ("ack", n) => ack.next = n.parse().unwrap(),
                ("win", n) => ack.window = n.parse().unwrap(),
                ("ts", n) => echo = Some(self.at(n.parse().unwrap())),
                ("sack", range) => blocks.push(block(range)),
                ("dsack", range) => {
                    ack.dsack = true;
                    blocks.insert(0, block(range));
                }
                _ => panic!("not part of an ACK: {word}"),
            }
        }
        ack.blocks = blocks.len() as u8;
        if ack.kind != AckKind::Syn && ack.next > self.una {
            self.echo = echo.unwrap_or(self.last_sent[&self.una]);
            self.una = ack.next;
        }
        ack.echo = echo.unwrap_or(self.echo);
        (ack, blocks)
    }

    /// Returns the names of the controller's calls since the last call, without sent packets.
    pub fn calls(&mut self) -> Vec<String> {
        let log = &self.sender.controller().log;
        let calls = log[self.seen..].iter().filter_map(Event::name).collect();
        self.seen = log.len();
        calls
    }

    pub fn log(&self) -> &[Event] {
        &self.sender.controller().log
    }

    /// Returns the states of recovery that the controller saw, in their order.
    pub fn states(&self) -> Vec<CaState> {
        let mut states: Vec<CaState> = self.log().iter().map(|event| event.conn.state).collect();
        states.dedup();
        states
    }

    /// Returns the last ACK that the controller received.
    pub fn last_ack(&self) -> fullpipe_cc::Ack {
        self.log()
            .iter()
            .rev()
            .find_map(Event::ack)
            .expect("an ACK")
            .to_owned()
    }

    /// Returns the snapshots of all sent packets, in order.
    pub fn snapshots(&self) -> Vec<fullpipe_cc::Snapshot> {
        self.log().iter().filter_map(Event::sent).copied().collect()
    }

    pub fn limit(&mut self) -> Limit {
        self.sender.limits().current()
    }
}

fn block(range: &str) -> Block {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    Block {
        start: first.parse().unwrap(),
        end: last.parse::<u64>().unwrap() + 1,
    }
}

/// Expands a range: `3-5` and `r3-5` name three segments each.
fn expand(word: &str, mut name: impl FnMut(String)) {
    let (again, range) = word
        .strip_prefix('r')
        .map_or(("", word), |range| ("r", range));
    let range = range.strip_prefix('r').unwrap_or(range);
    match (again, range) {
        (_, "syn") => name(word.to_owned()),
        _ => (block(range).start..block(range).end).for_each(|seq| name(format!("{again}{seq}"))),
    }
}
