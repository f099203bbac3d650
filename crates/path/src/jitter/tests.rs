use std::f64::consts::LN_2;

use super::*;

fn ms(n: f64) -> Span {
    Span::from_secs_f64(n / 1e3)
}

fn moments(mean: f64, sigma: f64) -> Moments {
    Moments {
        mean: ms(mean),
        sigma: ms(sigma),
    }
}

const DRAWS: usize = 100_000;

/// Returns `DRAWS` draws, in milliseconds.
fn draws(of: &Distribution, correlation: f64) -> Vec<f64> {
    let (mut rng, mut score) = (Rng::stream(1, "flow", "path_jitter"), None);
    (0..DRAWS)
        .map(|_| of.draw(correlation, &mut rng, &mut score).as_secs_f64() * 1e3)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>()
        / values.len() as f64
}

/// Returns the autocorrelation of values that are `lag` apart.
fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean = mean(values);
    let sum: f64 = values
        .iter()
        .zip(&values[lag..])
        .map(|(a, b)| (a - mean) * (b - mean))
        .sum();
    sum / values.len() as f64 / variance(values)
}

#[test]
fn the_normal_quantile_is_the_inverse_of_the_cdf() {
    // scipy.special.ndtri
    let known = [
        (1e-12, -7.034_483_825_301_131),
        (1e-6, -4.753_424_308_822_899),
        (0.01, -2.326_347_874_040_841),
        (0.3, -0.524_400_512_708_041),
        (0.95, 1.644_853_626_951_472),
    ];
    for (u, z) in known {
        assert!(
            (normal::quantile(u) - z).abs() < 1e-14 * z.abs().max(1.0),
            "{u}: {}",
            normal::quantile(u)
        );
    }
    for n in 1..10_000 {
        let u = f64::from(n) / 1e4;
        assert!((normal::cdf(normal::quantile(u)) - u).abs() < 1e-15, "{u}");
        assert!(
            (normal::quantile(u) + normal::quantile(1.0 - u)).abs() < 1e-12,
            "symmetric at {u}"
        );
    }
}

#[test]
fn the_gamma_quantile_is_that_of_scipy() {
    // scipy.stats.gamma.ppf at 1e-6, 0.01, 0.3, 0.5, 0.95 and 0.9999.
    let known = [
        (
            0.12,
            [
                6.16398811166e-51,
                1.32799098167e-17,
                2.70738122745e-05,
                0.00191434632379,
                0.684762053162,
                5.51487866529,
            ],
        ),
        (
            0.5,
            [
                7.85398163398e-13,
                7.85439289549e-05,
                0.0742359309163,
                0.22746821156,
                1.92072941035,
                7.56835261331,
            ],
        ),
        (
            1.0,
            [
                1.0000005e-06,
                0.0100503358535,
                0.356674943939,
                LN_2,
                2.99573227355,
                9.21034037198,
            ],
        ),
        (
            4.0,
            [
                0.0709923913586,
                0.823248686345,
                2.76371104261,
                3.67206074885,
                7.75365652793,
                15.9138140006,
            ],
        ),
        (
            25.0,
            [
                7.92753140782,
                14.8533413494,
                22.1566534887,
                24.667468367,
                33.7524032748,
                47.9843742391,
            ],
        ),
        (
            1000.0,
            [
                856.814651279,
                927.908159797,
                983.178446758,
                999.666686427,
                1052.57711808,
                1121.9041775,
            ],
        ),
    ];
    for (shape, quantiles) in known {
        for (u, x) in [1e-6, 0.01, 0.3, 0.5, 0.95, 0.9999]
            .into_iter()
            .zip(quantiles)
        {
            let ours = gamma::quantile(u, shape);
            assert!(
                (ours / x - 1.0).abs() < 1e-9,
                "shape {shape} at {u}: {ours}, not {x}"
            );
        }
    }
}

