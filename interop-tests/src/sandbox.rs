//! One run's namespaces, processes and files, and the promise that nothing of them stays behind.
//!
//! A sandbox has an id, made of the harness's pid, and everything carries it:
//!
//! - network namespaces are called `weft-<id>-<name>`;
//! - processes have `WEFT_SANDBOX=<id>` in their environment, and so have their descendants;
//! - files lie in `/tmp/weft-<id>`;
//! - `/run/weft-sandboxes/<id>` is locked as long as the harness lives. The kernel drops the lock with the process,
//!   however that ends, so a lock that can be taken belongs to a dead run, which [`clean_leftovers`] then removes.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::netns::Netns;
use crate::process::{Cmd, Lifetime};

/// Everything of one run. Cheap to clone; taken down when the last clone and the last [`Netns`] of it are dropped.
#[derive(Debug, Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    id: String,
    dir: PathBuf,
    /// Held for its lock.
    lock: File,
    keepable: bool,
    kept: AtomicBool,
}

impl Sandbox {
    /// A new sandbox. The first one of a process removes what dead runs have left.
    ///
    /// # Errors
    /// Without root, or when files can't be made.
    pub fn new() -> Result<Self> {
        Self::open(false)
    }

    /// A new sandbox that [`Sandbox::keep`] can leave standing. Its daemons outlive a harness that gets SIGKILL (the
    /// next run removes them).
    ///
    /// # Errors
    /// As [`Sandbox::new`].
    pub fn keepable() -> Result<Self> {
        Self::open(true)
    }

    fn open(keepable: bool) -> Result<Self> {
        if !nix::unistd::geteuid().is_root() {
            bail!("network namespaces need root: run this with sudo");
        }
        static JANITOR: Once = Once::new();
        let mut cleaned = Ok(Vec::new());
        JANITOR.call_once(|| cleaned = clean_leftovers(Kept::Spare));
        cleaned.context("removing what dead runs have left")?;

        fs::create_dir_all(LOCKS).with_context(|| LOCKS.to_owned())?;
        let pid = base36(std::process::id());
        let id = match COUNT.fetch_add(1, Ordering::Relaxed) {
            0 => pid,
            count => format!("{pid}.{}", base36(count)),
        };
        let lock = locked_file(&id)?;
        let dir = std::env::temp_dir().join(format!("weft-{id}"));
        // Left by a dead run whose lock file was removed by hand.
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).with_context(|| dir.display().to_string())?;
        Ok(Self {
            inner: Arc::new(Inner {
                id,
                dir,
                lock,
                keepable,
                kept: AtomicBool::new(false),
            }),
        })
    }

    /// The part of all names that is this sandbox's own.
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// A directory for files of this sandbox.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// Makes the namespace `weft-<id>-<name>`, with `lo` up, without duplicate address detection.
    ///
    /// # Errors
    /// When `ip` refuses, for example because the name is taken.
    pub fn netns(&self, name: &str) -> Result<Netns> {
        let mut made = self.netns_many([name])?;
        made.pop().context("one namespace was asked for")
    }

    /// Makes many namespaces with one `ip` process.
    ///
    /// # Errors
    /// As [`Sandbox::netns`].
    pub fn netns_many<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Netns>> {
        let names: Vec<&str> = names.into_iter().collect();
        let adds: String = names
            .iter()
            .map(|name| format!("netns add {}\n", self.full_name(name)))
            .collect();
        Cmd::new("ip").args(["-batch", "-"]).stdin(adds).run()?;
        names
            .into_iter()
            .map(|name| Netns::open(Arc::clone(&self.inner), name, &self.full_name(name)))
            .collect()
    }

    /// Leaves everything standing when the harness ends; `cargo lab --clean` removes it.
    ///
    /// Processes must have been let go with [`crate::Process::release`].
    ///
    /// # Errors
    /// When the sandbox was not made with [`Sandbox::keepable`], or the mark can't be written.
    pub fn keep(&self) -> Result<()> {
        if !self.inner.keepable {
            bail!("this sandbox's daemons die with the harness: make it with Sandbox::keepable");
        }
        (&self.inner.lock)
            .write_all(KEPT_MARK.as_bytes())
            .context("marking the sandbox as kept")?;
        self.inner.kept.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn full_name(&self, name: &str) -> String {
        format!("{}{name}", prefix(&self.inner.id))
    }
}

