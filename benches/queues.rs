//! Criterion benchmark of the queues alone: enqueues and dequeues packets of a hundred flows, with
//! fifty packets waiting.
//!
//! `cargo bench -p fullpipe-benches -F criterion --bench queues`

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fullpipe_path::{Config, EcnCodepoint, Limit, Packet, QUEUES, Queue};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

const PACKETS: u64 = 10_000;

fn queues(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue");
    group.throughput(Throughput::Elements(PACKETS));
    for descriptor in QUEUES {
        let rng = Rng::stream(1, "bench", "queue");
        let (limit, rate) = (Limit::Packets(1_000), Rate::from_mbps(1_200));
        let Some(mut queue) = Queue::new(&Config::new(descriptor), limit, rate, rng) else {
            continue;
        };
        let mut now = Time::ZERO;
        let mut number = 0_u32;
        let mut cycle = |send: bool| {
            number = number.wrapping_add(1);
            let ecn = if number.is_multiple_of(4) {
                EcnCodepoint::Ect1
            } else {
                EcnCodepoint::NotEct
            };
            queue.enqueue(
                now,
                Packet::new(number % 100, Bytes::new(1_500), ecn, now, [0_u64; 5]),
                &mut |_| (),
            );
            // Transmission time of a packet at the link's rate.
            now += Span::from_micros(10);
            if send {
                black_box(queue.dequeue(now, &mut |_| ()));
            }
        };
        (0..50).for_each(|_| cycle(false));
        group.bench_function(descriptor.name, |bencher| {
            bencher.iter(|| (0..PACKETS).for_each(|_| cycle(true)))
        });
    }
    group.finish();
}

criterion_group!(benches, queues);
criterion_main!(benches);
