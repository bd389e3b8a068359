//! The vector files: where they are, how they are read, and to which session they belong.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use bgp_wire::{DecodeContext, EncodeContext, Family, FamilySet, SessionType};

/// One file.
pub(crate) struct Vector {
    /// Who sent the message: the folder.
    pub(crate) daemon: String,
    /// Whom to.
    pub(crate) peer: Peer,
    /// What the message is about.
    pub(crate) title: String,
    pub(crate) octets: Vec<u8>,
}

/// The scripted peers of `capture/daemons.py`. The daemons are AS 65001.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Peer {
    /// AS 65002, with all that is common.
    External,
    /// AS 65001, a client of the reflector.
    Client,
    /// AS 65003, without any capability.
    TwoOctet,
    /// AS 65004, with ADD-PATH both ways.
    AddPath,
    /// AS 65006, over IPv6, with IPv6 next hops for IPv4 routes.
    V6Session,
}

const PEERS: [(&str, Peer); 5] = [
    ("external-", Peer::External),
    ("client-", Peer::Client),
    ("two-octet-", Peer::TwoOctet),
    ("add-path-", Peer::AddPath),
    ("v6-session-", Peer::V6Session),
];

/// All of them, in a fixed order.
pub(crate) fn all() -> Vec<Vector> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut vectors = Vec::new();
    for folder in entries(&root) {
        let files = if folder.is_dir() {
            entries(&folder)
        } else {
            Vec::new()
        };
        let hex = files
            .iter()
            .filter(|file| file.extension().is_some_and(|it| it == "hex"));
        vectors.extend(hex.map(|file| Vector::read(file)));
    }
    assert!(!vectors.is_empty(), "no vectors in {}", root.display());
    vectors
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = listed
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.sort();
    paths
}

impl Vector {
    fn read(file: &Path) -> Self {
        let text =
            fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = |path: Option<&std::ffi::OsStr>| {
            path.expect("a name").to_str().expect("ASCII").to_owned()
        };
        let stem = name(file.file_stem());
        let (prefix, peer) = PEERS
            .into_iter()
            .find(|(prefix, _)| stem.starts_with(prefix))
            .unwrap_or_else(|| panic!("{}: to which peer?", file.display()));
        Self {
            daemon: name(file.parent().and_then(Path::file_name)),
            peer,
            title: stem[prefix.len()..].to_owned(),
            octets: parse_hex(&text).unwrap_or_else(|line| panic!("{}: {line:?}", file.display())),
        }
    }

    /// True for peers in another AS than the daemon, seen from either.
    pub(crate) fn session(&self) -> SessionType {
        match self.peer {
            Peer::Client => SessionType::Internal,
            _ => SessionType::External,
        }
    }

    /// As the scripted peer reads.
    pub(crate) fn decode_context(&self) -> DecodeContext {
        let EncodeContext {
            four_octet_asn,
            extended_messages,
            add_path_send,
            extended_next_hop,
        } = self.encode_context();
        DecodeContext {
            session: self.session(),
            four_octet_asn,
            extended_messages,
            families: FamilySet::from([Family::IPV4_UNICAST, Family::IPV6_UNICAST]),
            add_path_receive: add_path_send,
            extended_next_hop,
        }
    }

    /// As the daemon writes.
    pub(crate) fn encode_context(&self) -> EncodeContext {
        let add_path = match self.peer {
            Peer::AddPath => FamilySet::from([Family::IPV4_UNICAST, Family::IPV6_UNICAST]),
            _ => FamilySet::new(),
        };
        let extended_next_hop = match self.peer {
            Peer::V6Session => FamilySet::from([Family::IPV4_UNICAST]),
            _ => FamilySet::new(),
        };
        EncodeContext {
            four_octet_asn: self.peer != Peer::TwoOctet,
            extended_messages: false,
            add_path_send: add_path,
            extended_next_hop,
        }
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {:?}: {}", self.daemon, self.peer, self.title)
    }
}

/// Octets in hexadecimal, with spaces anywhere, and comments from `#` on. The error is the line that is neither.
fn parse_hex(text: &str) -> Result<Vec<u8>, &str> {
    let mut octets = Vec::new();
    for line in text.lines() {
        let code = line.split_once('#').map_or(line, |(code, _comment)| code);
        let digits: String = code.split_whitespace().collect();
        if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
            return Err(line);
        }
        for at in (0..digits.len()).step_by(2) {
            octets.push(u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| line)?);
        }
    }
    Ok(octets)
}
