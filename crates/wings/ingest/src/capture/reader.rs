//! Frames of a capture in either format, and parts of the capture that are not frames.

use fullpipe_units::Time;

use crate::capture::input_buffer::InputBuffer;
use crate::capture::link::{Link, NotIp};
use crate::capture::pcap::{Pcap, is_magic};
use crate::capture::pcapng::Pcapng;

/// A captured packet; its bytes lie in the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) at: Time,
    /// `None` if the link type is not supported.
    pub(crate) link: Option<Link>,
    /// Length of the packet, which may not have been captured completely.
    pub(crate) wire: usize,
    /// Place of the packet in the window.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Bytes of the window to pass after the packet.
    pub(crate) pass: usize,
}

impl Frame {
    /// Returns the IP packet in the frame's bytes and its length on the wire, or the other content.
    #[inline]
    pub(crate) fn ip<'a>(&self, link: Link, bytes: &'a [u8]) -> Result<(&'a [u8], usize), NotIp> {
        let before = link.before_ip(bytes)?;
        let packet = bytes.get(before..).ok_or(NotIp::Short)?;
        Ok((packet, self.wire.saturating_sub(before)))
    }
}

/// Next step of reading.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Frame(Frame),
    /// The file ends.
    End,
    /// The file ends within a packet.
    Cut,
}

/// Unreadable parts of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Number of such parts.
    pub(crate) places: u64,
    /// Offset of the first one.
    pub(crate) first: u64,
    /// Bytes skipped until the content made sense again.
    pub(crate) bytes: u64,
}

/// Longer than any packet; BIG TCP has packets of up to 512 kB.
pub(crate) const LONGEST: usize = 1 << 20;

/// The reader of a capture, by its format.
#[derive(Debug)]
pub(crate) enum Reader {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Reader {
    /// Detects the format by content; an error describes the content otherwise.
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
        if !enough && is_magic(bytes) {
            return Err("damaged: its header is cut off\n  fix: capture it again".into());
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

    /// Returns the name of the format.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Reader::Pcap(_) => "pcap",
            Reader::Pcapng(_) => "pcapng",
        }
    }

    /// Returns the next step.
    #[inline]
    pub(crate) fn next(&mut self, window: &mut InputBuffer) -> Step {
        match self {
            Reader::Pcap(pcap) => pcap.next(window),
            Reader::Pcapng(pcapng) => pcapng.next(window),
        }
    }

    /// Returns the unreadable parts so far.
    pub(crate) fn damage(&self) -> &Damage {
        match self {
            Reader::Pcap(pcap) => &pcap.damage,
            Reader::Pcapng(pcapng) => &pcapng.damage,
        }
    }

    /// Returns the names of the link types that the file declares.
    pub(crate) fn links(&self) -> Vec<String> {
        match self {
            Reader::Pcap(pcap) => pcap.link_names.clone(),
            Reader::Pcapng(pcapng) => pcapng.link_names.iter().cloned().collect(),
        }
    }
}

impl Damage {
    /// Skips bytes until `makes_sense`; `false` if that does not happen.
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

/// Returns the name of a link type, and the beginning of its packets if it is supported.
pub(crate) fn link(number: u16) -> (String, Option<Link>) {
    match Link::numbered(number) {
        Some((name, link)) => (name.to_owned(), Some(link)),
        None => (format!("link type {number}"), None),
    }
}
