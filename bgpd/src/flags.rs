//! What the command line and the environment say.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::BoolishValueParser;
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use tracing_subscriber::EnvFilter;

/// weft's node daemon: BGP, block aggregation and VXLAN in one process.
///
/// Without any flag it starts with AS 64512 on port 179 and no peers, and waits to be told more through its API or
/// its manifests.
#[derive(Clone, Debug, Parser)]
#[command(name = "weftd", version)]
pub struct Flags {
    /// Name of this node, as the Node resource has it [default: the host's name]
    #[arg(long, env = "WEFT_NODE_NAME", value_name = "NAME", value_parser = node_name)]
    pub node_name: Option<String>,

    /// Manifest file, or directory of *.yaml, *.yml and *.json; read again when it changes and on SIGHUP
    #[arg(long, env = "WEFT_MANIFESTS", value_name = "PATH")]
    pub manifests: Option<PathBuf>,

    /// Where the gRPC API listens
    #[arg(
        long,
        env = "WEFT_API",
        value_name = "ADDRESS",
        default_value = "unix:///run/weft/weft.sock"
    )]
    pub api: ApiAddress,

    /// Where the state that was last applied is kept, for the next start
    #[arg(
        long,
        env = "WEFT_STATE_DIR",
        value_name = "DIR",
        default_value = "/var/lib/weft"
    )]
    pub state_dir: PathBuf,

    /// Address that BGP listens on; all addresses when absent, or the node's with bindMode NodeIP
    #[arg(long, env = "WEFT_BGP_ADDRESS", value_name = "IP", value_parser = address)]
    pub bgp_address: Option<IpAddr>,

    /// Port that BGP listens on [default: BGPConfiguration's listenPort, else 179]
    #[arg(long, env = "WEFT_BGP_PORT", value_name = "PORT", value_parser = port)]
    pub bgp_port: Option<u16>,

    /// Router ID, for a start before a Node resource gives the node's address [default: address of the default route]
    #[arg(long, env = "WEFT_ROUTER_ID", value_name = "IPV4", value_parser = router_id)]
    pub router_id: Option<Ipv4Addr>,

    /// Program nothing into the kernel: for route reflectors and collectors
    #[arg(long, env = "WEFT_NO_KERNEL", value_parser = BoolishValueParser::new())]
    pub no_kernel: bool,

    /// Where Prometheus metrics are served, over HTTP at /metrics
    #[arg(long, env = "WEFT_METRICS", value_name = "IP:PORT", value_parser = metrics_address)]
    pub metrics: Option<SocketAddr>,

    /// Least severe log messages to write, or directives such as info,weftd::bgp=debug
    #[arg(
        long,
        env = "WEFT_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "info",
        value_parser = log_level
    )]
    pub log_level: String,

    /// Form of the log lines
    #[arg(
        long,
        env = "WEFT_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub log_format: LogFormat,

    /// Threads that hold the RIB, each a part of the prefixes
    #[arg(long, env = "WEFT_RIB_SHARDS", value_name = "N", default_value_t = 1, value_parser = shards)]
    pub rib_shards: u8,
}

/// The form of log lines.
#[derive(Copy, Clone, Debug, Eq, PartialEq, ValueEnum)]
pub enum LogFormat {
    /// One human-readable line each.
    Text,
    /// One JSON object each.
    Json,
}

/// Where the API listens. Only Unix sockets: their file permissions say who may command the daemon.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApiAddress(pub PathBuf);

impl FromStr for ApiAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("tcp://") || text.parse::<SocketAddr>().is_ok() {
            return Err("TCP would let anybody on the network command the daemon (mTLS is not supported yet); \
                        write a Unix socket, for example unix:///run/weft/weft.sock"
                .to_owned());
        }
        let path = text.strip_prefix("unix://").unwrap_or(text);
        if !path.starts_with('/') {
            return Err(
                "not an absolute path; write for example unix:///run/weft/weft.sock".to_owned(),
            );
        }
        Ok(Self(PathBuf::from(path)))
    }
}

impl Flags {
    /// The flags of this process; ends it with help, or with what is wrong and what to write instead.
    #[must_use]
    pub fn from_command_line() -> Self {
        match Self::read(std::env::args_os()) {
            Ok(flags) => flags,
            Err(Refused { error, variable }) => {
                let _ = error.print();
                if let Some(variable) = variable {
                    eprintln!("The value is that of the environment variable {variable}.");
                }
                std::process::exit(error.exit_code());
            }
        }
    }

    /// Reads arguments; the environment says what they leave open, and a variable that is set to nothing is not set.
    fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Refused> {
        let value_of = |argument: &clap::Arg| {
            let variable = argument.get_env()?.to_str()?;
            std::env::var_os(variable).map(|value| (variable.to_owned(), value))
        };
        let mut command = Self::command().mut_args(|argument| match value_of(&argument) {
            Some((_, value)) if value.is_empty() => argument.env(Resettable::Reset),
            _ => argument,
        });
        let matches = command.try_get_matches_from_mut(arguments);
        let flags = matches.and_then(|matches| Self::from_arg_matches(&matches));
        flags.map_err(|error| {
            let variable = command.get_arguments().filter_map(value_of);
            let mut variable = variable.filter(|(_, value)| is_about(&error, value));
            Refused {
                variable: variable.next().map(|(variable, _)| variable),
                error,
            }
        })
    }

