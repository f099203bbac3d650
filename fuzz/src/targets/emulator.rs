//! The emulator under packets of any shape, behind each queue and each impairment: every packet is
//! delivered, dropped or in transit; times do not go back; a FIFO path keeps the order.

#[path = "../../../crates/wings/testbed/src/packet.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the forwarder's parser of packets; ports matter only to the forwarder"
)]
mod packet;

use arbitrary::{Arbitrary, Unstructured};
use fullpipe_emulator::{
    Direction, DropCause, EmulatedPacket, Emulator, LinkTransit, Observer, whole,
};
use fullpipe_path::{EcnCodepoint, IMPAIRMENTS, QUEUES};
use fullpipe_scenario::Scenario;
use fullpipe_units::{Bytes, Span, Time};
use packet::{Header, set_ecn};

/// Longer sequences would cost speed, and find little more.
const MOST: usize = 400;
/// More events than [`MOST`] packets cause on two links.
const EVENTS: u32 = 100_000;

#[derive(Arbitrary, Debug)]
pub(crate) struct Case {
    queue: u8,
    rate: u8,
    buffer: u8,
    impairments: [u8; 2],
    change: Option<(u8, u16)>,
    second: bool,
    strips: bool,
    packets: Packets,
}

#[derive(Debug)]
struct Packets(Vec<Arriving>);

#[derive(Debug)]
struct Arriving {
    gap: Span,
    back: bool,
    frame: Vec<u8>,
}

impl<'a> Arbitrary<'a> for Packets {
    fn arbitrary(from: &mut Unstructured<'a>) -> arbitrary::Result<Packets> {
        let mut all = Vec::new();
        while !from.is_empty() && all.len() < MOST {
            all.push(arriving(from)?);
        }
        Ok(Packets(all))
    }
}

fn arriving(from: &mut Unstructured<'_>) -> arbitrary::Result<Arriving> {
    // From nanoseconds to seconds.
    let (decade, count): (u32, u64) = (from.int_in_range(0..=8)?, from.int_in_range(0..=20)?);
    let kind: u8 = from.arbitrary()?;
    let mut frame = vec![0; from.choose(&[20, 40, 41, 64, 576, 1_499, 1_500]).copied()?];
    if kind & 3 == 0 {
        // Any bytes at all.
        let length = from.int_in_range(0..=60)?;
        frame = from.bytes(length)?.to_vec();
    } else {
        let (flags, last): (u8, u8) = from.arbitrary()?;
        frame[..2].copy_from_slice(&[0x45, kind >> 2]);
        frame[9] = if last & 1 == 0 { 6 } else { 17 };
        frame[19] = last >> 2;
        if frame.len() >= 40 {
            frame[32..34].copy_from_slice(&[0x50, flags]);
        }
    }
    Ok(Arriving {
        gap: Span::from_nanos(count * 10_u64.pow(decade)),
        back: kind & 0x44 == 0x44,
        frame,
    })
}

fn scenario(case: &Case) -> Option<Scenario> {
    let pick = |values: &'static [&'static str], at: u8| values[usize::from(at) % values.len()];
    let queue = QUEUES[usize::from(case.queue) % QUEUES.len()].name;
    let queue = match queue {
        "red" => "{ kind = \"red\", min = \"20kB\", max = \"60kB\" }".to_owned(),
        "step_ecn" => "{ kind = \"step_ecn\", threshold = \"3packets\" }".to_owned(),
        "cake" => "{ kind = \"cake\", bandwidth = \"900kbit\" }".to_owned(),
        name => format!("\"{name}\""),
    };
    let buffer = match queue.as_str() {
        "\"bfifo\"" => pick(&["1500B", "20kB", "1MB"], case.buffer),
        _ => pick(
            &["1packets", "9packets", "1000packets", "1bdp"],
            case.buffer,
        ),
    };
    let mut path = vec![
        (
            "rate",
            format!(
                "\"{}\"",
                pick(&["1mbit", "100kbit", "100mbit", "10gbit"], case.rate)
            ),
        ),
        ("rtt", "\"20ms\"".to_owned()),
        ("buffer", format!("\"{buffer}\"")),
        ("queue", queue),
    ];
    for place in case.impairments {
        // As often without one.
        let place = usize::from(place) % (2 * IMPAIRMENTS.len());
        if let Some(impairment) = IMPAIRMENTS.get(place) {
            let key = impairment.keys[usize::from(case.buffer) % impairment.keys.len()];
            path.retain(|(other, _)| *other != key);
            // Rare events would not occur in a short sequence.
            let value = match impairment.example {
                "0.1%" | "1%" => "30%",
                "every 100" => "every 7",
                example => example,
            };
            path.push((key, format!("\"{value}\"")));
        }
    }
    let mut text = String::from("duration = \"100s\"\nmeasure_from = \"0s\"\n[path]\n");
    for (key, value) in &path {
        text += &format!("{key} = {value}\n");
    }
    if case.strips && !text.contains("ecn = ") {
        text += "ecn = \"strip\"\n";
    }
    if let Some((rate, at)) = case.change {
        let rate = pick(&["100kbit", "5mbit"], rate);
        text += &format!(
            "[[path.change]]\nat = \"{}ms\"\nrate = \"{rate}\"\n",
            u32::from(at) + 1
        );
    }
    if case.second {
        text += "[[link]]\nname = \"second\"\nrate = \"2mbit\"\nbuffer = \"20packets\"\ndelay = \"3ms\"\n";
    }
    text += "[[flow]]\ncc = \"cubic\"\n";
    if case.second {
        text += "route = [\"bottleneck\", \"second\"]\n";
    }
    // Not every combination is a scenario.
    Scenario::parse(&text, "fuzzed.toml")
        .ok()
        .filter(|scenario| fullpipe_emulator::check(scenario).is_ok())
}

