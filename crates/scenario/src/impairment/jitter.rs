//! Jitter: `jitter = "5ms"`, `"normal 10ms sigma 2ms correlation 25% reorder"`,
//! `"hold 20ms every 100ms"` and more.

use std::path::Path;

use fullpipe_path::{Distribution, Histogram, Jitter, Moments};
use fullpipe_units::Span;
use schemars::Schema;
use toml::Value as Toml;

use super::OFF;
use super::file::Lines;
use super::words::{Part, Share, Words, schema};
use crate::raw_value::{ReadValue, Refusal};
use crate::values::text_of;

const KEY: &str = "jitter";

/// Jitter of ACKs, which stay in order.
#[derive(Debug)]
pub(crate) struct InOrder(pub(crate) Jitter);

impl From<Jitter> for InOrder {
    fn from(jitter: Jitter) -> InOrder {
        InOrder(jitter)
    }
}

impl From<InOrder> for Jitter {
    fn from(InOrder(jitter): InOrder) -> Jitter {
        jitter
    }
}

impl ReadValue for Jitter {
    fn read(value: &Toml) -> Result<Jitter, Refusal> {
        Jitter::read_in(value, Path::new(""))
    }

    fn read_in(value: &Toml, folder: &Path) -> Result<Jitter, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(Jitter::Off);
        }
        let words = Words::read(KEY, &text, folder)?;
        let of = match words.name() {
            "hold" => return hold_every(&words),
            "normal" => Distribution::Normal(moments(&words)?),
            "pareto" => Distribution::Pareto(moments(&words)?),
            "paretonormal" => Distribution::ParetoNormal(moments(&words)?),
            "gamma" => Distribution::Gamma(gamma(&words)?),
            "histogram" => words
                .get("bins")
                .map(|Bins(histogram)| Distribution::Histogram(histogram.into()))?,
            _ => match words.get("most")? {
                Span::ZERO => return Ok(Jitter::Off),
                most => Distribution::Uniform(most),
            },
        };
        let Share(correlation) = words.optional("correlation")?.unwrap_or(Share(0.0));
        if correlation == 1.0 {
            return Err(Refusal::new(
                "with correlation 100% all packets have the same delay",
                "give a smaller correlation, or a longer rtt",
            ));
        }
        Ok(Jitter::Random {
            of,
            correlation,
            reorder: words.has("reorder"),
        })
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            Jitter::Off => OFF.to_owned(),
            Jitter::Hold { hold, every } => format!("hold {hold} every {every}"),
            Jitter::Random {
                of,
                correlation,
                reorder,
            } => {
                let mut text = distribution(of);
                if *correlation > 0.0 {
                    text += &format!(" correlation {}", Share(*correlation));
                }
                if *reorder {
                    text += " reorder";
                }
                text
            }
        })
    }

    fn schema() -> Schema {
        schema(KEY, true)
    }
}

impl ReadValue for InOrder {
    fn read(value: &Toml) -> Result<InOrder, Refusal> {
        InOrder::read_in(value, Path::new(""))
    }

    fn read_in(value: &Toml, folder: &Path) -> Result<InOrder, Refusal> {
        match Jitter::read_in(value, folder)? {
            Jitter::Random { reorder: true, .. } => Err(Refusal::new(
                "ACKs stay in order",
                "give it without \"reorder\"; path.jitter can reorder data packets",
            )),
            jitter => Ok(InOrder(jitter)),
        }
    }

    fn write(&self) -> Toml {
        self.0.write()
    }

    fn schema() -> Schema {
        schema(KEY, true)
    }
}

/// Reads `20ms every 100ms`, or `10ms`, which is short for `10ms every 10ms`.
fn hold_every(words: &Words<'_>) -> Result<Jitter, Refusal> {
    let hold: Span = words.get("for")?;
    let every = words.optional("every")?.unwrap_or(hold);
    if hold == Span::ZERO || every == Span::ZERO {
        return Err(Refusal::new(
            "the hold and its period must be longer than zero",
            "give times greater than zero, like \"hold 20ms every 100ms\", or \"off\"",
        ));
    }
    if hold > every {
        let problem = format!("the hold is longer than its period, {every}");
        return Err(Refusal::new(
            problem,
            format!("hold for at most \"{every}\""),
        ));
    }
    Ok(Jitter::Hold { hold, every })
}

