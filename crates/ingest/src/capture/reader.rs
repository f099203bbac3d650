//! Frames of a capture of either format, and what there was of it that is none.

use fullpipe_units::Time;

use crate::capture::input_buffer::InputBuffer;
use crate::capture::link::Link;
use crate::capture::pcap::Pcap;
use crate::capture::pcapng::Pcapng;

/// A packet as it was captured; its bytes lie in the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) at: Time,
    /// `None` where packets begin in a way that is not read here.
    pub(crate) link: Option<Link>,
    /// How long it was, of which perhaps not all was captured.
    pub(crate) wire: usize,
    /// Where in the window it begins and ends.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// How much of the window to pass after it.
    pub(crate) pass: usize,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Frame(Frame),
    /// All was read; what the last bytes are, if they are not whole.
    End,
    /// It breaks off within a packet, of which so many bytes are there.
    Cut,
}

/// What could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// How often.
    pub(crate) places: u64,
    /// Where it was first.
    pub(crate) first: u64,
    /// Bytes that were passed over until something made sense again.
    pub(crate) bytes: u64,
}

/// More than any packet has: with BIG TCP they come to 512 kB.
pub(crate) const LONGEST: usize = 1 << 20;

/// A capture's format.
#[derive(Debug)]
pub(crate) enum Reader {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Reader {
    /// Tells the formats apart, by content; an error says what else it is.
    pub(crate) fn open(window: &mut InputBuffer) -> Result<Reader, String> {
        let enough = window.has(24);
        let bytes = window.bytes();
        if bytes.is_empty() {
            return Err("is empty\n  fix: name a pcap or pcapng file".into());
        }
        if bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            return Ok(Reader::Pcapng(Pcapng::default()));
        }
        if let Some(pcap) = Pcap::open(bytes)? {
            window.pass(24);
            return Ok(Reader::Pcap(pcap));
        }
        let begin: Vec<String> = bytes
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let short = if enough {
            ""
        } else {
            ", and is too short for one"
        };
        Err(format!(
            "is neither pcap nor pcapng: it begins with {}{short}\n  fix: name a capture of tcpdump, Wireshark or the like, a Zeek conn.log, or a CSV file",
            begin.join(" ")
        ))
    }

    /// What the format is called.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Reader::Pcap(_) => "pcap",
            Reader::Pcapng(_) => "pcapng",
        }
    }

    /// What comes next in the window.
    #[inline]
    pub(crate) fn next(&mut self, window: &mut InputBuffer) -> Step {
        match self {
            Reader::Pcap(pcap) => pcap.next(window),
            Reader::Pcapng(pcapng) => pcapng.next(window),
        }
    }

    /// What could not be read so far.
    pub(crate) fn damage(&self) -> &Damage {
        match self {
            Reader::Pcap(pcap) => &pcap.damage,
            Reader::Pcapng(pcapng) => &pcapng.damage,
        }
    }

    /// The names of the links that it says its packets are of.
    pub(crate) fn links(&self) -> Vec<String> {
        match self {
            Reader::Pcap(pcap) => pcap.link_names.clone(),
            Reader::Pcapng(pcapng) => pcapng.link_names.iter().cloned().collect(),
        }
    }
}

impl Damage {
    /// Passes bytes until `makes_sense`; `false` if nothing does any more.
    pub(crate) fn pass_over(
        &mut self,
        window: &mut InputBuffer,
        mut makes_sense: impl FnMut(&mut InputBuffer) -> bool,
    ) -> bool {
        if self.places == 0 {
            self.first = window.position();
        }
        self.places += 1;
        let start = window.position();
        let mut found = false;
        while !found && window.has(1) {
            window.pass(1);
            found = makes_sense(window);
        }
        self.bytes += window.position() - start;
        found
    }
}

/// The name of a link type, and how its packets begin if that is read here.
pub(crate) fn link(number: u16) -> (String, Option<Link>) {
    match Link::numbered(number) {
        Some((name, link)) => (name.to_owned(), Some(link)),
        None => (format!("link type {number}"), None),
    }
}
