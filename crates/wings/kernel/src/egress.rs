//! Programs of an object at the egress of all devices, which belong to the holder as well.
#![expect(unsafe_code, reason = "libbpf-rs does not attach to tcx")]

use std::ffi::OsStr;
use std::fs;
use std::ptr::{NonNull, null};

use libbpf_rs::libbpf_sys::bpf_program__attach_tcx;
use libbpf_rs::{AsRawLibbpf, Link, Object, OpenObject, ProgramAttachType};
use nix::errno::Errno;
use nix::net::if_::if_nameindex;

use crate::Problem;

/// Section of such a program. It makes packets ECT(1), for algorithms that need accurate ECN.
const SECTION: &str = "tc";
const ECN: &str = "/proc/sys/net/ipv4/tcp_ecn";
/// The least value of the setting with which connections negotiate accurate ECN (RFC 9768).
const ACCURATE: u32 = 3;

/// Prepares the programs of an object that is not loaded yet. An object that has one needs accurate
/// ECN.
///
/// # Errors
/// When connections do not negotiate accurate ECN.
pub(crate) fn prepare(name: &str, object: &mut OpenObject) -> Result<(), Problem> {
    let mut some = false;
    for mut program in object.progs_mut() {
        if program.section() == SECTION {
            program.set_attach_type(ProgramAttachType::TcxEgress);
            some = true;
        }
    }
    if !some {
        return Ok(());
    }
    let setting = fs::read_to_string(ECN).unwrap_or_default();
    if setting
        .trim()
        .parse()
        .is_ok_and(|value: u32| value >= ACCURATE)
    {
        return Ok(());
    }
    Err(Problem::new(
        format!(
            "{name} needs accurate ECN, and net.ipv4.tcp_ecn is {}",
            setting.trim()
        ),
        format!(
            "as root: sysctl -w net.ipv4.tcp_ecn={ACCURATE}; a kernel that refuses this value has no accurate ECN"
        ),
    ))
}

/// Attaches the programs of an object to the devices of this network namespace.
///
/// # Errors
/// When the kernel refuses it.
pub(crate) fn attach(name: &str, object: &Object) -> Result<Vec<(u32, Link)>, Problem> {
    let refused = |device: &OsStr, error: Errno| {
        Problem::new(
            format!(
                "{name}: its program for packets is refused by {}: {}",
                device.display(),
                error.desc()
            ),
            "boot Linux 6.6 or newer",
        )
    };
    let mut links = Vec::new();
    for program in object.progs().filter(|each| each.section() == SECTION) {
        let devices = if_nameindex().map_err(|error| refused(OsStr::new("a device"), error))?;
        for device in &devices {
            // SAFETY: the program lives as long as the object, and the options may be absent.
            let link = unsafe {
                bpf_program__attach_tcx(
                    program.as_libbpf_object().as_ptr(),
                    device.index() as i32,
                    null(),
                )
            };
            let name = OsStr::new(device.name().to_str().unwrap_or("a device")).to_owned();
            let link = NonNull::new(link).ok_or_else(|| refused(&name, Errno::last()))?;
            // SAFETY: libbpf has made the link, and nothing else owns it.
            links.push((device.index(), unsafe { Link::from_ptr(link) }));
        }
    }
    Ok(links)
}