/// Reads `10ms sigma 2ms`.
fn moments(words: &Words<'_>) -> Result<Moments, Refusal> {
    let (mean, sigma) = (words.get("mean")?, words.get("sigma")?);
    if sigma == Span::ZERO {
        return Err(Refusal::new(
            "sigma must be greater than zero",
            "give a larger sigma, or a longer rtt for a constant delay",
        ));
    }
    Ok(Moments { mean, sigma })
}

/// Reads `10ms sigma 2ms` for a gamma distribution, whose shape, (mean/sigma)², must be between
/// 1/16 and about 1000.
fn gamma(words: &Words<'_>) -> Result<Moments, Refusal> {
    let moments = moments(words)?;
    if moments.mean == Span::ZERO {
        return Err(Refusal::new(
            "the mean of a gamma distribution must be greater than zero",
            "give a mean like \"10ms\"",
        ));
    }
    let (mean, sigma) = (moments.mean.as_secs_f64(), moments.sigma.as_secs_f64());
    if !(mean / 31.0..=mean * 4.0).contains(&sigma) {
        let problem = "sigma must be between mean/31 and 4 times the mean";
        return Err(Refusal::new(
            problem,
            "give another sigma; for a smaller one use \"normal\"",
        ));
    }
    Ok(moments)
}

fn distribution(of: &Distribution) -> String {
    let named =
        |name: &str, Moments { mean, sigma }: &Moments| format!("{name} {mean} sigma {sigma}");
    match of {
        Distribution::Uniform(most) => most.to_string(),
        Distribution::Normal(moments) => named("normal", moments),
        Distribution::Pareto(moments) => named("pareto", moments),
        Distribution::ParetoNormal(moments) => named("paretonormal", moments),
        Distribution::Gamma(moments) => named("gamma", moments),
        Distribution::Histogram(histogram) => {
            let bins: Vec<String> = histogram
                .bins()
                .map(|(start, count)| format!("{start} {count}"))
                .collect();
            format!("histogram {}", bins.join(", "))
        }
    }
}

/// Bins of a histogram: `0ms 60, 2ms 30, 5ms 0`, or a file with lines like `0ms,60`.
struct Bins(Histogram);

impl Part for Bins {
    fn read(text: &str) -> Result<Bins, Refusal> {
        Bins::new(
            &text
                .split(',')
                .map(|bin| bin.trim())
                .map(|bin| read_bin(bin, ' '))
                .collect::<Result<Vec<_>, _>>()?,
        )
    }

    fn read_in(text: &str, folder: &Path) -> Result<Bins, Refusal> {
        match Lines::named(text, folder)? {
            None => Bins::read(text),
            Some(lines) => Bins::new(&lines.read(|line| read_bin(line, ','))?),
        }
    }
}

impl Bins {
    fn new(bins: &[(Span, u64)]) -> Result<Bins, Refusal> {
        let refuse = |problem: String, fix: &str| Err(Refusal::new(problem, fix));
        if let Some(pair) = bins.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return refuse(
                format!("{} is not after {}", pair[1].0, pair[0].0),
                "write the bins in order of time",
            );
        }
        match bins.split_last() {
            Some(((end, count), _)) if *count > 0 => {
                let problem = format!("the bin that starts at {end} has no end");
                return refuse(
                    problem,
                    "add its end with count 0, like \"0ms 60, 2ms 30, 5ms 0\"",
                );
            }
            Some((_, bins)) if bins.iter().any(|(_, count)| *count > 0) => {}
            _ => {
                return refuse(
                    "all counts are zero".to_owned(),
                    "give a count greater than zero, or \"off\"",
                );
            }
        }
        match Histogram::new(bins) {
            Some(histogram) => Ok(Bins(histogram)),
            None => refuse(
                "the sum of the counts is too large".to_owned(),
                "give smaller counts",
            ),
        }
    }
}

/// Reads one bin: `2ms 30`.
fn read_bin(text: &str, between: char) -> Result<(Span, u64), Refusal> {
    let parts = text
        .split_once(between)
        .and_then(|(start, count)| Some((start, count.trim().parse().ok()?)));
    let Some((start, count)) = parts else {
        let fix = format!("write a start and a count, like \"2ms{between}30\"");
        return Err(Refusal::new(format!("\"{text}\" is not a bin"), fix));
    };
    Ok((Part::read(start)?, count))
}