/// Checks each packet's end.
struct Ends {
    /// Time and size of each packet that entered, and the number of its ends.
    entered: Vec<(Time, usize, u32)>,
    frames: Vec<(Direction, Vec<u8>)>,
    now: Time,
    /// Newest packet that arrived at either end.
    newest: [usize; 2],
    in_order: bool,
    strips: bool,
    ends: usize,
}

impl Ends {
    fn end(&mut self, at: Time, packet: &EmulatedPacket<usize>) {
        let (entered, size, ends) = &mut self.entered[packet.payload];
        assert!(
            at >= *entered,
            "packet {} ends before it entered",
            packet.payload
        );
        assert_eq!(packet.size, Bytes::new(*size as u64));
        *ends += 1;
        self.ends += 1;
    }
}

impl Observer<usize> for Ends {
    fn dropped(
        &mut self,
        at: Time,
        _: Option<usize>,
        _: DropCause,
        packet: &EmulatedPacket<usize>,
    ) {
        assert!(
            at >= self.now,
            "time goes back from {:?} to {at:?}",
            self.now
        );
        self.now = at;
        self.end(at, packet);
    }

    fn passed(&mut self, transit: &LinkTransit, packet: &EmulatedPacket<usize>) {
        assert!(
            transit.arrived <= transit.start && transit.start <= transit.end,
            "{transit:?}"
        );
        assert!(
            !transit.marked || packet.ecn == EcnCodepoint::Ce,
            "{transit:?}"
        );
    }

    fn delivered(&mut self, at: Time, waited: Span, packet: EmulatedPacket<usize>) {
        assert!(
            at >= self.now,
            "time goes back from {:?} to {at:?}",
            self.now
        );
        self.now = at;
        self.end(at, &packet);
        assert!(
            waited <= at.since(self.entered[packet.payload].0),
            "it waited longer than it took"
        );
        let newest = &mut self.newest[packet.direction as usize];
        assert!(
            !self.in_order || packet.payload >= *newest,
            "{} after {newest}",
            packet.payload
        );
        *newest = packet.payload.max(*newest);
        let (direction, frame) = &mut self.frames[packet.payload];
        assert_eq!(*direction, packet.direction);
        let before = Header::read(frame).expect("it was read before");
        let kept = packet.ecn == before.ecn;
        let marked = packet.ecn == EcnCodepoint::Ce && before.ecn != EcnCodepoint::NotEct;
        let stripped = self.strips && packet.ecn == EcnCodepoint::NotEct;
        // A copy may be marked after the original.
        assert!(
            kept || marked || stripped,
            "{:?} became {:?}",
            before.ecn,
            packet.ecn
        );
        let mut written = frame.clone();
        set_ecn(&mut written, packet.ecn);
        assert_eq!(
            Header::read(&written),
            Some(Header {
                ecn: packet.ecn,
                ..before
            })
        );
    }
}

pub(crate) fn check(case: Case) {
    let Some(scenario) = scenario(&case) else {
        return;
    };
    let text = scenario.to_toml();
    let fifo =
        text.matches("queue = \"pfifo\"").count() + text.matches("queue = \"bfifo\"").count();
    let mut ends = Ends {
        entered: Vec::new(),
        frames: Vec::new(),
        now: Time::ZERO,
        newest: [0; 2],
        in_order: fifo == scenario.links().count() && !text.contains("reorder"),
        strips: text.contains("ecn = \"strip\""),
        ends: 0,
    };
    let mut path = Emulator::new(&scenario, whole(&scenario));
    let (mut now, mut copies) = (Time::ZERO, 0);
    for Arriving { gap, back, frame } in case.packets.0 {
        now += gap;
        let Some(header) = Header::read(&frame) else {
            continue;
        };
        let direction = [Direction::Forward, Direction::Reverse][usize::from(back)];
        let number = ends.entered.len();
        ends.entered.push((now, frame.len(), 0));
        let packet = EmulatedPacket {
            flow: 0,
            direction,
            kind: header.kind,
            key: header.key,
            size: Bytes::new(frame.len() as u64),
            ecn: header.ecn,
            payload: number,
        };
        ends.frames.push((direction, frame));
        path.arrive(now, packet, &mut ends);
        assert!(
            path.next_at().is_none_or(|at| at > now),
            "an event that is due was left"
        );
        let here = path.in_flight() + ends.ends;
        assert!(here == ends.entered.len() + copies || here == ends.entered.len() + copies + 1);
        copies = here - ends.entered.len();
    }
    for link in 0..scenario.links().count() {
        let (packets, bytes, _) = path.backlog(link, now);
        assert!(packets as usize <= ends.entered.len() + copies);
        assert!(bytes.get() <= packets * 1_500);
    }
    for events in 0.. {
        let Some(at) = path.next_at() else { break };
        assert!(
            events < EVENTS,
            "there is no end of events; {} packets in transit",
            path.in_flight()
        );
        path.advance(at, &mut ends);
    }
    assert_eq!(
        path.in_flight(),
        0,
        "nothing is left in transit without an event"
    );
    assert_eq!(ends.ends, ends.entered.len() + copies);
    assert!(
        ends.entered
            .iter()
            .all(|(_, _, ends)| (1..=2).contains(ends))
    );
    assert!(copies == 0 || text.contains("duplicate"), "{copies} copies");
    for summary in path.summaries(Time::ZERO + scenario.duration) {
        assert!(!format!("{summary:?}").contains("inf"), "{summary:?}");
    }
}
