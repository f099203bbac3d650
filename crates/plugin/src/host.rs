//! fullpipe's side: a library as a descriptor, and its controllers.

use core::ffi::c_void;
use core::fmt;
use std::collections::BTreeMap;
use std::error::Error;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fullpipe_cc::{
    Ack, AnyController, Config, Context, Controller, Decision, Default, Descriptor, Domain,
    EcnCodepoint, Field, Frame, Lost, Marks, Param, ParamValue, PathChange, Profile, Recovery,
    RecoveryOwner, Shared, Signals, Snapshot, Specification, Transition,
};
use fullpipe_units::{Bytes, Rate, Rng, Time};
use libloading::Library;

use crate::abi::{self, NONE, Plugin, Text};
use crate::convert::{path_number, recovery_number};

/// The reason for which a library can't be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// Description of the problem.
    pub problem: String,
    /// Suggested fix.
    pub fix: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  fix: {}", self.problem, self.fix)
    }
}

impl Error for LoadError {}

/// The failure of a library in a run, which ends it: the payload of a panic, since the calls of the
/// contract have no errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The algorithm, as the scenario names it.
    pub algorithm: &'static str,
    /// Description of the problem, with the call and its time.
    pub problem: String,
    /// Suggested fix.
    pub fix: &'static str,
}

struct Known {
    descriptor: &'static Descriptor,
    plugin: &'static Plugin,
}
// SAFETY: the tables of libraries don't change.
unsafe impl Send for Known {}

/// The libraries of this process. None is ever unloaded: traces have texts of theirs.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Loads the library in `file`, and returns its algorithm under the name by which scenarios call it.
///
/// A library that was loaded under this name before is not read again.
///
/// # Errors
/// When the file is no library, has no algorithm, or has one for another version of the interface.
pub fn load(name: &str, file: &Path) -> Result<&'static Descriptor, LoadError> {
    let refuse = |problem: String, fix: &str| {
        Err(LoadError {
            problem: format!("{}: {problem}", file.display()),
            fix: fix.to_owned(),
        })
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.iter().find(|each| each.descriptor.name == name) {
        return Ok(found.descriptor);
    }
    // SAFETY: the user named the library, and its initializers run with the user's rights.
    let library = match unsafe { Library::new(file) } {
        Ok(library) => library,
        Err(error) => {
            return refuse(
                error.to_string(),
                "name a shared library for this system; `fullpipe plugin build` makes one of a crate",
            );
        }
    };
    // SAFETY: the interface gives this name to a function of this type.
    let entry = unsafe { library.get::<extern "C" fn() -> *const Plugin>(b"fullpipe_plugin\0") };
    let Ok(entry) = entry.map(|entry| *entry) else {
        return refuse(
            "exports no function fullpipe_plugin".to_owned(),
            "export one: fullpipe::plugin!(DESCRIPTOR) does in Rust, FULLPIPE_PLUGIN of fullpipe.h in C",
        );
    };
    let pointer = entry();
    std::mem::forget(library);
    if pointer.is_null() {
        return refuse(
            "describes no algorithm".to_owned(),
            "return the address of a table",
        );
    }
    // SAFETY: the table of every version begins with its number.
    let version = unsafe { *pointer.cast::<u32>() };
    if version != abi::VERSION {
        return refuse(
            format!(
                "has version {version} of the interface, and this fullpipe has {}",
                abi::VERSION
            ),
            "build it again with the sources of this version",
        );
    }
    // SAFETY: the version is ours, and the table stays valid until the process ends.
    let plugin: &'static Plugin = unsafe { &*pointer };
    // SAFETY: as above.
    let descriptor = match unsafe { descriptor(name, plugin) } {
        Ok(descriptor) => descriptor,
        Err(problem) => return refuse(problem, "correct its table"),
    };
    known.push(Known { descriptor, plugin });
    Ok(descriptor)
}

/// Returns the name that a loaded library gives its algorithm.
pub fn describe(descriptor: &Descriptor) -> Option<&'static str> {
    let plugin = plugin_of(descriptor.name)?;
    // SAFETY: the texts of a table stay valid until the process ends.
    unsafe { plugin.name.read() }
}

fn plugin_of(name: &'static str) -> Option<&'static Plugin> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    // Compared by address: the same name may have belonged to another algorithm before.
    let same = |each: &&Known| std::ptr::eq(each.descriptor.name, name);
    known.iter().find(same).map(|each| each.plugin)
}

/// # Safety
/// The table must be valid until the process ends.
unsafe fn text(text: Text, what: &str) -> Result<&'static str, String> {
    // SAFETY: the caller vouches for it.
    unsafe { text.read() }.ok_or_else(|| format!("{what} is not text in UTF-8"))
}

