//! Loads an object and registers its algorithm with the kernel.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{FuncProto, MemberAttr, Ptr, Struct};
use libbpf_rs::{
    Error, ErrorKind, Link, MapCore, MapHandle, MapType, Object, ObjectBuilder, OpenObject,
    PrintLevel,
};
use serde::{Deserialize, Serialize};

use crate::{Problem, egress, settings};

/// A request to load an algorithm.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the algorithm in scenarios.
    pub algorithm: String,
    /// File of the object.
    pub object: PathBuf,
    /// Parameters that differ from those of the object, in the units of fullpipe.
    pub parameters: BTreeMap<String, f64>,
    /// Least time between two rows of a connection's trace, in microseconds; 0 for no rows.
    pub trace_us: u32,
    /// Whether new sockets of this network namespace use it.
    pub default: bool,
    /// Whether it stays loaded after the end of this process.
    pub detach: bool,
}

/// A loaded algorithm. Dropping it unregisters the algorithm: sockets that use it keep it until
/// they close.
#[derive(Debug)]
pub struct Loaded {
    /// Name in the kernel, for TCP_CONGESTION.
    pub name: String,
    /// Registration with the kernel.
    pub link: Link,
    /// Links of its programs at the egress of devices, by the device's index.
    pub devices: Vec<(u32, Link)>,
    object: Object,
}

/// Name of the ring buffer with rows of traces.
pub(crate) const ROWS: &str = "rows";
/// Name of the ring buffer with all calls of the algorithm, which is for tests.
const CALLS: &str = "calls";
/// Section of an object with counters.
pub(crate) const COUNTERS: &str = ".bss";
/// Type of a congestion control in the kernel, and in an object.
const OPS: &str = "tcp_congestion_ops";
/// Type of a link of struct_ops, which Linux has since 6.4.
const LINK: &str = "bpf_struct_ops_link";
const MOST_WARNINGS: usize = 12;
/// TCP_CONG_NON_RESTRICTED: every user may choose the algorithm.
const NON_RESTRICTED: u32 = 1;

/// Opens an object without loading it.
///
/// # Errors
/// When the file is not there, or is no object with one algorithm.
pub fn open(object: &Path) -> Result<OpenObject, Problem> {
    let broken = |why: &dyn std::fmt::Display| {
        Problem::new(
            format!("{}: {why}", object.display()),
            "build it again: make kernel",
        )
    };
    if !object.exists() {
        return Err(broken(&"no such file"));
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, keep)));
    let opened = ObjectBuilder::default().open_file(object);
    let opened = opened.map_err(|error| broken(&error))?;
    match name_of(&opened) {
        Some(_) => Ok(opened),
        None => Err(broken(&"no congestion control in it")),
    }
}

/// Returns the kernel's name of an object's algorithm.
pub fn name_of(object: &OpenObject) -> Option<String> {
    let mut maps = object.maps();
    let of = maps.find(|map| map.map_type() == MapType::StructOps)?;
    Some(of.name().to_str()?.to_owned())
}

