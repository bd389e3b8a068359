//! What the command line and the environment say.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, ValueEnum};

/// weft's node daemon: BGP, block aggregation and VXLAN in one process.
///
/// Without any flag it starts with AS 64512 on port 179 and no peers, and waits to be told more through its API or
/// its manifests.
#[derive(Clone, Debug, Parser)]
#[command(name = "weftd", version)]
pub struct Flags {
    /// Name of this node, as the Node resource has it [default: the host's name]
    #[arg(long, env = "WEFT_NODE_NAME", value_name = "NAME")]
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
    #[arg(long, env = "WEFT_BGP_ADDRESS", value_name = "IP")]
    pub bgp_address: Option<IpAddr>,

    /// Port that BGP listens on [default: BGPConfiguration's listenPort, else 179]
    #[arg(long, env = "WEFT_BGP_PORT", value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub bgp_port: Option<u16>,

    /// Router ID, for a start before a Node resource gives the node's address [default: address of the default route]
    #[arg(long, env = "WEFT_ROUTER_ID", value_name = "IPV4")]
    pub router_id: Option<Ipv4Addr>,

    /// Program nothing into the kernel: for route reflectors and collectors
    #[arg(long, env = "WEFT_NO_KERNEL")]
    pub no_kernel: bool,

    /// Where Prometheus metrics are served, over HTTP at /metrics
    #[arg(long, env = "WEFT_METRICS", value_name = "IP:PORT")]
    pub metrics: Option<SocketAddr>,

    /// Least severe log messages to write, or directives such as info,weftd::bgp=debug
    #[arg(
        long,
        env = "WEFT_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "info"
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
    #[arg(long, env = "WEFT_RIB_SHARDS", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
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

    #[test]
    fn port_zero_is_refused() {
        assert!(Flags::try_parse_from(["weftd", "--bgp-port", "0"]).is_err());
    }
}
