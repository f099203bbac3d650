//! Criterion benchmark of the runs in `docs/evidence/performance.md`: one second of virtual time each, per
//! data packet.
//!
//! `cargo bench -p fullpipe-benches -F criterion --bench engine`

use cases::CASES;
use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use fullpipe_cc::Registry;
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::Span;

fn seconds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("second");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    // Ten thousand flows spend their first second starting: `speed` measures them instead.
    for case in CASES.iter().filter(|case| !case.name.contains("10000")) {
        let scenario = case.scenario(1);
        for (name, level) in [
            (case.name.to_owned(), TraceLevel::Off),
            (
                format!("{} traced at 10 ms", case.name),
                TraceLevel::Every(Span::from_millis(10)),
            ),
            (
                format!("{} traced at every ACK", case.name),
                TraceLevel::Acks,
            ),
        ] {
            let run = || {
                let mut simulation = Simulation::new(&scenario, &Registry::default(), level)
                    .expect("a valid scenario");
                while !simulation.advance(u64::MAX) {}
                simulation.finish()
            };
            group.throughput(Throughput::Elements(run().summary.packets));
            group.bench_function(name, |bencher| bencher.iter(run));
        }
    }
    group.finish();
}

criterion_group!(benches, seconds);
criterion_main!(benches);