impl Inner {
    /// A command inside `netns` that carries this sandbox's mark.
    pub(crate) fn command(&self, program: &str, netns: Arc<File>, place: &str) -> Cmd {
        let lifetime = if self.keepable {
            Lifetime::Kept
        } else {
            Lifetime::Harness
        };
        Cmd::inside(program, netns, place)
            .env(MARK, &self.id)
            .lifetime(lifetime)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.kept.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = remove(&self.id) {
            eprintln!("sandbox {} is not removed wholly: {error:#}", self.id);
        }
    }
}

/// What to do with sandboxes that were kept on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Leave them.
    Spare,
    /// Remove them too.
    Remove,
}

/// Removes the sandboxes whose harness has ended; returns their ids.
///
/// # Errors
/// When something can't be removed.
pub fn clean_leftovers(kept: Kept) -> Result<Vec<String>> {
    let entries = match fs::read_dir(LOCKS) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context(LOCKS),
    };
    let mut removed = Vec::new();
    for entry in entries {
        let path = entry.context(LOCKS)?.path();
        let id = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if id.starts_with('.') {
            // Being made; see `locked_file`.
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(error).context(id),
        }
        let is_kept = fs::read_to_string(&path).is_ok_and(|text| text.contains(KEPT_MARK));
        if is_kept && kept == Kept::Spare {
            continue;
        }
        remove(&id).with_context(|| format!("sandbox {id}"))?;
        removed.push(id);
    }
    Ok(removed)
}

/// Kills a sandbox's processes, deletes its namespaces and files.
fn remove(id: &str) -> Result<()> {
    let processes_gone = kill_marked(id);
    let namespaces: String = namespaces(id)?
        .into_iter()
        .map(|name| format!("netns del {name}\n"))
        .collect();
    let namespaces_gone = if namespaces.is_empty() {
        Ok(())
    } else {
        let batch = Cmd::new("ip")
            .args(["-force", "-batch", "-"])
            .stdin(namespaces);
        batch
            .cleanup()
            .timeout(Duration::from_secs(120))
            .run()
            .map(drop)
    };
    let _ = fs::remove_dir_all(std::env::temp_dir().join(format!("weft-{id}")));
    let _ = fs::remove_file(Path::new(LOCKS).join(id));
    processes_gone.and(namespaces_gone)
}

/// The names of a sandbox's namespaces.
fn namespaces(id: &str) -> Result<Vec<String>> {
    let prefix = prefix(id);
    let Ok(entries) = fs::read_dir(crate::netns::NETNS_DIR) else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry
            .context(crate::netns::NETNS_DIR)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.starts_with(&prefix) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Ends every process that a sandbox has started and that still lives.
fn kill_marked(id: &str) -> Result<()> {
    let start = Instant::now();
    loop {
        let left = marked_processes(id)?;
        if left.is_empty() {
            return Ok(());
        }
        for pid in &left {
            // It may have ended by itself since.
            let _ = kill(*pid, Signal::SIGKILL);
        }
        if start.elapsed() > Duration::from_secs(5) {
            bail!("processes {left:?} survive SIGKILL");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn marked_processes(id: &str) -> Result<Vec<Pid>> {
    let mark = format!("{MARK}={id}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("/proc")? {
        let entry = entry.context("/proc")?;
        let Some(pid) = std::str::from_utf8(entry.file_name().as_bytes())
            .ok()
            .and_then(|n| n.parse().ok())
        else {
            continue;
        };
        // Empty for kernel threads and zombies, an error for a process that has just ended.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes())
        {
            found.push(Pid::from_raw(pid));
        }
    }
    Ok(found)
}

/// Makes and locks an id's file. It appears under its name only when locked, or the janitor of another run would take it
/// for a dead run's.
fn locked_file(id: &str) -> Result<File> {
    let hidden = Path::new(LOCKS).join(format!(".{id}"));
    let file = File::create(&hidden).with_context(|| hidden.display().to_string())?;
    file.lock().with_context(|| hidden.display().to_string())?;
    fs::rename(&hidden, Path::new(LOCKS).join(id)).with_context(|| hidden.display().to_string())?;
    Ok(file)
}

fn prefix(id: &str) -> String {
    format!("weft-{id}-")
}

/// The id of the first sandbox of the harness with this process ID.
pub fn id_of(harness: u32) -> String {
    base36(harness)
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

const LOCKS: &str = "/run/weft-sandboxes";
const MARK: &str = "WEFT_SANDBOX";
const KEPT_MARK: &str = "kept\n";
static COUNT: AtomicU32 = AtomicU32::new(0);