impl Loaded {
    /// Loads and registers an algorithm.
    ///
    /// # Errors
    /// When the kernel refuses it, or it is loaded already.
    pub fn new(plan: &Plan) -> Result<Loaded, Problem> {
        let mut opened = open(&plan.object)?;
        let name = name_of(&opened).unwrap_or_default();
        if offered().contains(&name) {
            return Err(Problem::new(
                format!("{name} is loaded already"),
                format!("fullpipe kernel unload {}", plan.algorithm),
            ));
        }
        let kernel = Btf::from_vmlinux().map_err(|error| {
            Problem::new(
                format!("{name}: this kernel does not describe its types (BTF): {error}"),
                "boot a kernel built with CONFIG_DEBUG_INFO_BTF",
            )
        })?;
        if kernel.type_by_name::<Struct<'_>>(LINK).is_none() {
            return Err(Problem::new(
                format!("{name}: this kernel can't unload an algorithm with its process"),
                "boot Linux 6.4 or newer",
            ));
        }
        egress::prepare(&name, &mut opened)?;
        let mut switches = vec![("trace_interval_us", f64::from(plan.trace_us))];
        if let Some(count) = arguments_of_cong_control(&kernel) {
            switches.push(("cong_control_args", f64::from(count)));
        }
        settings::write(&mut opened, &plan.parameters, &switches)?;
        if plan.default {
            // Otherwise the kernel accepts it as the default of the first namespace only.
            allow_users(&mut opened);
        }
        for mut map in opened.maps_mut() {
            if map.name() == CALLS {
                // The least size; the buffer stays empty.
                map.set_max_entries(4096)
                    .map_err(|error| refused(&name, &error))?;
            }
        }
        let mut object = opened.load().map_err(|error| refused(&name, &error))?;
        let mut maps = object.maps_mut();
        let registered = maps
            .find(|map| map.map_type() == MapType::StructOps)
            .map(|mut map| map.attach_struct_ops());
        drop(maps);
        match registered {
            Some(Ok(link)) => Ok(Loaded {
                devices: egress::attach(&name, &object)?,
                name,
                link,
                object,
            }),
            Some(Err(error)) => Err(refused(&name, &error)),
            None => Err(Problem::new(
                format!("{name}: its object registers nothing"),
                "build it again: make kernel",
            )),
        }
    }

    /// Returns handles to the maps that a trace reads: rows and counters.
    pub fn of_trace(&self) -> Vec<MapHandle> {
        let wanted = |name: &OsStr| name == ROWS || settings::is_section(name, COUNTERS);
        self.object
            .maps()
            .filter(|map| wanted(map.name()))
            .filter_map(|map| MapHandle::try_from(&map).ok())
            .collect()
    }
}

/// Returns the algorithms that this kernel offers.
pub fn offered() -> Vec<String> {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Returns the number of arguments of `cong_control` in this kernel, which is 4 since Linux 6.10.
fn arguments_of_cong_control(btf: &Btf<'_>) -> Option<u32> {
    let ops: Struct<'_> = btf.type_by_name(OPS)?;
    let member = ops
        .iter()
        .find(|member| member.name == Some(OsStr::new("cong_control")))?;
    let pointer: Ptr<'_> = btf.type_by_id(member.ty)?;
    let function = FuncProto::try_from(pointer.next_type()?).ok()?;
    u32::try_from(function.len()).ok()
}

/// Lets every user choose the algorithm of an object.
fn allow_users(object: &mut OpenObject) {
    let offset = settings::btf(object).and_then(|btf| {
        let ops: Struct<'_> = btf.type_by_name(OPS)?;
        let flags = ops
            .iter()
            .find(|member| member.name == Some(OsStr::new("flags")))?;
        match flags.attr {
            MemberAttr::Normal { offset } => Some(offset as usize / 8),
            MemberAttr::BitField { .. } => None,
        }
    });
    let mut maps = object.maps_mut();
    if let Some(offset) = offset
        && let Some(mut ops) = maps.find(|map| map.map_type() == MapType::StructOps)
        && let Some(flags) = ops
            .initial_value_mut()
            .and_then(|value| value.get_mut(offset..offset + 4))
    {
        for (byte, bit) in flags.iter_mut().zip(NON_RESTRICTED.to_ne_bytes()) {
            *byte |= bit;
        }
    }
}

/// The latest warnings of libbpf: the reason why the kernel refuses a program is there.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn keep(_: PrintLevel, text: String) {
    if let Ok(mut kept) = WARNINGS.lock() {
        kept.extend(text.lines().map(|line| line.trim().to_owned()));
        let first = kept.len().saturating_sub(MOST_WARNINGS);
        kept.drain(..first);
    }
}

fn refused(name: &str, error: &Error) -> Problem {
    match error.kind() {
        ErrorKind::PermissionDenied => Problem::new(
            format!("{name}: the kernel does not permit it"),
            "run it as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN of the machine",
        ),
        ErrorKind::AlreadyExists => Problem::new(
            format!("{name} is loaded already"),
            "unload it first: fullpipe kernel list",
        ),
        _ => {
            let kept = WARNINGS
                .lock()
                .map(|kept| kept.join("\n"))
                .unwrap_or_default();
            let problem = format!("{name}: this kernel refuses the object: {error}\n{kept}");
            Problem::new(
                problem.trim_end(),
                "fullpipe doctor shows what this kernel lacks; otherwise report these lines",
            )
        }
    }
}
