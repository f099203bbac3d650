//! The frames of one capture, and a report on it.

use crate::Input;
use crate::capture::input_buffer::InputBuffer;
use crate::capture::reader::{Frame, Reader, Step};
use crate::capture::report::FileReport;

/// A capture that is being read.
#[derive(Debug)]
pub(crate) struct Frames {
    window: InputBuffer,
    reader: Reader,
    /// Bytes of the window to pass before the next frame.
    pass: usize,
    cut: bool,
    report: FileReport,
}

impl Frames {
    /// Opens a capture; `name` is its name in the report. An error describes another file, with
    /// the fix.
    pub(crate) fn open(name: &str, input: Input) -> Result<Frames, String> {
        let mut window = InputBuffer::new(input);
        let reader = Reader::open(&mut window).map_err(|problem| match window.error() {
            Some(error) => format!("can't be decompressed: {error}"),
            None => problem,
        })?;
        let report = FileReport {
            path: name.to_owned(),
            format: reader.name().to_owned(),
            ..FileReport::default()
        };
        Ok(Frames {
            window,
            reader,
            pass: 0,
            cut: false,
            report,
        })
    }

    /// Returns the next frame and its bytes; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Frame, &[u8])> {
        self.window.pass(std::mem::take(&mut self.pass));
        let frame = match self.reader.next(&mut self.window) {
            Step::Frame(frame) => frame,
            step => {
                self.cut = matches!(step, Step::Cut);
                return None;
            }
        };
        self.pass = frame.pass;
        let (bytes, report) = (&self.window.bytes()[frame.from..frame.to], &mut self.report);
        report.packets += 1;
        report.cut_packets += u64::from(bytes.len() < frame.wire);
        report.unknown_links += u64::from(frame.link.is_none());
        report.first.get_or_insert(frame.at.as_nanos());
        report.last = Some(frame.at.as_nanos());
        Some((frame, bytes))
    }

    /// Returns the number of frames so far.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.report.packets
    }

    /// Returns the number of frames so far that have no time.
    pub(crate) fn untimed(&self) -> u64 {
        match &self.reader {
            Reader::Pcap(_) => 0,
            Reader::Pcapng(pcapng) => pcapng.untimed,
        }
    }

    /// Returns the number of bytes of the content so far.
    pub(crate) fn position(&self) -> u64 {
        self.window.position()
    }

    /// Returns the report on the capture, as far as it was read.
    pub(crate) fn finish(mut self) -> FileReport {
        self.window.pass(self.pass);
        self.report.links = self.reader.links();
        self.report.damage = self.damage();
        self.report
    }

    /// Describes the parts that were not read.
    fn damage(&mut self) -> Option<String> {
        let mut said = Vec::new();
        let damage = self.reader.damage();
        if damage.places > 0 {
            let places = if damage.places == 1 {
                "one place".to_owned()
            } else {
                format!("{} places", damage.places)
            };
            said.push(format!(
                "{} bytes in {places}, first at byte {}, are not packets and were skipped",
                damage.bytes, damage.first
            ));
        }
        let at = self.window.position();
        match self.window.error() {
            Some(error) => said.push(format!(
                "after {at} bytes of its content it can't be decompressed: {error}"
            )),
            None if self.cut => said.push(format!("it ends within a packet, at byte {at}")),
            None => {}
        }
        (!said.is_empty()).then(|| said.join("; "))
    }
}
