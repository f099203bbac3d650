//! Loss: `loss = "1%"`, `"gilbert-elliott p 1% r 30%"`, `"every 100"`, `"list 10, 11, 57"`.

use std::path::Path;

use fullpipe_path::Loss;
use schemars::Schema;
use toml::Value as Toml;

use super::file::Lines;
use super::words::{Count, Part, Share, Words, schema};
use crate::raw_value::{ReadValue, Refusal};
use crate::values::{Percent, text_of};

const KEY: &str = "loss";

impl ReadValue for Loss {
    fn read(value: &Toml) -> Result<Loss, Refusal> {
        Loss::read_in(value, Path::new(""))
    }

    fn read_in(value: &Toml, folder: &Path) -> Result<Loss, Refusal> {
        let words = Words::read(KEY, &text_of(value), folder)?;
        match words.name() {
            "gilbert-elliott" => gilbert_elliott(&words),
            "every" => words.get("n").map(|Count(n)| Loss::Every(n)),
            "list" => words
                .get("packets")
                .map(|Numbers(numbers)| Loss::List(numbers.into())),
            _ => Percent::read(value).map(|Percent(p)| Loss::Random(p)),
        }
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            Loss::Random(p) => Percent(*p).to_string(),
            Loss::GilbertElliott { p, r, bad, good } => {
                let [p, r, bad, good] = [p, r, bad, good].map(|share| Share(*share));
                format!("gilbert-elliott p {p} r {r} loss-bad {bad} loss-good {good}")
            }
            Loss::Every(n) => format!("every {n}"),
            Loss::List(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                format!("list {}", numbers.join(", "))
            }
        })
    }

    fn schema() -> Schema {
        schema(KEY, false)
    }
}

/// Reads the parameters of Gilbert-Elliott loss, with netem's defaults.
fn gilbert_elliott(words: &Words<'_>) -> Result<Loss, Refusal> {
    let share = |name, default| {
        words
            .optional(name)
            .map(|given| given.map_or(default, |Share(share)| share))
    };
    let Share(p) = words.get("p")?;
    if p == 0.0 {
        let fix = "give a larger p, or the loss of the good state alone, like \"0.1%\"";
        return Err(Refusal::new("with p 0% the bad state never begins", fix));
    }
    let r = share("r", 1.0 - p)?;
    if r == 0.0 {
        let fix = "give a larger r: the bad state lasts 1/r packets on average, 10 with \"10%\"";
        return Err(Refusal::new("with r 0% the bad state never ends", fix));
    }
    let (bad, good) = (share("loss-bad", 1.0)?, share("loss-good", 0.0)?);
    if good == 1.0 {
        return Err(Refusal::new(
            "loss-good 100% lets no packet pass in the good state",
            "give a smaller loss-good",
        ));
    }
    if bad == 0.0 && good == 0.0 {
        return Err(Refusal::new(
            "neither state loses packets",
            "give a larger loss-bad, or loss = \"0%\"",
        ));
    }
    Ok(Loss::GilbertElliott { p, r, bad, good })
}

/// Numbers from 1, in increasing order, each once.
struct Numbers(Vec<u64>);

impl Part for Numbers {
    fn read(text: &str) -> Result<Numbers, Refusal> {
        let numbers = text
            .split(',')
            .map(|number| Count::read(number.trim()).map(|Count(number)| number));
        Numbers::new(numbers.collect::<Result<_, _>>()?)
    }

    /// Reads a file with one number per line.
    fn read_in(text: &str, folder: &Path) -> Result<Numbers, Refusal> {
        match Lines::named(text, folder)? {
            None => Numbers::read(text),
            Some(lines) => {
                Numbers::new(lines.read(|line| Count::read(line).map(|Count(number)| number))?)
            }
        }
    }
}

impl Numbers {
    fn new(mut numbers: Vec<u64>) -> Result<Numbers, Refusal> {
        if numbers.is_empty() {
            return Err(Refusal::new(
                "the list is empty",
                "give at least one number, or loss = \"0%\"",
            ));
        }
        numbers.sort_unstable();
        if let Some(pair) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Refusal::new(
                format!("{} occurs twice", pair[0]),
                "keep one of the two",
            ));
        }
        Ok(Numbers(numbers))
    }
}
