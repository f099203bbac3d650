//! The header of a library: its system and its architecture, so that an error can name them. The
//! system's own words are about a missing file, if the architecture is another.

use std::env::consts::{ARCH, OS};

use super::{LoadError, refusal};

/// Refuses contents that are no library for this machine.
pub(super) fn check(content: &[u8]) -> Result<(), LoadError> {
    let here = (system(OS), ARCH);
    match image(content) {
        Ok(found) if found == here => Ok(()),
        Ok((system, architecture)) => refusal(
            format!(
                "is a library for {system} on {architecture}, and this machine has {} on {}",
                here.0, here.1
            ),
            "build it on this machine, or for it",
        ),
        Err(problem) => refusal(
            problem,
            "name a shared library; `fullpipe plugin build CRATE` makes one",
        ),
    }
}

fn system(os: &str) -> &'static str {
    match os {
        "macos" => "macOS",
        "windows" => "Windows",
        _ => "Linux",
    }
}

fn number<const N: usize>(content: &[u8], at: usize) -> Option<[u8; N]> {
    content.get(at..at + N)?.try_into().ok()
}

/// Returns system and architecture of a shared library.
fn image(content: &[u8]) -> Result<(&'static str, &'static str), &'static str> {
    let truncated = "is a damaged library";
    let short = |at| number(content, at).map(u16::from_le_bytes).ok_or(truncated);
    let long = |at| number(content, at).map(u32::from_le_bytes).ok_or(truncated);
    match content {
        // ELF: e_type 3 is a shared object.
        [0x7f, b'E', b'L', b'F', class, order, ..] => {
            let architecture = match (class, order, short(18)?) {
                (2, 1, 62) => "x86_64",
                (2, 1, 183) => "aarch64",
                (2, 1, 243) => "riscv64",
                (1, 1, 3 | 62) => "x86",
                (1, 1, 40) => "arm",
                _ => "another architecture",
            };
            if *class == 2 && !has_sections(content).ok_or(truncated)? {
                return Err(truncated);
            }
            match short(16)? {
                3 => Ok(("Linux", architecture)),
                1 => Err("is an object file, and not linked"),
                _ => Err("is a program, and not a shared library"),
            }
        }
        // Mach-O, 64 bits.
        [0xcf, 0xfa, 0xed, 0xfe, ..] => Ok((
            "macOS",
            match long(4)? {
                0x0100_0007 => "x86_64",
                0x0100_000c => "aarch64",
                _ => "another architecture",
            },
        )),
        // Mach-O for several architectures; the system finds its own.
        [0xca, 0xfe, 0xba, 0xbe, ..] => Ok(("macOS", ARCH)),
        [b'M', b'Z', ..] => {
            let header = long(0x3c)? as usize;
            if content.get(header..header + 4) != Some(b"PE\0\0") {
                return Err("is no library");
            }
            let architecture = match short(header + 4)? {
                0x8664 => "x86_64",
                0xaa64 => "aarch64",
                _ => "another architecture",
            };
            Ok(("Windows", architecture))
        }
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => Err("is a static library"),
        _ => Err("is no library"),
    }
}

/// Returns whether the table at the end of an ELF file of 64 bits is complete. The system would map a
/// shorter file, and the process would end at the first access beyond its end.
fn has_sections(content: &[u8]) -> Option<bool> {
    let start = u64::from_le_bytes(number(content, 40)?);
    let size = u64::from(u16::from_le_bytes(number(content, 58)?));
    let count = u64::from(u16::from_le_bytes(number(content, 60)?));
    Some(start.checked_add(size * count)? <= content.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(class: u8, kind: u16, machine: u16) -> Vec<u8> {
        let mut made = vec![0x7f, b'E', b'L', b'F', class, 1, 1, 0];
        made.resize(16, 0);
        made.extend(kind.to_le_bytes());
        made.extend(machine.to_le_bytes());
        made.resize(64, 0);
        made
    }

    #[test]
    fn a_header_names_system_and_architecture() {
        assert_eq!(image(&elf(2, 3, 62)), Ok(("Linux", "x86_64")));
        assert_eq!(image(&elf(2, 3, 183)), Ok(("Linux", "aarch64")));
        let mut mach = vec![0xcf, 0xfa, 0xed, 0xfe];
        mach.extend(0x0100_000c_u32.to_le_bytes());
        assert_eq!(image(&mach), Ok(("macOS", "aarch64")));
        let mut windows = b"MZ".to_vec();
        windows.resize(0x3c, 0);
        windows.extend(0x40_u32.to_le_bytes());
        windows.extend(b"PE\0\0\x64\x86");
        assert_eq!(image(&windows), Ok(("Windows", "x86_64")));
    }

    #[test]
    fn other_contents_are_named() {
        assert_eq!(image(b""), Err("is no library"));
        assert_eq!(image(b"[package]\nname = 1"), Err("is no library"));
        assert_eq!(image(b"!<arch>\n"), Err("is a static library"));
        assert_eq!(image(&elf(2, 3, 62)[..18]), Err("is a damaged library"));
        assert_eq!(
            image(&elf(2, 1, 62)),
            Err("is an object file, and not linked")
        );
        assert_eq!(
            image(&elf(2, 2, 62)),
            Err("is a program, and not a shared library")
        );
        assert_eq!(image(b"MZ"), Err("is a damaged library"));
    }
}
