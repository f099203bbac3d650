//! Rows of connections, from the ring buffers of loaded algorithms to lines of JSON.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use libbpf_rs::btf::types::{Array, Int, MemberAttr, Struct};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, OpenObject, RingBufferBuilder};
use nix::poll::PollTimeout;
use serde_json::{Map, Value, json};

use crate::holders::{self, Holding};
use crate::load::{COUNTERS, ROWS};
use crate::{Problem, clock, hold, load, pins, settings};

/// Time between two looks at the buffers. The kernel does not wake the reader for a row, which would
/// cost more than the row.
const STEP: Duration = Duration::from_millis(20);
const ROW: &str = "fp_row";
const STATS: &str = "fp_stats";

/// Rows to print.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Names of algorithms in the kernel; all if empty.
    pub names: Vec<String>,
    /// Local or remote port of the connections; all if `None`.
    pub port: Option<u16>,
    /// Time to read; until standard input closes if `None`.
    pub time: Option<Duration>,
    /// Folder with the objects, for algorithms without a holder.
    pub objects: std::path::PathBuf,
}

/// A member of a struct: its place in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
    count: usize,
}

/// The layout of a struct, from the types of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    size: usize,
    fields: Vec<Field>,
}

impl Layout {
    fn of(object: &OpenObject, name: &str) -> Option<Layout> {
        let btf = settings::btf(object)?;
        let of: Struct<'_> = btf.type_by_name(name)?;
        let field = |member: libbpf_rs::btf::types::StructMember<'_>| {
            let MemberAttr::Normal { offset } = member.attr else {
                return None;
            };
            let whole = btf.type_by_id::<libbpf_rs::btf::BtfType<'_>>(member.ty)?;
            let whole = whole.skip_mods_and_typedefs();
            let (element, count) = match Array::try_from(whole) {
                Ok(array) => (
                    array.contained_type().skip_mods_and_typedefs(),
                    array.capacity(),
                ),
                Err(single) => (single, 1),
            };
            Some(Field {
                name: member.name?.to_str()?.to_owned(),
                offset: offset as usize / 8,
                size: usize::from(Int::try_from(element).ok()?.bits) / 8,
                count,
            })
        };
        Some(Layout {
            size: libbpf_rs::btf::HasSize::size(&of),
            fields: of.iter().filter_map(field).collect(),
        })
    }

    fn get<'a>(&self, row: &'a [u8], name: &str) -> Option<(&Field, &'a [u8])> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        let bytes = row.get(field.offset..field.offset + field.size * field.count)?;
        Some((field, bytes))
    }

    fn number(&self, row: &[u8], name: &str) -> Option<u64> {
        let (field, bytes) = self.get(row, name)?;
        number(bytes.get(..field.size)?)
    }
}

fn number(bytes: &[u8]) -> Option<u64> {
    let mut eight = [0; 8];
    eight.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(eight))
}

/// The maps of an algorithm that a trace reads.
struct Source {
    name: String,
    rows: MapHandle,
    counters: Option<MapHandle>,
    row: Layout,
    stats: Option<Layout>,
    /// Keeps other readers from taking rows; the kernel removes it at the end of this process.
    _lock: UnixListener,
}