/// # Safety
/// The table must be valid until the process ends.
unsafe fn texts(list: abi::List<Text>, what: &str) -> Result<&'static [&'static str], String> {
    // SAFETY: the caller vouches for it.
    let read = unsafe { list.read() };
    // SAFETY: as above.
    let words = read.iter().map(|each| unsafe { text(*each, what) });
    Ok(words.collect::<Result<Vec<_>, _>>()?.leak())
}

/// # Safety
/// The table must be valid until the process ends.
unsafe fn descriptor(name: &str, plugin: &'static Plugin) -> Result<&'static Descriptor, String> {
    let (create, decision, on_ack) = (plugin.create, plugin.decision, plugin.on_ack);
    for (function, there) in [
        ("create", create.is_some()),
        ("destroy", plugin.destroy.is_some()),
        ("decision", decision.is_some()),
        ("on_ack", on_ack.is_some()),
    ] {
        if !there {
            return Err(format!("has no function {function}"));
        }
    }
    let needs = u16::try_from(plugin.needs)
        .ok()
        .and_then(Signals::from_bits);
    let needs = needs.ok_or("needs signals that this version does not know")?;
    let mut params = Vec::new();
    // SAFETY: the caller vouches for the table, here and below.
    for each in unsafe { plugin.params.read() } {
        // SAFETY: as above.
        let (key, words) = unsafe {
            (
                text(each.name, "a parameter's name")?,
                texts(each.words, "a keyword")?,
            )
        };
        let domain = match each.kind {
            0 if each.least <= each.usual && each.usual <= each.most => Domain::Number {
                default: each.usual,
                min: each.least,
                max: each.most,
            },
            0 => {
                return Err(format!(
                    "the default of {key} is not from {} to {}",
                    each.least, each.most
                ));
            }
            1 => Domain::Flag {
                default: each.usual != 0.0,
            },
            2 if !words.is_empty() => Domain::Choice(words),
            _ => return Err(format!("the parameter {key} is no number, flag or choice")),
        };
        // SAFETY: as above.
        let (unit, purpose, section) = unsafe {
            (
                text(each.unit, "a unit")?,
                text(each.purpose, "a purpose")?,
                text(each.section, "a section")?,
            )
        };
        params.push(Param {
            name: key,
            unit,
            domain,
            purpose,
            section,
        });
    }
    let mut profiles = Vec::new();
    // SAFETY: as above.
    for each in unsafe { plugin.profiles.read() } {
        let mut defaults = Vec::new();
        // SAFETY: as above.
        for usual in unsafe { each.defaults.read() } {
            // SAFETY: as above.
            let (key, word) = unsafe {
                (
                    text(usual.name, "a parameter's name")?,
                    text(usual.word, "a keyword")?,
                )
            };
            let declared = params.iter().find(|param| param.name == key);
            let value = match declared.map(|param| param.domain) {
                Some(Domain::Number { .. }) => Default::Number(usual.value),
                Some(Domain::Flag { .. }) => Default::Flag(usual.value != 0.0),
                Some(Domain::Choice(_)) => Default::Word(word),
                None => return Err(format!("a profile sets {key}, which is no parameter")),
            };
            defaults.push((key, value));
        }
        profiles.push(Profile {
            // SAFETY: as above.
            name: unsafe { text(each.name, "a profile's name")? },
            defaults: defaults.leak(),
        });
    }
    let mut fields = Vec::new();
    // SAFETY: as above.
    for each in unsafe { plugin.fields.read() } {
        // SAFETY: as above.
        fields.push(unsafe {
            Field {
                name: text(each.name, "a field's name")?,
                unit: text(each.unit, "a unit")?,
                purpose: text(each.purpose, "a purpose")?,
                labels: texts(each.labels, "a label")?,
            }
        });
    }
    if !fields.is_empty() && plugin.observe.is_none() {
        return Err("has fields, and no function observe".to_owned());
    }
    let mut specifications = Vec::new();
    // SAFETY: as above.
    for each in unsafe { plugin.specifications.read() } {
        // SAFETY: as above.
        specifications.push(unsafe {
            Specification {
                name: text(each.name, "a specification")?,
                note: text(each.note, "a note")?,
            }
        });
    }
    // SAFETY: as above.
    let purpose = unsafe { text(plugin.purpose, "the purpose")? };
    let made: Descriptor = Descriptor {
        name: name.to_owned().leak(),
        purpose,
        specifications: specifications.leak(),
        params: params.leak(),
        profiles: profiles.leak(),
        preset_of: None,
        fields: fields.leak(),
        recovery: if plugin.owns_recovery == 0 {
            RecoveryOwner::Prr
        } else {
            RecoveryOwner::Own
        },
        needs,
        marks: if plugin.answers_marks {
            |_| Marks::Answered
        } else {
            |_| Marks::Ignored
        },
        random: plugin.random,
        build: |config, _: &mut Shared| {
            AnyController::User(Box::new(PluginController::new(config)))
        },
    };
    Ok(Box::leak(Box::new(made)))
}

/// A controller of a library.
#[derive(Debug)]
struct PluginController {
    algorithm: &'static str,
    plugin: &'static Plugin,
    it: *mut c_void,
    decision: Decision,
    fields: usize,
}

// SAFETY: the interface lets a controller move between threads; calls are never at the same time.
unsafe impl Send for PluginController {}

impl Drop for PluginController {
    fn drop(&mut self) {
        if let Some(destroy) = self.plugin.destroy {
            // SAFETY: `create` returned it, and this is its last use.
            unsafe { destroy(self.it) };
        }
    }
}

/// What the two functions of a context work on.
struct Host<'a, 'b> {
    rng: &'a mut Rng,
    observer: &'a mut (dyn fullpipe_cc::Observer + 'b),
    now: Time,
}

