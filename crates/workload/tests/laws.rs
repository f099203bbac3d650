//! Drawn sizes, compared with the distributions that they are drawn from.

use std::sync::Arc;

use fullpipe_units::{Bytes, Rate, Rng, Span};
use fullpipe_workload::{ArrivalSource, Cdf, Input, Law, MODELS, Model, PRESETS, Preset};

fn law(text: &str) -> Law {
    match Model::parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}")) {
        Model::BoundedPareto(law) => Law::BoundedPareto(law),
        Model::Lognormal(parts) => Law::Lognormal(parts),
        model => panic!("{model:?} is not a distribution"),
    }
}

fn drawn(law: &Law) -> Vec<f64> {
    let mut rng = Rng::stream(1, "law", "test");
    let mut sizes: Vec<f64> = (0..1_000_000)
        .map(|_| law.draw(&mut rng).as_f64())
        .collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes
}

fn mean(sizes: &[f64]) -> f64 {
    sizes.iter().sum::<f64>() / sizes.len() as f64
}

/// The share of them up to `size`.
fn up_to(sizes: &[f64], size: f64) -> f64 {
    sizes.partition_point(|drawn| *drawn <= size) as f64 / sizes.len() as f64
}

#[test]
fn a_bounded_pareto_has_its_tail_its_bounds_and_its_mean() {
    let bounded = law("bounded_pareto shape 1.5 min 1kB max 1MB");
    let sizes = drawn(&bounded);
    // 1 - F(x) = ((min / x)^1.5 - (min / max)^1.5) / (1 - (min / max)^1.5), at ten times min.
    let beyond =
        (0.1 * 0.1_f64.sqrt() - 0.001 * 0.001_f64.sqrt()) / (1.0 - 0.001 * 0.001_f64.sqrt());
    assert!((1.0 - up_to(&sizes, 10_000.0) - beyond).abs() < 0.001);
    assert!(sizes[0] >= 1_000.0 && sizes[sizes.len() - 1] <= 1_000_000.0);
    assert!(
        (mean(&sizes) / bounded.mean() - 1.0).abs() < 0.02,
        "{} of {}",
        mean(&sizes),
        bounded.mean()
    );
    // With shape 1 the mean is min ln(max / min) / (1 - min / max).
    let one = law("bounded_pareto shape 1 min 1kB max 1MB").mean();
    assert!((one - 1e3 * libm::log(1e3) / 0.999).abs() < 1e-6, "{one}");
}

#[test]
fn lognormals_have_their_medians_shares_cuts_and_means() {
    let single = law("lognormal median 10kB sigma 1");
    let sizes = drawn(&single);
    assert!((up_to(&sizes, 10_000.0) - 0.5).abs() < 0.002);
    // One sigma above: 84.13 %.
    assert!((up_to(&sizes, 10_000.0 * core::f64::consts::E) - 0.8413).abs() < 0.002);
    assert!(
        (single.mean() - 10_000.0 * libm::exp(0.5)).abs() < 1.0,
        "the cut has no visible effect"
    );
    assert!((mean(&sizes) / single.mean() - 1.0).abs() < 0.01);
    let mixed =
        law("lognormal share 80% median 1kB sigma 0.5, share 20% median 1MB sigma 2 max 10MB");
    let sizes = drawn(&mixed);
    // The second distribution below 30 kB: ln(30 / 1000) / 2 = -1.753, so 3.98 % of the part below
    // its cut, which is 87.52 %.
    assert!((up_to(&sizes, 30_000.0) - (0.8 + 0.2 * 0.0398 / 0.8752)).abs() < 0.002);
    assert!(sizes[sizes.len() - 1] <= 1e7);
    assert!(
        (mean(&sizes) / mixed.mean() - 1.0).abs() < 0.01,
        "{} of {}",
        mean(&sizes),
        mixed.mean()
    );
}

