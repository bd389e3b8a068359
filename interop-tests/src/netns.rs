//! A network namespace.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns};

use crate::process::Cmd;
use crate::sandbox::Inner;

/// A network namespace of a [`crate::Sandbox`]. Cheap to clone; deleted with the sandbox.
#[derive(Debug, Clone)]
pub struct Netns {
    sandbox: Arc<Inner>,
    name: Arc<str>,
    full_name: Arc<str>,
    handle: Arc<File>,
}

impl Netns {
    /// Takes hold of a namespace that `ip netns add` has just made, and sets it up.
    pub(crate) fn open(sandbox: Arc<Inner>, name: &str, full_name: &str) -> Result<Self> {
        let path = Path::new(NETNS_DIR).join(full_name);
        let handle = Arc::new(File::open(&path).with_context(|| path.display().to_string())?);
        let netns = Self {
            sandbox,
            name: name.into(),
            full_name: full_name.into(),
            handle,
        };
        netns.sysctls(&[
            // Addresses are usable at once.
            ("net.ipv6.conf.all.accept_dad", "0"),
            ("net.ipv6.conf.default.accept_dad", "0"),
            ("net.ipv6.conf.all.accept_ra", "0"),
            ("net.ipv6.conf.default.accept_ra", "0"),
            // Inherited from the machine, where some distributions are strict.
            ("net.ipv4.conf.all.rp_filter", "0"),
            ("net.ipv4.conf.default.rp_filter", "0"),
        ])?;
        netns.ip(["link set lo up"])?;
        Ok(netns)
    }

    /// The name it was asked for with, for example `node1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name that `ip netns` knows, for example `weft-5xc-node1`.
    pub fn full_name(&self) -> &str {
        &self.full_name
    }

    /// A directory for files of this namespace's daemons; made when it is absent.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn dir(&self) -> Result<PathBuf> {
        let dir = self.sandbox.dir().join(&*self.name);
        fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        Ok(dir)
    }

    /// A command to be run here.
    pub fn command(&self, program: &str) -> Cmd {
        self.sandbox
            .command(program, Arc::clone(&self.handle), &self.full_name)
    }

    /// Runs a command here and returns what it wrote.
    ///
    /// # Errors
    /// As [`Cmd::run`].
    pub fn run(&self, program: &str, args: &[&str]) -> Result<String> {
        self.command(program).args(args).run()
    }

    /// Runs lines of `ip` commands (without the word `ip`) with one process.
    ///
    /// # Errors
    /// When one of them is refused; the later ones are not run then.
    pub fn ip<L: AsRef<str>>(&self, lines: impl IntoIterator<Item = L>) -> Result<()> {
        let mut batch = String::new();
        for line in lines {
            batch.push_str(line.as_ref());
            batch.push('\n');
        }
        self.command("ip")
            .args(["-batch", "-"])
            .stdin(batch.clone())
            .run()
            .with_context(|| format!("batch:\n{batch}"))?;
        Ok(())
    }

    /// Runs `work` on a thread inside this namespace: sockets that it opens belong here.
    ///
    /// # Errors
    /// When the namespace can't be entered, or `work` panics.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(&*self.handle, CloneFlags::CLONE_NEWNET)
                    .with_context(|| format!("entering {}", self.full_name))?;
                Ok(work())
            });
            thread
                .join()
                .map_err(|_| anyhow!("a thread in {} panicked", self.full_name))?
        })
    }

    /// Starts `work` on a thread of its own inside this namespace.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> std::thread::JoinHandle<Result<T>> {
        let netns = self.clone();
        std::thread::spawn(move || {
            setns(&*netns.handle, CloneFlags::CLONE_NEWNET)
                .with_context(|| format!("entering {}", netns.full_name))?;
            work()
        })
    }

    /// The own address that the kernel would use towards `destination`.
    ///
    /// # Errors
    /// When there is no route.
    pub fn source_address(&self, destination: IpAddr) -> Result<IpAddr> {
        self.enter(|| {
            let any: IpAddr = match destination {
                IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let socket = UdpSocket::bind((any, 0))?;
            // Sends nothing; only looks up the route. Any port will do.
            socket.connect((destination, 9))?;
            Ok::<_, std::io::Error>(socket.local_addr()?.ip())
        })?
        .with_context(|| format!("route from {} to {destination}", self.full_name))
    }

    /// Sets sysctls below `net.`.
    ///
    /// # Errors
    /// When the kernel knows one not or refuses the value.
    pub fn sysctls(&self, settings: &[(&str, &str)]) -> Result<()> {
        self.enter(|| {
            for (key, value) in settings {
                // A dot in an interface's name is written as a slash, as `sysctl` does.
                let path: String = key
                    .chars()
                    .map(|c| match c {
                        '.' => '/',
                        '/' => '.',
                        other => other,
                    })
                    .collect();
                // The kernel shows here the namespace of the thread that opens the file.
                fs::write(Path::new("/proc/sys").join(path), value)
                    .with_context(|| format!("{key} = {value}"))?;
            }
            Ok(())
        })?
    }

    /// Makes it a router for IPv4 and IPv6.
    ///
    /// # Errors
    /// As [`Netns::sysctls`].
    pub fn enable_forwarding(&self) -> Result<()> {
        self.sysctls(&[
            ("net.ipv4.ip_forward", "1"),
            ("net.ipv6.conf.all.forwarding", "1"),
        ])
    }
}

pub(crate) const NETNS_DIR: &str = "/run/netns";