extern "C" fn random(host: *mut c_void) -> u64 {
    // SAFETY: the library passes the pointer of its context, during the call.
    unsafe { &mut *host.cast::<Host<'_, '_>>() }.rng.next_u64()
}

extern "C" fn transition(host: *mut c_void, from: Text, to: Text, reason: Text) {
    // SAFETY: the library passes the pointer of its context, during the call.
    let host = unsafe { &mut *host.cast::<Host<'_, '_>>() };
    // SAFETY: the interface asks for texts that stay valid until the process ends.
    let [from, to, reason] = [from, to, reason].map(|each| unsafe { each.read() }.unwrap_or("?"));
    let now = host.now;
    host.observer
        .transition(now, Transition { from, to, reason });
}

impl PluginController {
    fn new(config: &Config) -> PluginController {
        let plugin =
            plugin_of(config.algorithm).expect("only a loaded library's descriptor builds one");
        let values: BTreeMap<_, _> = config.params().collect();
        let declared = descriptor_of(config.algorithm).params;
        let numbers: Vec<f64> = declared
            .iter()
            .map(|param| match (param.domain, values[param.name]) {
                (_, ParamValue::Number(number)) => *number,
                (_, ParamValue::Flag(flag)) => f64::from(u8::from(*flag)),
                (Domain::Choice(words), ParamValue::Word(word)) => {
                    let place = words.iter().position(|each| each == word);
                    place.expect("the value was checked") as f64
                }
                (_, ParamValue::Word(_)) => unreachable!("only a choice has keywords"),
            })
            .collect();
        let source = config.source;
        let told = abi::Config {
            smss: config.smss.get(),
            initial_cwnd: config.initial_cwnd.get(),
            source_min: source.map_or(NONE, |source| source.min.as_bps()),
            source_max: source.map_or(NONE, |source| source.max.as_bps()),
            source_frame_period: source.map_or(0, |source| source.frame_period.as_nanos()),
            params: abi::List::of(&numbers),
        };
        let create = plugin.create.expect("checked by `load`");
        // SAFETY: the configuration is valid for the call.
        let it = unsafe { create(&raw const told) };
        let mut made = PluginController {
            algorithm: config.algorithm,
            plugin,
            it,
            decision: Decision::window(config.initial_cwnd, Bytes::MAX),
            fields: descriptor_of(config.algorithm).fields.len(),
        };
        if it.is_null() {
            let text = made.said();
            std::mem::forget(made);
            fault(config.algorithm, "create", None, &text);
        }
        made.decide("create", None);
        made
    }

    /// Returns the library's words about its last error.
    fn said(&self) -> String {
        let Some(error) = self.plugin.error else {
            return "it describes no errors".to_owned();
        };
        // SAFETY: the text is copied before the next call.
        unsafe { error(self.it).read() }
            .unwrap_or("an error that is not text in UTF-8")
            .to_owned()
    }

    /// Makes a call, then reads the decision.
    #[inline]
    fn call(
        &mut self,
        name: &'static str,
        cx: &mut Context<'_>,
        call: impl FnOnce(*mut c_void, *const abi::Context) -> i32,
    ) {
        let conn = abi::Conn::from(cx.conn);
        let mut host = Host {
            rng: cx.rng,
            observer: cx.observer,
            now: cx.now,
        };
        let told = abi::Context {
            now: cx.now.as_nanos(),
            conn: &raw const conn,
            host: (&raw mut host).cast(),
            random,
            transition,
        };
        if call(self.it, &raw const told) != 0 {
            fault(self.algorithm, name, Some(cx.now), &self.said());
        }
        self.decide(name, Some(cx.now));
    }