#[test]
fn what_is_drawn_has_its_mean_variance_and_quantiles() {
    let histogram = Histogram::new(&[(ms(0.0), 60), (ms(2.0), 30), (ms(5.0), 10), (ms(20.0), 0)])
        .expect("bins");
    // Mean, variance and fourth central moment of each distribution. The fourth moment of Pareto's
    // tail is infinite.
    let infinite = f64::INFINITY;
    // Means of the bins 1, 3.5 and 12.5 ms with 60, 30 and 10 %; second and fourth moments by
    // integration over the bins.
    let of_bins = |power: i32, about: f64| {
        let to = |x: f64| {
            (0..=power).fold(1.0, |product, _| product * (x - about)) / f64::from(power + 1)
        };
        [(0.0, 2.0, 0.6), (2.0, 5.0, 0.3), (5.0, 20.0, 0.1)]
            .iter()
            .map(|(a, b, p)| p * (to(*b) - to(*a)) / (b - a))
            .sum()
    };
    let bins_mean: f64 = of_bins(1, 0.0);
    let cases = [
        (Distribution::Uniform(ms(6.0)), 3.0, 3.0, 16.2),
        (Distribution::Normal(moments(20.0, 2.0)), 20.0, 4.0, 48.0),
        (
            Distribution::Pareto(moments(10.0, 2.0)),
            10.0,
            4.0,
            infinite,
        ),
        (
            Distribution::ParetoNormal(moments(10.0, 2.0)),
            10.0,
            4.0,
            infinite,
        ),
        // (3 + 6/k) sigma⁴ with k = 4, and with 1/4.
        (
            Distribution::Gamma(moments(10.0, 5.0)),
            10.0,
            25.0,
            4.5 * 625.0,
        ),
        (
            Distribution::Gamma(moments(2.0, 4.0)),
            2.0,
            16.0,
            27.0 * 256.0,
        ),
        (
            Distribution::Histogram(histogram.into()),
            bins_mean,
            of_bins(2, bins_mean),
            of_bins(4, bins_mean),
        ),
    ];
    let n = DRAWS as f64;
    for (of, its_mean, its_variance, fourth) in cases {
        for correlation in [0.0, 0.3] {
            let values = draws(&of, correlation);
            // The mean of correlated draws varies more, by (1 + ρ)/(1 - ρ) at most; squares have
            // correlation ρ².
            let more = (1.0 + correlation) / (1.0 - correlation);
            let error = (its_variance / n * more).sqrt();
            assert!(
                (mean(&values) - its_mean).abs() < 4.0 * error,
                "{of:?}: mean {}, not {its_mean}",
                mean(&values)
            );
            if fourth < infinite {
                let error = ((fourth - its_variance * its_variance) / n * more).sqrt();
                let ours = variance(&values);
                assert!(
                    (ours - its_variance).abs() < 4.0 * error,
                    "{of:?}: variance {ours}, not {its_variance}"
                );
            }
            // Times are whole nanoseconds: skip quantiles where that shows.
            for u in [0.01, 0.25, 0.5, 0.9, 0.999]
                .into_iter()
                .filter(|u| of.quantile(*u) > 1e-6)
            {
                let below = values
                    .iter()
                    .filter(|value| **value < of.quantile(u) * 1e3)
                    .count() as f64
                    / n;
                let error = (u * (1.0 - u) / n * more).sqrt();
                assert!(
                    (below - u).abs() < 4.0 * error + 1e-6,
                    "{of:?}: {below} are below the quantile of {u}"
                );
            }
        }
    }
}

#[test]
fn quantiles_of_pareto_are_those_of_its_definition() {
    // The share above x is (x / least)⁻³: with least 1 the median is ∛2, and 1 in 1000 is above 10.
    let of = Distribution::Pareto(moments(10.0, 2.0));
    let scaled = |x: f64| (10.0 + 2.0 * (x - 1.5) / 0.75_f64.sqrt()) / 1e3;
    assert!((of.quantile(0.5) - scaled(libm::cbrt(2.0))).abs() < 1e-12);
    assert!((of.quantile(0.999) - scaled(10.0)).abs() < 1e-9);
}

#[test]
fn what_would_be_negative_is_zero() {
    let values = draws(&Distribution::Normal(moments(2.0, 2.0)), 0.0);
    let zero = values.iter().filter(|value| **value == 0.0).count() as f64 / DRAWS as f64;
    let share = normal::cdf(-1.0);
    assert!(
        (zero - share).abs() < 4.0 * (share * (1.0 - share) / DRAWS as f64).sqrt(),
        "{zero}, not {share}"
    );
}

#[test]
fn correlation_fades_with_its_powers() {
    let of = Distribution::Normal(moments(50.0, 5.0));
    for correlation in [0.25_f64, 0.9] {
        let values = draws(&of, correlation);
        let mut expected = 1.0;
        for lag in 1..5 {
            expected *= correlation;
            // Bartlett: the variance of an AR(1)'s autocorrelation is at most (1 + ρ²)/(1 - ρ²)/n.
            let square = correlation * correlation;
            let error = ((1.0 + square) / (1.0 - square) / DRAWS as f64).sqrt();
            let ours = autocorrelation(&values, lag);
            assert!(
                (ours - expected).abs() < 4.0 * error,
                "lag {lag}: {ours}, not {expected}"
            );
        }
    }
    assert!(autocorrelation(&draws(&of, 0.0), 1).abs() < 0.013);
}

#[test]
fn a_histogram_is_refused_unless_it_is_one() {
    let bins = |bins: &[(u64, u64)]| {
        let bins: Vec<_> = bins
            .iter()
            .map(|(at, count)| (Span::from_millis(*at), *count))
            .collect();
        Histogram::new(&bins)
    };
    assert_eq!(
        bins(&[(0, 1), (2, 0), (3, 4), (9, 0)])
            .expect("bins")
            .bins()
            .count(),
        4
    );
    for wrong in [
        &[][..],
        &[(1, 0)],
        &[(1, 5)],
        &[(0, 0), (1, 0)],
        &[(0, 1), (1, 1)],
        &[(1, 1), (1, 0)],
        &[(2, 1), (1, 0)],
    ] {
        assert_eq!(bins(wrong), None, "{wrong:?}");
    }
    assert_eq!(
        bins(&[(0, u64::MAX), (1, 1), (2, 0)]),
        None,
        "the counts overflow"
    );
}