    /// This node's name: the flag, else the host's name as Calico takes it (lower case).
    ///
    /// # Errors
    /// When the flag is absent and the host's name cannot be read.
    pub fn node_name(&self) -> Result<String, String> {
        if let Some(name) = &self.node_name {
            return Ok(name.clone());
        }
        std::fs::read_to_string("/proc/sys/kernel/hostname")
            .map(|name| name.trim().to_lowercase())
            .map_err(|error| {
                format!("the host's name can't be read ({error}); say it with --node-name NAME")
            })
    }
}

/// Flags that can't be used.
#[derive(Debug)]
struct Refused {
    error: clap::Error,
    /// Where the value came from, if not from an argument.
    variable: Option<String>,
}

/// Whether this value is the one that is refused.
fn is_about(error: &clap::Error, value: &OsString) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue
    ) && matches!(
        error.get(ContextKind::InvalidValue),
        Some(ContextValue::String(refused)) if value == refused.as_str()
    )
}

fn node_name(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("a node has a name; write the metadata.name of its Node resource"),
        name => Ok(name.to_owned()),
    }
}

fn address(text: &str) -> Result<IpAddr, &'static str> {
    text.parse()
        .map_err(|_| "not an IP address; write one of this host, for example 192.0.2.1 or ::")
}

fn router_id(text: &str) -> Result<Ipv4Addr, &'static str> {
    match text.parse() {
        Ok(Ipv4Addr::UNSPECIFIED) => {
            Err("0.0.0.0 is no router ID (RFC 6286); write one that no other node has")
        }
        Ok(id) => Ok(id),
        Err(_) => Err("not four numbers with dots; write for example 192.0.2.1"),
    }
}

fn metrics_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse()
        .map_err(|_| "not an address with a port; write for example 127.0.0.1:9179 or [::]:9179")
}

fn port(text: &str) -> Result<u16, &'static str> {
    number(text, 1..=u16::MAX).ok_or("not a port; write a number from 1 to 65535, for example 179")
}

fn shards(text: &str) -> Result<u8, &'static str> {
    number(text, 1..=64).ok_or("not a number from 1 to 64; write at most the number of cores")
}

fn number<T: FromStr + PartialOrd>(text: &str, range: RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|number| range.contains(number))
}

/// Checks what [`crate::log::start`] takes. A single word would pass there as the name of a module, and nothing would
/// be logged any more.
fn log_level(text: &str) -> Result<String, &'static str> {
    const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
    let is_level = |word: &str| LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
    let word_alone = |directive: &str| !directive.contains(['=', '[', ':']);
    let directives = || text.split(',').map(str::trim);
    if directives().any(|directive| word_alone(directive) && !is_level(directive))
        || EnvFilter::try_new(text).is_err()
    {
        return Err(
            "write error, warn, info, debug, trace, or directives such as info,weftd::bgp=debug",
        );
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arguments_give_a_working_daemon() {
        let flags = Flags::try_parse_from(["weftd"]).unwrap();
        assert_eq!(flags.api, ApiAddress(PathBuf::from("/run/weft/weft.sock")));
        assert_eq!(flags.bgp_port, None);
        assert!(!flags.no_kernel);
    }

    #[test]
    fn a_tcp_api_address_is_refused_with_the_way_out() {
        let error = Flags::try_parse_from(["weftd", "--api", "tcp://0.0.0.0:9000"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("unix:///run/weft/weft.sock"), "{error}");
    }

    fn read(argument: &str) -> Result<Flags, Refused> {
        Flags::read(["weftd", argument].map(OsString::from))
    }

    #[test]
    fn every_refused_value_comes_with_what_to_write() {
        for (flag, value, remedy) in [
            ("--node-name", "", "metadata.name"),
            ("--api", "weft.sock", "unix:///run/weft/weft.sock"),
            ("--bgp-address", "eth0", "192.0.2.1"),
            ("--bgp-port", "0", "1 to 65535"),
            ("--bgp-port", "65536", "1 to 65535"),
            ("--router-id", "1", "192.0.2.1"),
            ("--router-id", "0.0.0.0", "no other node has"),
            ("--metrics", "9179", "127.0.0.1:9179"),
            ("--log-level", "loud", "error, warn, info"),
            ("--log-level", "info,weftd=loud", "error, warn, info"),
            ("--log-format", "xml", "text, json"),
            ("--rib-shards", "0", "1 to 64"),
        ] {
            let argument = format!("{flag}={value}");
            let refused = read(&argument).unwrap_err();
            let text = refused.error.to_string();
            assert!(
                text.contains(flag) && text.contains(remedy),
                "{argument}: {text}"
            );
            assert_eq!(refused.variable, None);
        }
    }

    #[test]
    fn levels_and_directives_are_taken() {
        for level in [
            "info",
            "WARN",
            "off",
            "info,weftd::bgp=debug",
            "weftd[session]=trace",
        ] {
            read(&format!("--log-level={level}")).unwrap();
        }
    }
}
