//! `fullpipe-kernel`, for `fullpipe kernel`: loads and unloads algorithms, and reads their rows.
//!
//! `hold PLAN` loads an algorithm as the JSON of a [`Plan`] says; `list` prints the loaded ones;
//! `unload NAME` unloads; `trace PORT SECONDS OBJECTS NAME…` prints rows, with 0 for any port or
//! time; `settings OBJECT…` prints the parameters of objects. Results are JSON on standard output,
//! errors are one line of JSON on standard error, with exit code 2. `guard` is a part of `hold`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use fullpipe_kernel::load::{Plan, name_of, open};
use fullpipe_kernel::settings::{Scale, settings};
use fullpipe_kernel::trace::{Selection, trace};
use fullpipe_kernel::{Problem, default, hold, holders, namespaces};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        [holders::HOLD, plan] => parsed(plan).and_then(|plan| hold::hold(&plan)),
        [default::GUARD, name, previous] => {
            default::guard(name, previous);
            Ok(())
        }
        ["list"] => {
            println!("{}", list());
            Ok(())
        }
        ["unload", name] => holders::unload(name).map(|()| {
            let sockets = namespaces::sockets(name);
            println!(
                "{}",
                json!({ "sockets": sockets.count, "partial": sockets.partial })
            );
        }),
        ["trace", port, seconds, objects, ref names @ ..] => {
            let seconds: f64 = seconds.parse().unwrap_or(0.0);
            trace(&Selection {
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                port: port.parse().ok().filter(|port| *port != 0),
                time: (seconds > 0.0).then(|| Duration::from_secs_f64(seconds)),
                objects: objects.into(),
            })
        }
        ["settings", ref files @ ..] => described(files).map(|found| println!("{found}")),
        _ => {
            eprintln!(
                "usage: fullpipe-kernel hold PLAN | list | unload NAME | trace PORT SECONDS OBJECTS NAME... \
                 | settings OBJECT..."
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Problem { problem, fix }) => {
            eprintln!("{}", json!({ "problem": problem, "fix": fix }));
            ExitCode::from(2)
        }
    }
}

fn parsed(plan: &str) -> Result<Plan, Problem> {
    serde_json::from_str(plan).map_err(|error| {
        Problem::new(
            format!("the program fullpipe-kernel has a different version: {error}"),
            "build it again: make kernel",
        )
    })
}

/// Returns the algorithms that are loaded, and those that sockets still use after the unloading, with
/// the number of their sockets.
fn list() -> Value {
    let default = default::current();
    let (mut used, partial) = namespaces::used();
    let mut rows: Vec<Value> = holders::all()
        .into_iter()
        .map(|holding| {
            json!({
                "name": holding.name,
                "loaded": true,
                "process": holding.process,
                "pinned": holding.pinned,
                "plan": holding.plan,
                "default": holding.name == default,
                "sockets": used.remove(&holding.name).unwrap_or(0),
                "partial": partial,
            })
        })
        .collect();
    let left = used.into_iter().filter(|(name, _)| name.starts_with("fp_"));
    rows.extend(left.map(|(name, sockets)| {
        json!({ "name": name, "loaded": false, "sockets": sockets, "partial": partial })
    }));
    Value::from(rows)
}

/// Returns the name and the parameters of each object, with the values that it was built with.
fn described(files: &[&str]) -> Result<Value, Problem> {
    let of = |file: &&str| {
        let object = open(Path::new(file))?;
        let known = settings(&object).into_iter();
        let parameters: BTreeMap<String, f64> = known
            .filter(|(_, (setting, _))| setting.scale != Scale::Control)
            .map(|(name, (_, value))| (name, value))
            .collect();
        Ok(json!({ "name": name_of(&object), "parameters": parameters }))
    };
    let all = files
        .iter()
        .map(of)
        .collect::<Result<Vec<Value>, Problem>>()?;
    Ok(Value::from(all))
}