/// Prints the rows of connections as lines of JSON, and at the end how many were lost.
///
/// # Errors
/// When nothing is loaded, or this process may not read the rows.
pub fn trace(wanted: &Selection) -> Result<(), Problem> {
    let holdings: Vec<Holding> = holders::all()
        .into_iter()
        .filter(|holding| wanted.names.is_empty() || wanted.names.contains(&holding.name))
        .filter(|holding| holding.process.is_some() || holding.pinned.is_some())
        .collect();
    if let Some(missing) = wanted
        .names
        .iter()
        .find(|name| !holdings.iter().any(|holding| holding.name == **name))
    {
        return Err(Problem::new(
            format!("{missing} is not loaded"),
            "fullpipe kernel load ALGORITHM",
        ));
    }
    if holdings.is_empty() {
        return Err(Problem::new(
            "no algorithm is loaded",
            "fullpipe kernel load ALGORITHM",
        ));
    }
    let sources = holdings
        .iter()
        .map(|holding| source(holding, &wanted.objects))
        .collect::<Result<Vec<Source>, Problem>>()?;
    let lost = lost(&sources);
    let out = Rc::new(RefCell::new(BufWriter::new(io::stdout())));
    let start = clock::now();
    let since = start.as_nanos() as u64;
    let mut builder = RingBufferBuilder::new();
    for source in &sources {
        let out = Rc::clone(&out);
        let port = wanted.port;
        let mut numbers = BTreeMap::new();
        let take = move |row: &[u8]| {
            // Rows from the time before this reader began fill the buffer of an older load.
            let late = source
                .row
                .number(row, "time_ns")
                .is_some_and(|at| at >= since);
            let written = match late && has_port(&source.row, row, port) {
                true => write_row(&mut *out.borrow_mut(), source, row, since, &mut numbers),
                false => Ok(()),
            };
            // The reader of the lines has ended.
            if written.is_err() { -1 } else { 0 }
        };
        builder
            .add(&source.rows, take)
            .map_err(|error| unreadable(&source.name, &error))?;
    }
    let buffer = builder
        .build()
        .map_err(|error| unreadable("rows", &error))?;
    let end = wanted.time.map(|time| start + time);
    let mut over = false;
    while !over && end.is_none_or(|end| clock::now() < end) {
        let left = end.map_or(STEP, |end| end.saturating_sub(clock::now()));
        let left = PollTimeout::try_from(left.min(STEP)).unwrap_or(PollTimeout::ZERO);
        over = hold::is_over(left, None);
        if buffer.consume().is_err() || out.borrow_mut().flush().is_err() {
            return Ok(());
        }
        // Unloaded: there will be no further row.
        if sources
            .iter()
            .all(|source| !load::offered().contains(&source.name))
        {
            break;
        }
    }
    let lost = self::lost(&sources).saturating_sub(lost);
    let mut out = out.borrow_mut();
    let _ = writeln!(out, "{}", json!({ "lost": lost }));
    let _ = out.flush();
    Ok(())
}

fn has_port(layout: &Layout, row: &[u8], port: Option<u16>) -> bool {
    let port = port.map(u64::from);
    port.is_none()
        || layout.number(row, "local_port") == port
        || layout.number(row, "remote_port") == port
}

/// Writes a row as an object: numbers as they are, addresses as text, the time in seconds since the
/// start of the trace.
fn write_row(
    out: &mut impl Write,
    source: &Source,
    row: &[u8],
    since: u64,
    names: &mut BTreeMap<u64, String>,
) -> io::Result<()> {
    let layout = &source.row;
    let mut line = Map::new();
    let at = layout.number(row, "time_ns").unwrap_or(since);
    line.insert("time".into(), json!((at - since) as f64 / 1e9));
    line.insert("cc".into(), json!(source.name));
    let connection = layout.number(row, "connection").unwrap_or(0);
    let flow = names
        .entry(connection)
        .or_insert_with(|| ends(layout, row).unwrap_or_default());
    line.insert("flow".into(), json!(flow));
    for field in &layout.fields {
        if matches!(
            field.name.as_str(),
            "time_ns" | "local" | "remote" | "family" | "unused"
        ) {
            continue;
        }
        let Some((_, bytes)) = layout.get(row, &field.name) else {
            continue;
        };
        let numbers: Vec<Value> = bytes
            .chunks(field.size)
            .map(|each| json!(number(each)))
            .collect();
        let value = match field.count {
            1 => numbers.into_iter().next().unwrap_or(Value::Null),
            _ => Value::from(numbers),
        };
        line.insert(field.name.clone(), value);
    }
    writeln!(out, "{}", Value::from(line))
}

