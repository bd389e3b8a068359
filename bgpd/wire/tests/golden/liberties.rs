//! Where other implementations write a message in another way than weft, as RFCs let them.

use std::fmt;

use crate::vector::{Peer, Vector};

/// A difference between what was captured and what weft writes.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Liberty {
    /// The same parts, arranged or counted in another way.
    Arrangement(&'static str),
    /// Another form altogether, which must mean the same.
    Form(&'static str),
}

impl fmt::Display for Liberty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Arrangement(text) | Self::Form(text)) = self;
        f.write_str(text)
    }
}

/// The liberty that the implementation takes with this message; `None` where the bytes must be the same.
pub(crate) fn taken(vector: &Vector) -> Option<Liberty> {
    use Liberty::{Arrangement, Form};
    let title = vector.title.as_str();
    let announces_v6 = matches!(title, "announce-v6" | "announce-v6-originated");
    let withdraws_v6 = title.starts_with("withdraw-v6");
    Some(match vector.daemon.as_str() {
        "bird" | "gobgp" | "openbgpd" if title == "open" => {
            Arrangement("all capabilities in one parameter")
        }
        "bird" if vector.peer == Peer::V6Session && title == "announce-all-attributes" => {
            Form("an IPv4 next hop in MP_REACH_NLRI, where NEXT_HOP would do")
        }
        "bird" | "frr" if vector.peer == Peer::V6Session && title == "withdraw-all-attributes" => {
            Form("IPv4 routes in MP_UNREACH_NLRI, as they were announced in MP_REACH_NLRI")
        }
        // Without the bit it would be lost that the attribute went through a speaker which does not know it.
        "gobgp" | "exabgp" if has_unknown(title, &vector.daemon) => {
            Form("no Partial bit for an attribute that it does not know (RFC 4271 section 5)")
        }
        "gobgp" if vector.peer == Peer::TwoOctet && title.starts_with("announce-all") => {
            Arrangement("AS4_PATH and AS4_AGGREGATOR last")
        }
        "openbgpd" if title == "announce-all-attributes" => {
            Form("extended communities in another order; they are a set")
        }
        "frr" if title.starts_with("announce-") => Arrangement(
            "AS_PATH and MP_REACH_NLRI with a length field of two octets, and its own order",
        ),
        "gobgp"
            if announces_v6 || title.starts_with("announce-") && vector.peer == Peer::V6Session =>
        {
            Arrangement("MP_REACH_NLRI last; RFC 7606 section 5.1 wants it first")
        }
        "openbgpd" if announces_v6 => {
            Arrangement("MP_REACH_NLRI last, with a length field of two octets")
        }
        "exabgp" if announces_v6 => Arrangement("MP_REACH_NLRI last"),
        "exabgp" if withdraws_v6 => {
            Form("attributes beside MP_UNREACH_NLRI, which mean nothing there")
        }
        "exabgp" if title == "end-of-rib-afi-2" => Arrangement("a length field of two octets"),
        "bird"
            if announces_v6 || title.starts_with("announce-") && vector.peer == Peer::V6Session =>
        {
            Arrangement("a length field of two octets in MP_REACH_NLRI")
        }
        "bird" | "frr" | "openbgpd" if withdraws_v6 => {
            Arrangement("a length field of two octets in MP_UNREACH_NLRI")
        }
        _ => return None,
    })
}

fn has_unknown(title: &str, daemon: &str) -> bool {
    match daemon {
        "exabgp" => title == "announce-set-and-reflected",
        _ => title == "announce-rare-attributes",
    }
}
