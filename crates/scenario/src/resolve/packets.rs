//! The sizes of packets, and the token buckets that they have to pass.

use fullpipe_units::Bytes;

use crate::error::Error;
use crate::model::{Flow, HEADER, PACKET, Scenario, Table};
use crate::path_keys::Link;
use crate::raw;
use crate::raw_value::RawValue;
use crate::source::Source;
use crate::values::Mss;

/// Returns the size of the largest packet of any flow.
pub(super) fn largest_packet(raw: &raw::Scenario, source: &Source) -> Result<Bytes, Error> {
    let of = |leaf: &RawValue<Mss>, table: Table| {
        leaf.get(source, &table.key("mss"))
            .map(|Mss(mss)| mss + HEADER)
    };
    let flows = raw.flow.iter().enumerate();
    let workloads = raw.workload.iter().enumerate();
    let mut packets = flows
        .map(|(i, flow)| of(&flow.tcp.mss, Table::Flow(i)))
        .chain(workloads.map(|(i, workload)| of(&workload.tcp.mss, Table::Workload(i))));
    let least = match raw.program.is_empty() {
        true => Bytes::ZERO,
        false => PACKET,
    };
    packets.try_fold(least, |largest, packet| Ok(largest.max(packet?)))
}

/// Refuses packets that a token bucket on their route never lets pass. Every bucket has room for a
/// packet of the usual size.
pub(super) fn check_packets(scenario: &Scenario) -> Result<(), Error> {
    let workloads = scenario.workloads.iter().map(|workload| &workload.flow);
    let mut flows = scenario.flows.iter().chain(workloads);
    flows.try_for_each(|flow| match flow.packet() > PACKET {
        true => check_buckets(scenario, flow),
        false => Ok(()),
    })
}

fn check_buckets(scenario: &Scenario, flow: &Flow) -> Result<(), Error> {
    let packet = flow.packet();
    for link in scenario.route(&flow.route) {
        let Some((burst, name)) = buckets(scenario, link).into_iter().min() else {
            continue;
        };
        if burst < packet {
            let (key, bytes) = (link.key(name), packet.get());
            let problem =
                format!("packets of {bytes} bytes never pass {key} with its burst of {burst}");
            let fix = format!("give the bucket a burst of at least \"{packet}\", or a smaller mss");
            let mss = format!("\"{}\"", flow.mss);
            return Err(scenario.error(&flow.key("mss"), mss, problem, fix));
        }
    }
    Ok(())
}

/// Returns the capacities of a link's token buckets at all times, each with its key.
fn buckets(scenario: &Scenario, link: &Link) -> Vec<(Bytes, &'static str)> {
    let changes = match link.table {
        None => scenario.path.changes.as_slice(),
        Some(_) => &[],
    };
    let shapers = changes.iter().filter_map(|change| change.shaper);
    let policers = changes.iter().filter_map(|change| change.policer);
    let shapers = shapers.chain([link.shaper]).flatten();
    let policers = policers.chain([link.policer]).flatten();
    shapers
        .map(|shaper| (shaper.burst, "shaper"))
        .chain(policers.map(|policer| (policer.burst, "policer")))
        .collect()
}