#[test]
fn a_file_is_a_distribution_of_straight_lines() {
    let cdf = Cdf::parse("# bytes share\n1000, 50\n\n3000\t90 # comment\n11000 100\n")
        .expect("a distribution");
    for (share, size) in [
        (0.2, 1e3),
        (0.5, 1e3),
        (0.7, 2e3),
        (0.9, 3e3),
        (0.95, 7e3),
        (1.0, 11e3),
    ] {
        assert!(
            (cdf.at(share) - size).abs() < 1e-6,
            "{share}: {}",
            cdf.at(share)
        );
    }
    assert!((cdf.mean() - (0.5 * 1000.0 + 0.4 * 2000.0 + 0.1 * 7000.0)).abs() < 1e-9);
    assert_eq!(cdf.largest(), Bytes::new(11_000));
    let sizes = drawn(&Law::Cdf(Arc::new(cdf.clone())));
    assert!((mean(&sizes) / cdf.mean() - 1.0).abs() < 0.01);
    let problem = |text: &str| {
        let error = Cdf::parse(text).expect_err("no distribution");
        (error.line, error.problem)
    };
    assert_eq!(problem("").0, None);
    assert_eq!(
        problem("1000 0.5\n2000 0.9"),
        (None, "the last share is 0.9".to_owned())
    );
    assert_eq!(problem("1000 0.5\n500 1").0, Some(2));
    assert_eq!(problem("1000").1, "not two numbers");
    assert_eq!(
        problem("1000 half").1,
        "\"1000 half\" is not a size and a share"
    );
    assert_eq!(problem("0 1").1, "the largest flow has 0 bytes");
}

#[test]
fn every_model_reads_its_own_example_and_refuses_slips_with_what_was_meant() {
    for described in &MODELS {
        let model = Model::parse(described.example)
            .unwrap_or_else(|refusal| panic!("{}: {refusal:?}", described.name));
        assert_eq!(model.described().name, described.name);
    }
    let refused = |text: &str| {
        let refusal = Model::parse(text).expect_err(text);
        format!("{}; {}", refusal.problem, refusal.fix)
    };
    assert_eq!(
        refused("syntetic"),
        "there is no model \"syntetic\"; did you mean \"synthetic\"?"
    );
    assert!(
        refused("")
            .ends_with("models are replay, collapsed, synthetic, cdf, bounded_pareto, lognormal")
    );
    assert!(refused("replay fast").starts_with("replay takes no options"));
    let like = "write \"bounded_pareto shape 0.6 min 400B max 2GB\"";
    assert_eq!(
        refused("bounded_pareto shape 1.2 min 1kB"),
        format!("max is missing; {like}")
    );
    assert_eq!(
        refused("bounded_pareto shape 1.2 min 1kB max"),
        format!("max has no value; {like}")
    );
    assert_eq!(
        refused("bounded_pareto shape 1.2 min 1kB min 2kB max 1GB"),
        format!("min is given twice; {like}")
    );
    assert_eq!(
        refused("bounded_pareto shape 0 min 1kB max 1GB"),
        format!("shape 0 must be 0.01 to 20; {like}")
    );
    assert_eq!(
        refused("bounded_pareto alpha 1 min 1kB max 1GB"),
        "unknown option \"alpha\"; options are shape, min, max"
    );
    assert!(refused("bounded_pareto shape 1 min 1000 max 1GB").starts_with("min: "));
    assert!(refused("bounded_pareto shape 1 min 1MB max 1kB").contains("allow no flow"));
    assert!(
        refused("lognormal share 80% median 1kB sigma 1, share 10% median 1MB sigma 1")
            .starts_with("the shares add up to 90%")
    );
    assert!(
        refused("lognormal median 1kB sigma 1, share 10% median 1MB sigma 1")
            .starts_with("\"median 1kB sigma 1\" has no share")
    );
    assert!(
        refused("lognormal share half median 1kB sigma 1")
            .starts_with("\"half\" is not a percentage")
    );
    assert!(refused("lognormal median 1MB sigma 1 max 1kB").contains("allow no flow"));
}

