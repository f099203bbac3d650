//! One program: its start, its outputs, its end.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{Program, STEP};
use crate::confine::Confinement;
use crate::{End, SandboxError};

/// Lines of a program's output in an error.
const LAST: usize = 5;
/// Longest such line, in characters.
const WIDEST: usize = 200;

/// Part of a program in its transfer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    Server,
    Client,
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Role::Server => "server",
            Role::Client => "client",
        }
    }
}

/// A command line, ready to start.
pub(super) struct Line {
    command: Command,
    about: About,
}

/// A program's names for errors.
#[derive(Clone, Debug)]
struct About {
    flow: String,
    role: Role,
    line: String,
    folder: PathBuf,
}

/// A started program.
pub(super) struct Child {
    process: Process,
    about: About,
    code: Option<i32>,
}

impl Line {
    pub(super) fn new(
        end: &End,
        program: &Program,
        role: Role,
        confinement: &Arc<Confinement>,
    ) -> Result<Line, SandboxError> {
        let words = match role {
            Role::Server => &program.server,
            Role::Client => &program.client,
        };
        let about = About {
            flow: program.name.clone(),
            role,
            line: words.join(" "),
            folder: program.folder.clone(),
        };
        let (name, arguments) = words
            .split_first()
            .ok_or_else(|| about.error("has no command line"))?;
        let output = |kind: &str| {
            let file = about.output(kind);
            File::create(&file)
                .map(Stdio::from)
                .map_err(|error| about.error(&format!("{}: {error}", file.display())))
        };
        let mut command = end.confined(name, Some(confinement));
        command
            .args(arguments)
            .current_dir(&about.folder)
            .stdin(Stdio::null())
            .stdout(output("out")?)
            .stderr(output("err")?)
            .process_group(0);
        Ok(Line { command, about })
    }

    pub(super) fn start(&mut self) -> Result<Child, SandboxError> {
        let about = self.about.clone();
        let process = self.command.spawn().map_err(|error| {
            about.error(&match error.kind() {
                io::ErrorKind::NotFound => "not found on PATH".to_owned(),
                _ => format!("can't be started: {error}"),
            })
        })?;
        Ok(Child {
            process,
            about,
            code: None,
        })
    }
}

impl About {
    /// Returns the file of an output: `server.out`, `client.err`.
    fn output(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.role.word()))
    }

    fn error(&self, what: &str) -> SandboxError {
        let About { flow, line, .. } = self;
        let role = self.role.word();
        SandboxError::new(
            format!("program {flow:?}: its {role} {what}: {line}"),
            "its last lines may say why; run the command alone to see all of them",
        )
    }
}

impl Child {
    /// Returns the exit code if the program has ended: 128 plus its number if a signal ended it.
    pub(super) fn has_ended(&mut self) -> Option<i32> {
        if self.code.is_none()
            && let Ok(Some(status)) = self.process.try_wait()
        {
            let signal = || 128 + status.signal().unwrap_or(0);
            self.code = Some(status.code().unwrap_or_else(signal));
        }
        self.code
    }

    /// Returns an error about the program, with the last lines of its output.
    pub(super) fn trouble(&mut self, what: &str) -> SandboxError {
        let code = self
            .has_ended()
            .map_or_else(String::new, |code| format!(" (exit code {code})"));
        let mut error = self.about.error(&format!("{what}{code}"));
        let said = ["err", "out"]
            .into_iter()
            .map(|kind| last_lines(&self.about.output(kind)))
            .find(|lines| !lines.is_empty());
        for line in said.unwrap_or_default() {
            error.problem.push_str("\n  | ");
            error.problem.push_str(&line);
        }
        error
    }

    fn signal(&self, signal: Signal) {
        // The program is the leader of a process group, so its own children get the signal too.
        let _ = killpg(Pid::from_raw(self.process.id() as i32), signal);
    }
}

/// Asks programs to end, and kills those that have not ended after `grace`.
pub(super) fn end(mut programs: Vec<&mut Child>, grace: Duration) {
    programs.retain_mut(|program| program.has_ended().is_none());
    for program in &programs {
        program.signal(Signal::SIGTERM);
    }
    for _ in 0..grace.as_millis() / STEP.as_millis() {
        if programs.is_empty() {
            return;
        }
        programs.retain_mut(|program| program.has_ended().is_none());
        std::thread::sleep(STEP);
    }
    for program in &mut programs {
        program.signal(Signal::SIGKILL);
        let _ = program.process.wait();
    }
}

/// Returns the last lines of a file that are not empty, without control characters.
fn last_lines(file: &Path) -> Vec<String> {
    let bytes = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let clean = |line: &str| -> String {
        let shown = line.chars().filter(|c| !c.is_control());
        shown.take(WIDEST).collect::<String>().trim_end().to_owned()
    };
    let lines: Vec<String> = text
        .lines()
        .map(clean)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(LAST)..].to_vec()
}