    #[inline]
    fn decide(&mut self, name: &'static str, now: Option<Time>) {
        let decision = self.plugin.decision.expect("checked by `load`");
        let mut told = abi::Decision::from(&self.decision);
        // SAFETY: the library writes a decision.
        if unsafe { decision(self.it, &raw mut told) } != 0 {
            fault(self.algorithm, "decision", now, &self.said());
        }
        self.decision = (&told).into();
        if self.decision.cwnd == Bytes::ZERO {
            broken(
                self.algorithm,
                name,
                now,
                "the window is 0",
                "keep it at one segment or more",
            );
        }
        if self.decision.pacing_rate == Some(Rate::ZERO) {
            broken(
                self.algorithm,
                name,
                now,
                "the pacing rate is 0",
                "pace faster, or not at all",
            );
        }
        if self.decision.ecn == EcnCodepoint::Ce {
            broken(
                self.algorithm,
                name,
                now,
                "packets would be sent with CE",
                "set ECT(0), ECT(1) or neither",
            );
        }
    }
}

fn descriptor_of(name: &'static str) -> &'static Descriptor {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known
        .iter()
        .find(|each| std::ptr::eq(each.descriptor.name, name));
    found
        .expect("only a loaded library's descriptor builds one")
        .descriptor
}

fn at(now: Option<Time>) -> String {
    now.map_or(String::new(), |now| format!(" at {} s", now.as_secs_f64()))
}

#[cold]
fn fault(algorithm: &'static str, call: &str, now: Option<Time>, said: &str) -> ! {
    resume_unwind(Box::new(Fault {
        algorithm,
        problem: format!("{call}{} failed: {said}", at(now)),
        fix: "mend the library, and build it again",
    }))
}

#[cold]
fn broken(
    algorithm: &'static str,
    call: &str,
    now: Option<Time>,
    problem: &str,
    fix: &'static str,
) -> ! {
    resume_unwind(Box::new(Fault {
        algorithm,
        problem: format!("after {call}{}, {problem}", at(now)),
        fix,
    }))
}

macro_rules! forward {
    ($self:ident, $cx:ident, $name:ident $(, $argument:expr)*) => {
        if let Some(function) = $self.plugin.$name {
            // SAFETY: the pointers are valid for the call.
            $self.call(stringify!($name), $cx, |it, told| unsafe { function(it, told $(, $argument)*) });
        }
    };
}

impl Controller for PluginController {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        let before = self.decision;
        let told = abi::Snapshot::from(packet);
        forward!(self, cx, on_sent, &raw const told);
        self.decision != before
    }
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        let told = abi::Lost::from(lost);
        forward!(self, cx, on_lost, &raw const told);
    }
    fn on_acked(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        let told = abi::Snapshot::from(packet);
        forward!(self, cx, on_acked, &raw const told);
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let told = abi::Ack::from(ack);
        forward!(self, cx, on_ack, &raw const told);
    }
    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        forward!(self, cx, on_recovery, recovery_number(change));
    }
    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        forward!(self, cx, on_unused, cwnd.get());
    }
    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        let (number, bytes) = path_number(change);
        forward!(self, cx, on_path, number, bytes);
    }
    fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        forward!(
            self,
            cx,
            on_frame,
            frame.size.get(),
            frame.waited.as_nanos()
        );
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        forward!(self, cx, on_timer);
        if self.decision.wake_at.is_some_and(|at| at <= cx.now) {
            let problem = "wake_at is not later, so the timer would fire forever";
            broken(
                self.algorithm,
                "on_timer",
                Some(cx.now),
                problem,
                "set a later time, or none",
            );
        }
    }
    fn on_end(&mut self, cx: &mut Context<'_>) {
        forward!(self, cx, on_end);
    }
    #[inline]
    fn decision(&self) -> Decision {
        self.decision
    }
    fn observe(&self, row: &mut Vec<f64>) {
        let Some(observe) = self.plugin.observe else {
            return;
        };
        let start = row.len();
        row.resize(start + self.fields, 0.0);
        // SAFETY: there is space for a value of each field.
        if unsafe { observe(self.it, row[start..].as_mut_ptr()) } != 0 {
            fault(self.algorithm, "observe", None, &self.said());
        }
    }
}
