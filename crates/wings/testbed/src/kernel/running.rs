//! The state of flows while the run goes. The senders write their recording once a second; this
//! module follows it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fullpipe_scenario::Scenario;

use crate::agent::RecordKind;
use crate::reconstruct::Info;

/// Bytes of a record before its data.
const HEAD: usize = 16;
/// Place of `tcpi_total_retrans` in TCP_INFO.
const TOTAL_RETRANS: usize = 100;

/// Progress of a flow since the call before.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The flow's name.
    pub name: String,
    /// Its beginning and end, seconds since the start of the run.
    pub from_s: f64,
    /// End of the interval.
    pub to_s: f64,
    /// Bytes acknowledged within it.
    pub bytes: u64,
    /// Packets sent again within it.
    pub retransmits: u32,
    /// Congestion window at its end, bytes.
    pub cwnd: u64,
}

/// A sample: its time, bytes acknowledged, packets sent again, congestion window in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    time: u64,
    acked: u64,
    again: u32,
    cwnd: u64,
}

/// Follows a recording.
#[derive(Debug)]
pub(super) struct Running {
    file: File,
    at: u64,
    /// The end of the bytes read, a part of a record.
    rest: Vec<u8>,
    epoch: Option<u64>,
    names: Vec<String>,
    before: Vec<Sample>,
    newest: Vec<Sample>,
}

impl Running {
    /// Follows the file for the scenario's flows that do not arrive.
    pub(super) fn open(path: &Path, scenario: &Scenario) -> std::io::Result<Running> {
        let names: Vec<String> = scenario
            .flows
            .iter()
            .filter(|flow| flow.program.is_none())
            .map(|flow| flow.name.clone())
            .collect();
        Ok(Running {
            file: File::open(path)?,
            at: 0,
            rest: Vec::new(),
            epoch: None,
            before: vec![Sample::default(); names.len()],
            newest: vec![Sample::default(); names.len()],
            names,
        })
    }

    /// Returns what each flow with a new sample did since the last call.
    pub(super) fn intervals(&mut self) -> std::io::Result<Vec<Interval>> {
        self.read()?;
        let epoch = self.epoch.unwrap_or(0);
        let seconds = |time: u64| time.saturating_sub(epoch) as f64 / 1e9;
        let mut found = Vec::new();
        for (index, (before, newest)) in self.before.iter_mut().zip(&self.newest).enumerate() {
            if newest.time > before.time {
                found.push(Interval {
                    name: self.names[index].clone(),
                    from_s: seconds(before.time),
                    to_s: seconds(newest.time),
                    bytes: newest.acked.saturating_sub(before.acked),
                    retransmits: newest.again.saturating_sub(before.again),
                    cwnd: newest.cwnd,
                });
                *before = *newest;
            }
        }
        Ok(found)
    }

    fn read(&mut self) -> std::io::Result<()> {
        let mut part = vec![0; 1 << 16];
        loop {
            let count = self.file.read_at(&mut part, self.at)?;
            if count == 0 {
                return Ok(());
            }
            self.at += count as u64;
            self.rest.extend_from_slice(&part[..count]);
            self.take();
        }
    }

    /// Takes all complete records.
    fn take(&mut self) {
        let mut at = 0;
        if self.epoch.is_none() {
            let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else {
                return;
            };
            let header: serde_json::Value =
                serde_json::from_slice(&self.rest[..end]).unwrap_or_default();
            self.epoch = Some(header["epoch"].as_u64().unwrap_or(0));
            at = end + 1;
        }
        while let Some(head) = self.rest.get(at..at + HEAD) {
            let short = |place: usize| u16::from_le_bytes([head[place], head[place + 1]]);
            let (kind, flow) = (short(0), usize::from(short(2)));
            let length = u32::from_le_bytes(head[4..8].try_into().expect("four bytes")) as usize;
            let time = u64::from_le_bytes(head[8..].try_into().expect("eight bytes"));
            let Some(data) = self.rest.get(at + HEAD..at + HEAD + length) else {
                break;
            };
            if kind == RecordKind::Info as u16
                && let Some(newest) = self.newest.get_mut(flow)
            {
                *newest = sample(time, data);
            }
            at += HEAD + length;
        }
        self.rest.drain(..at);
    }
}

fn sample(time: u64, data: &[u8]) -> Sample {
    let info = Info::read(data);
    let again = data.get(TOTAL_RETRANS..TOTAL_RETRANS + 4);
    Sample {
        time,
        acked: info.acked.get(),
        again: again.map_or(0, |word| u32::from_ne_bytes(word.try_into().expect("four"))),
        cwnd: info.cwnd * info.mss,
    }
}
