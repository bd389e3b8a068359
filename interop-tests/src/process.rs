//! Commands and daemons inside a network namespace.
//!
//! Nothing here goes through `ip netns exec`: one long-lived thread enters the namespace, spawns, and goes home. So a
//! command costs one fork, the child's pid is the daemon's, and the child's parent thread lives as long as the harness,
//! which `PR_SET_PDEATHSIG` needs (the signal is sent when the parent *thread* ends).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::interrupt;
use crate::wait::Fatal;

/// A command to be run, in a namespace or in the harness's own.
#[derive(Debug)]
pub struct Cmd {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Option<Vec<u8>>,
    netns: Option<Arc<File>>,
    /// For error texts.
    place: String,
    timeout: Duration,
    purpose: Purpose,
    lifetime: Lifetime,
}

/// What a command is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Work,
    /// Runs although the user has interrupted: that is when it is needed.
    Cleanup,
}

/// How long a daemon may live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Dies with the harness, whatever ends that.
    Harness,
    /// May be left running ([`Process::release`]).
    Kept,
}

impl Cmd {
    /// A command in the namespace that the harness itself runs in.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: None,
            netns: None,
            place: String::new(),
            timeout: COMMAND_TIMEOUT,
            purpose: Purpose::Work,
            lifetime: Lifetime::Harness,
        }
    }

    /// A command in `netns`; `place` is that namespace's name for error texts.
    pub(crate) fn inside(program: impl AsRef<OsStr>, netns: Arc<File>, place: &str) -> Self {
        Self {
            netns: Some(netns),
            place: format!(" in {place}"),
            ..Self::new(program)
        }
    }

    /// Marks a command that takes things down, and so runs after an interrupt too.
    pub(crate) fn cleanup(mut self) -> Self {
        self.purpose = Purpose::Cleanup;
        self
    }

    pub(crate) fn lifetime(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// What the command reads; nothing by default.
    #[must_use]
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// How long the command may take; 30 seconds by default. Then it is killed, and that is an error.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it and returns what it wrote on standard output.
    ///
    /// # Errors
    /// When it can't be started, ends with another code than 0 (the error holds what it wrote), or takes too long.
    pub fn run(self) -> Result<String> {
        let line = self.to_string();
        let output = self.output()?;
        if !output.status.success() {
            bail!(
                "`{line}` ended with {}: {}{}",
                describe(output.status),
                output.stderr.trim(),
                last_lines(&output.stdout, 20).trim()
            );
        }
        Ok(output.stdout)
    }

    /// Runs it; another exit code than 0 is not an error.
    ///
    /// # Errors
    /// When it can't be started or takes too long.
    pub fn output(mut self) -> Result<Output> {
        let line = self.to_string();
        let input = self.stdin.take();
        let timeout = self.timeout;
        let stdin = if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let mut child = self.spawn(stdin, Stdio::piped(), Stdio::piped())?;
        let stdout = read_in_background(child.stdout.take());
        let stderr = read_in_background(child.stderr.take());
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
            // The child may end without reading everything; its exit code tells, not our EPIPE.
            let _ = pipe.write_all(&input);
        }
        let cut_short = || self.purpose == Purpose::Work && interrupt::interrupted();
        let Some(status) = wait_for_exit(&mut child, timeout, cut_short)
            .with_context(|| format!("waiting for `{line}`"))?
        else {
            kill_group(&mut child);
            interrupt::check()?;
            bail!("`{line}` took more than {} s", timeout.as_secs());
        };
        Ok(Output {
            status,
            stdout: stdout.collect(),
            stderr: stderr.collect(),
        })
    }

    /// Starts it as a daemon that dies with the harness; its output goes to `log`.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn daemon(self, name: &str, log: impl Into<PathBuf>) -> Result<Process> {
        let log = log.into();
        let out = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("log {}", log.display()))?;
        let err = out
            .try_clone()
            .with_context(|| format!("log {}", log.display()))?;
        let command = match self.lifetime {
            Lifetime::Kept => self,
            // `setpriv` replaces itself by the daemon, so the pid stays the daemon's.
            Lifetime::Harness => Self {
                program: "setpriv".into(),
                args: ["--pdeathsig", "KILL", "--"]
                    .into_iter()
                    .map(OsString::from)
                    .chain([self.program])
                    .chain(self.args)
                    .collect(),
                ..self
            },
        };
        let child = command.spawn(Stdio::null(), out.into(), err.into())?;
        Ok(Process {
            name: name.to_owned(),
            child: Some(child),
            log,
            place: command.place,
        })
    }

    fn spawn(&self, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(key, value)| (key, value)))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr)
            // A group of its own: Ctrl-C on the terminal is for the harness alone, which then ends the child in order.
            .process_group(0);
        if self.purpose == Purpose::Work {
            interrupt::check()?;
        }
        spawn_from_spawner(command, self.netns.clone())
            .with_context(|| format!("starting `{self}`"))
    }
}

impl std::fmt::Display for Cmd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.program.to_string_lossy())?;
        for arg in &self.args {
            write!(f, " {}", arg.to_string_lossy())?;
        }
        f.write_str(&self.place)
    }
}

/// What a command left.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote on standard output.
    pub stdout: String,
    /// What it wrote on standard error.
    pub stderr: String,
}

/// A daemon that runs. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Option<Child>,
    log: PathBuf,
    place: String,
}

