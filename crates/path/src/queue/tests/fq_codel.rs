//! Reference values for `fq_codel`.

use super::*;

/// RFC 8290: flows share bytes, not packets, at any offered load.
#[test]
fn fq_codel_shares_one_to_one() {
    let mut bench = Bench::new(queue("fq_codel", &[], 10_240));
    for step in 0..60_000 {
        bench.now = step * 100;
        bench.put_many(3, 1, EcnCodepoint::NotEct);
        (0..4).for_each(|_| bench.put(2, 500, EcnCodepoint::NotEct));
        bench.take();
    }
    let bytes = |flow| -> f64 {
        bench
            .left
            .iter()
            .filter(|(_, p)| p.flow == flow)
            .map(|(_, p)| p.size.as_f64())
            .sum()
    };
    let ratio = bytes(1) / bytes(2);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// RFC 8290 §4.2: a flow that returns after its queue was empty goes first.
#[test]
fn fq_codel_sends_a_sparse_flow_first() {
    let mut bench = Bench::new(queue("fq_codel", &[], 10_240));
    for step in 0..5_000 {
        bench.now = step * 1_000;
        (0..10).for_each(|flow| bench.put(flow, 1_500, EcnCodepoint::NotEct));
        if step % 100 == 50 {
            bench.put(77, 200, EcnCodepoint::NotEct);
            assert_eq!(
                bench.take().expect("there is a backlog").flow,
                77,
                "waits for one packet at most"
            );
        }
        bench.take();
    }
}

/// §4.2: an old flow has its turn although other flows, which return as soon as their queues are
/// empty, are new all the time. Returns the share of packets of a flow of `kind` that always has a
/// packet, next to three that send one a while after their last; its fair share is a quarter.
pub(super) fn share_beside_new_flows(kind: &str) -> f64 {
    let mut bench = Bench::new(queue(kind, &[], 10_240));
    bench.put_many(1_000, 1, EcnCodepoint::NotEct);
    (2..5).for_each(|flow| bench.put(flow, 1_500, EcnCodepoint::NotEct));
    let mut back = None;
    for _ in 0..1_000 {
        let sent = bench.take().expect("there is a backlog").flow;
        if let Some(flow) = back.take() {
            bench.put(flow, 1_500, EcnCodepoint::NotEct);
        }
        back = (sent > 1).then_some(sent);
    }
    bench
        .left
        .iter()
        .filter(|(_, packet)| packet.flow == 1)
        .count() as f64
        / 1_000.0
}

#[test]
fn fq_codel_lets_nobody_be_new_all_the_time() {
    let share = share_beside_new_flows("fq_codel");
    assert!((0.24..0.4).contains(&share), "{share}");
}

/// §4.1: the longest queue drops for the limit, half of it or 64 packets at once.
#[test]
fn fq_codel_drops_from_the_longest() {
    let mut bench = Bench::new(queue("fq_codel", &[], 1_000));
    bench.put_many(50, 2, EcnCodepoint::NotEct);
    bench.put_many(951, 1, EcnCodepoint::NotEct);
    assert_eq!(bench.dropped.len(), 64);
    assert!(bench.dropped.iter().all(|(_, packet)| packet.flow == 1));
    assert_eq!(bench.dropped[0].1.payload, 50, "from the head");
    let mut small = Bench::new(queue("fq_codel", &[], 20));
    small.put_many(21, 1, EcnCodepoint::NotEct);
    assert_eq!(small.dropped.len(), 11, "half the bytes of 21");
}
