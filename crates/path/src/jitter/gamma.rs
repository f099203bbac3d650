//! The gamma distribution of scale 1.

use super::normal;

/// Maximum number of steps of series, continued fraction and search, which all converge long before
/// for every shape allowed.
const MOST_STEPS: u32 = 2_000;

/// Returns the quantile of a share `u` in (0, 1): the root of P(shape, x) = u by Halley's method.
/// It starts at the Wilson-Hilferty value (Abramowitz and Stegun 26.4.17), or for small ones at the
/// first term of the series (6.5.29).
pub(super) fn quantile(u: f64, shape: f64) -> f64 {
    let ln_gamma = libm::lgamma(shape);
    let ninth = 1.0 / (9.0 * shape);
    let root = 1.0 - ninth + normal::quantile(u) * ninth.sqrt();
    let lower = libm::exp((libm::log(u) + ln_gamma + libm::log(shape)) / shape);
    let mut x = if root > 0.3 {
        shape * root * root * root
    } else {
        lower
    };
    for _ in 0..20 {
        if x <= 0.0 {
            return 0.0;
        }
        let density = libm::exp((shape - 1.0) * libm::log(x) - x - ln_gamma);
        let newton = (share_below(x, shape, ln_gamma) - u) / density;
        // P'' / P' is (shape - 1)/x - 1; the step is limited so that x stays positive.
        let step = newton / (1.0 - 0.5 * (newton * ((shape - 1.0) / x - 1.0)).clamp(-1.0, 1.0));
        let next = if step < x { x - step } else { 0.5 * x };
        let is_close = (next - x).abs() <= 1e-11 * x;
        x = next;
        if is_close {
            break;
        }
    }
    x
}

/// Returns P(shape, x), the regularized incomplete gamma function.
fn share_below(x: f64, shape: f64, ln_gamma: f64) -> f64 {
    let front = libm::exp(shape * libm::log(x) - x - ln_gamma);
    if x < shape + 1.0 {
        // Abramowitz and Stegun 6.5.29.
        let (mut term, mut sum, mut n) = (1.0 / shape, 1.0 / shape, shape);
        for _ in 0..MOST_STEPS {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return front * sum;
    }
    // Abramowitz and Stegun 6.5.31, by Lentz's method.
    let mut b = x + 1.0 - shape;
    let mut c = f64::MAX;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for n in 1..MOST_STEPS {
        let n = f64::from(n);
        let a = -n * (n - shape);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    1.0 - front * fraction
}