impl Process {
    /// The name given at the start.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The daemon's pid; `None` once it was stopped or killed.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The file that holds its output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of its output.
    pub fn log_tail(&self, lines: usize) -> String {
        last_lines(
            &std::fs::read_to_string(&self.log).unwrap_or_default(),
            lines,
        )
    }

    /// An error (of the kind [`Fatal`]) with the log's end when the daemon runs no more.
    ///
    /// # Errors
    /// As said.
    pub fn ensure_running(&self) -> Result<()> {
        let ended = match self.pid() {
            None => "was stopped".to_owned(),
            Some(pid) => {
                // Only looks: the child stays to be reaped by whoever owns it mutably.
                let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
                match waitid(Id::Pid(pid_of(pid)), flags).context("waitid")? {
                    WaitStatus::StillAlive => return Ok(()),
                    WaitStatus::Exited(_, code) => format!("ended with code {code}"),
                    WaitStatus::Signaled(_, signal, _) => format!("ended with {signal}"),
                    other => format!("is not well: {other:?}"),
                }
            }
        };
        let Self { name, place, .. } = self;
        Err(Fatal::error(format!(
            "{name}{place} {ended}; its log ends:\n{}",
            self.log_tail(25)
        )))
    }

    /// Sends a signal to the daemon alone.
    ///
    /// # Errors
    /// When it runs no more.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self
            .pid()
            .with_context(|| format!("{} was stopped", self.name))?;
        nix::sys::signal::kill(pid_of(pid), signal)
            .with_context(|| format!("{signal} to {}", self.name))
    }

    /// Asks it to end (SIGTERM) and waits; returns how it ended.
    ///
    /// # Errors
    /// When it still runs after `timeout` (it is killed then).
    pub fn stop(&mut self, timeout: Duration) -> Result<ExitStatus> {
        let _ = self.signal(Signal::SIGTERM);
        let mut child = self
            .child
            .take()
            .with_context(|| format!("{} was stopped", self.name))?;
        if let Some(status) = wait_for_exit(&mut child, timeout, || false)? {
            // Helpers of the daemon, if it left any.
            let _ = killpg(pid_of(child.id()), Signal::SIGKILL);
            return Ok(status);
        }
        kill_group(&mut child);
        Err(anyhow!(
            "{} did not end within {} s of SIGTERM",
            self.name,
            timeout.as_secs()
        ))
    }

    /// Kills it (SIGKILL), as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            kill_group(&mut child);
        }
    }

    /// Lets it run on after the harness has ended. The pid is returned.
    ///
    /// Only a daemon of a [`crate::Sandbox::keepable`] sandbox really outlives it.
    pub fn release(&mut self) -> Option<u32> {
        self.child.take().map(|child| child.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        // nextest shows this for tests that fail, and for them only.
        if std::env::var_os("NEXTEST").is_some() {
            eprintln!(
                "---- log of {}{} ({}) ends:\n{}",
                self.name,
                self.place,
                self.log.display(),
                self.log_tail(40)
            );
        }
    }
}

/// Spawns on the spawner's thread, inside `netns`.
fn spawn_from_spawner(command: Command, netns: Option<Arc<File>>) -> Result<Child> {
    let (reply, answer) = channel();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, receiver) = channel::<Order>();
        std::thread::spawn(move || {
            let home = File::open("/proc/thread-self/ns/net");
            for Order {
                mut command,
                netns,
                reply,
            } in receiver
            {
                let outcome = match (&home, netns) {
                    (_, None) => command.spawn(),
                    (Err(error), Some(_)) => Err(std::io::Error::other(error.to_string())),
                    (Ok(home), Some(netns)) => setns(&*netns, CloneFlags::CLONE_NEWNET)
                        .map_err(Into::into)
                        .and_then(|()| {
                            let child = command.spawn();
                            setns(home, CloneFlags::CLONE_NEWNET)?;
                            child
                        }),
                };
                let _ = reply.send(outcome);
            }
        });
        Mutex::new(sender)
    });
    spawner
        .lock()
        .map_err(|_| anyhow!("the spawner's lock is poisoned"))?
        .send(Order {
            command,
            netns,
            reply,
        })
        .context("the spawner has ended")?;
    Ok(answer.recv().context("the spawner has ended")??)
}

struct Order {
    command: Command,
    netns: Option<Arc<File>>,
    reply: Sender<std::io::Result<Child>>,
}

static SPAWNER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();

struct Background(Option<std::thread::JoinHandle<String>>);

impl Background {
    fn collect(self) -> String {
        self.0
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

fn read_in_background(pipe: Option<impl Read + Send + 'static>) -> Background {
    Background(pipe.map(|mut pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }))
}

/// Waits for the end; `None` when time is up or `cut_short` says so.
fn wait_for_exit(
    child: &mut Child,
    timeout: Duration,
    cut_short: impl Fn() -> bool,
) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait().context("waitpid")? {
            return Ok(Some(status));
        }
        if start.elapsed() >= timeout || cut_short() {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn kill_group(child: &mut Child) {
    // The group is ours: `process_group(0)` made it, and the unreaped child keeps its number taken.
    let _ = killpg(pid_of(child.id()), Signal::SIGKILL);
    let _ = child.wait();
}

fn pid_of(pid: u32) -> Pid {
    Pid::from_raw(pid.cast_signed())
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