#[test]
fn a_law_arrives_at_the_load_that_it_is_given() {
    for text in [
        "lognormal median 10kB sigma 1",
        "bounded_pareto shape 1.2 min 1kB max 100kB",
    ] {
        let source = ArrivalSource::new(&Model::parse(text).expect("a model"), None)
            .expect("it needs nothing");
        assert!(source.needs_load(), "{text}");
        let source = source
            .at_load(0.8, Rate::from_mbps(100))
            .expect("a distribution has a mean");
        let bytes: u64 = source
            .arrivals(1, "web", Span::from_secs(600))
            .map(|arrival| arrival.bytes.get())
            .sum();
        let load = bytes as f64 * 8.0 / 600.0 / 1e8;
        assert!((load - 0.8).abs() < 0.01, "{text}: {load}");
    }
}

/// Statistics as published for the trace: number of flows, the size below which 90 % of them lie,
/// and the size of the flows above which 90 % of the bytes lie.
fn published(sizes: &mut [u64]) -> (usize, f64, f64) {
    sizes.sort_unstable();
    let all: u64 = sizes.iter().sum();
    let mut sum = 0;
    let large = sizes.iter().find(|size| {
        sum += **size;
        sum * 10 >= all
    });
    (
        sizes.len(),
        sizes[sizes.len() * 9 / 10] as f64,
        *large.expect("a tenth is reached") as f64,
    )
}

#[test]
fn the_backbone_has_its_published_percentiles() {
    let preset = Preset::named("mawi-2020-06-10").expect("a preset");
    let replay = ArrivalSource::new(&Model::Replay, Some(Input::Preset(preset)))
        .expect("a preset is a source of flows");
    // A mean of 277 kB, 989 flows per second.
    assert!(
        (replay.offered() / 2.19e9 - 1.0).abs() < 0.01,
        "{}",
        replay.offered()
    );
    assert_eq!(
        (
            replay.count(Span::from_secs(90)),
            replay.count(Span::from_secs(9_000))
        ),
        (89_000, 890_000)
    );
    for seed in 1..=5 {
        let mut sizes: Vec<u64> = replay
            .arrivals(seed, "mawi", preset.span)
            .map(|arrival| arrival.bytes.get())
            .collect();
        let (count, small, large) = published(&mut sizes);
        let load = sizes.iter().sum::<u64>() as f64 * 8.0 / 900.0 / 1e9;
        println!(
            "seed {seed}: {count} flows, 90 % below {small}, 90 % of the bytes above {large}, {load:.2} Gbit/s"
        );
        assert!((count as f64 / 890_000.0 - 1.0).abs() < 0.01, "{count}");
        assert!((small / 18.2e3 - 1.0).abs() < 0.1, "{small}");
        assert!((large / 6.4e6 - 1.0).abs() < 0.2, "{large}");
    }
}

#[test]
fn the_three_models_of_a_preset_are_of_one_made_up_trace() {
    let preset = &PRESETS[0];
    let all = |text: &str| {
        let source = ArrivalSource::new(
            &Model::parse(text).expect("a model"),
            Some(Input::Preset(preset)),
        )
        .expect("it fits");
        source.arrivals(7, "mawi", Span::from_secs(20))
    };
    let told = |text: &str| {
        all(text)
            .map(|arrival| (arrival.at, arrival.bytes))
            .collect::<Vec<_>>()
    };
    let replayed = told("replay");
    assert_eq!(replayed, told("collapsed"));
    let synthetic = told("synthetic");
    assert_eq!(synthetic.len(), replayed.len());
    let bytes = |flows: &[(_, Bytes)]| flows.iter().map(|flow| flow.1).sum::<Bytes>();
    assert_eq!(bytes(&synthetic), bytes(&replayed));
    let replay = all("replay");
    let pausing: Vec<_> = all("replay")
        .filter(|arrival| !arrival.chunks.is_whole())
        .collect();
    let share = pausing.len() as f64 / replayed.len() as f64;
    assert!((share - preset.pauses.share).abs() < 0.01, "{share}");
    for arrival in &pausing {
        let gaps = replay.chunks(arrival.chunks).windows(2);
        assert!(
            gaps.into_iter()
                .all(|pair| pair[1].offset.saturating_sub(pair[0].offset) > preset.pauses.least)
        );
    }
}