/// Returns the two ends of a row's connection, as `LOCAL:PORT → REMOTE:PORT`.
fn ends(layout: &Layout, row: &[u8]) -> Option<String> {
    let ipv6 = layout.number(row, "family")? == 10;
    let end = |address: &str, port: &str| {
        let (_, bytes) = layout.get(row, address)?;
        let sixteen: [u8; 16] = bytes.try_into().ok()?;
        let port = layout.number(row, port)?;
        let v6 = Ipv6Addr::from(sixteen);
        Some(match (ipv6, v6.to_ipv4_mapped()) {
            (true, None) => format!("[{v6}]:{port}"),
            (true, Some(v4)) => format!("{v4}:{port}"),
            (false, _) => {
                let [a, b, c, d, ..] = sixteen;
                format!("{}:{port}", Ipv4Addr::new(a, b, c, d))
            }
        })
    };
    Some(format!(
        "{} → {}",
        end("local", "local_port")?,
        end("remote", "remote_port")?
    ))
}

/// Returns how many rows of all algorithms had no room so far.
fn lost(sources: &[Source]) -> u64 {
    let of = |source: &Source| {
        let value = source
            .counters
            .as_ref()?
            .lookup(&[0; 4], MapFlags::ANY)
            .ok()??;
        source.stats.as_ref()?.number(&value, "rows_lost")
    };
    sources.iter().filter_map(of).sum()
}

fn source(holding: &Holding, objects: &Path) -> Result<Source, Problem> {
    let name = &holding.name;
    let (rows, counters) = match (&holding.pinned, holding.process) {
        (Some(folder), _) => (
            MapHandle::from_pinned_path(pins::map(folder, true))
                .map_err(|error| unreadable(name, &error))?,
            MapHandle::from_pinned_path(pins::map(folder, false)).ok(),
        ),
        (None, process) => of_process(name, process.unwrap_or_default())?,
    };
    let file = match &holding.plan {
        Some(plan) => plan.object.clone(),
        None => objects.join(format!(
            "{}.bpf.o",
            name.strip_prefix("fp_").unwrap_or(name)
        )),
    };
    let object = load::open(&file)?;
    let row = Layout::of(&object, ROW).ok_or_else(|| {
        Problem::new(
            format!("{}: it has no type {ROW}", file.display()),
            "build it again: make kernel",
        )
    })?;
    let id = rows
        .info()
        .map_err(|error| unreadable(name, &error))?
        .info
        .id;
    Ok(Source {
        name: name.clone(),
        rows,
        counters,
        row,
        stats: Layout::of(&object, STATS),
        _lock: lock(name, id)?,
    })
}

/// Refuses a second reader: each row goes to one of them.
fn lock(name: &str, map: u32) -> Result<UnixListener, Problem> {
    SocketAddr::from_abstract_name(format!("fullpipe-kernel-trace-{map}"))
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(|error| {
            Problem::new(
                format!("{name}: another fullpipe kernel trace reads its rows: {error}"),
                "end that one first",
            )
        })
}

/// Returns the maps of a holder, which its open files name.
fn of_process(name: &str, process: i32) -> Result<(MapHandle, Option<MapHandle>), Problem> {
    let mut rows = None;
    let mut counters = None;
    let folder = format!("/proc/{process}/fdinfo");
    let read = fs::read_dir(&folder).map_err(|error| {
        Problem::new(
            format!("{name}: {folder}: {error}"),
            "run it as the user who loaded it, or as root",
        )
    })?;
    for entry in read.flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let id = text.lines().find_map(|line| line.strip_prefix("map_id:"));
        let Some(id) = id.and_then(|id| id.trim().parse().ok()) else {
            continue;
        };
        let map = MapHandle::from_map_id(id).map_err(|error| unreadable(name, &error))?;
        if map.map_type() == MapType::RingBuf && map.name() == OsStr::new(ROWS) {
            rows = Some(map);
        } else if settings::is_section(map.name(), COUNTERS) {
            counters = Some(map);
        }
    }
    let rows = rows.ok_or_else(|| {
        Problem::new(
            format!("{name}: process {process} has no ring buffer for rows"),
            "load it again with this version of fullpipe",
        )
    })?;
    Ok((rows, counters))
}

fn unreadable(name: &str, error: &libbpf_rs::Error) -> Problem {
    Problem::new(
        format!("{name}: its rows can't be read: {error}"),
        "run it as root, or with CAP_BPF and CAP_SYS_ADMIN",
    )
}
