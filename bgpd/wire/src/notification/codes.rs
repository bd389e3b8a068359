//! Error codes and subcodes with their names: the IANA registry "BGP Error (Notification) Codes".
//!
//! RFC 4271 section 4.5, RFC 4486 and 8538 (Cease), RFC 5492 (2/7), RFC 6608 (5/x), RFC 7313 (7/1), RFC 9234 (2/11),
//! RFC 9384 (6/10), RFC 9687 (8).

/// Message Header Error.
pub const MESSAGE_HEADER: u8 = 1;
/// OPEN Message Error.
pub const OPEN_MESSAGE: u8 = 2;
/// UPDATE Message Error.
pub const UPDATE_MESSAGE: u8 = 3;
/// Hold Timer Expired.
pub const HOLD_TIMER_EXPIRED: u8 = 4;
/// Finite State Machine Error.
pub const FSM: u8 = 5;
/// Cease.
pub const CEASE: u8 = 6;
/// ROUTE-REFRESH Message Error.
pub const ROUTE_REFRESH_MESSAGE: u8 = 7;
/// Send Hold Timer Expired.
pub const SEND_HOLD_TIMER_EXPIRED: u8 = 8;

/// No more specific subcode, for every code.
pub const UNSPECIFIC: u8 = 0;

/// Subcodes of a Message Header Error.
pub mod header {
    /// The marker is not all ones.
    pub const CONNECTION_NOT_SYNCHRONIZED: u8 = 1;
    /// Too short or too long.
    pub const BAD_MESSAGE_LENGTH: u8 = 2;
    /// No such message.
    pub const BAD_MESSAGE_TYPE: u8 = 3;
}

/// Subcodes of an OPEN Message Error.
pub mod open {
    /// Not version 4.
    pub const UNSUPPORTED_VERSION: u8 = 1;
    /// Another AS than was expected.
    pub const BAD_PEER_AS: u8 = 2;
    /// Zero, or our own.
    pub const BAD_BGP_IDENTIFIER: u8 = 3;
    /// Not the Capabilities parameter.
    pub const UNSUPPORTED_OPTIONAL_PARAMETER: u8 = 4;
    /// 1 or 2 seconds, or less than is acceptable.
    pub const UNACCEPTABLE_HOLD_TIME: u8 = 6;
    /// A capability that is needed is missing.
    pub const UNSUPPORTED_CAPABILITY: u8 = 7;
    /// The roles do not match (RFC 9234).
    pub const ROLE_MISMATCH: u8 = 11;
}

/// Subcodes of an UPDATE Message Error.
pub mod update {
    /// Attributes can't be told apart.
    pub const MALFORMED_ATTRIBUTE_LIST: u8 = 1;
    /// A well-known attribute that is not known.
    pub const UNRECOGNIZED_WELL_KNOWN_ATTRIBUTE: u8 = 2;
    /// A mandatory attribute is missing.
    pub const MISSING_WELL_KNOWN_ATTRIBUTE: u8 = 3;
    /// Flags that the attribute can't have.
    pub const ATTRIBUTE_FLAGS: u8 = 4;
    /// A length that the attribute can't have.
    pub const ATTRIBUTE_LENGTH: u8 = 5;
    /// ORIGIN is not 0, 1 or 2.
    pub const INVALID_ORIGIN: u8 = 6;
    /// NEXT_HOP is no host address.
    pub const INVALID_NEXT_HOP: u8 = 8;
    /// Something else in an optional attribute.
    pub const OPTIONAL_ATTRIBUTE: u8 = 9;
    /// A prefix that can't be.
    pub const INVALID_NETWORK_FIELD: u8 = 10;
    /// AS_PATH is malformed.
    pub const MALFORMED_AS_PATH: u8 = 11;
}

/// Subcodes of a Finite State Machine Error (RFC 6608).
pub mod fsm {
    /// Anything but an OPEN.
    pub const UNEXPECTED_IN_OPEN_SENT: u8 = 1;
    /// Anything but a KEEPALIVE.
    pub const UNEXPECTED_IN_OPEN_CONFIRM: u8 = 2;
    /// A second OPEN.
    pub const UNEXPECTED_IN_ESTABLISHED: u8 = 3;
}

/// Subcodes of Cease.
pub mod cease {
    /// More prefixes than allowed.
    pub const MAXIMUM_PREFIXES: u8 = 1;
    /// An operator shut the session down.
    pub const ADMINISTRATIVE_SHUTDOWN: u8 = 2;
    /// An operator removed the peer.
    pub const PEER_DECONFIGURED: u8 = 3;
    /// An operator reset the session.
    pub const ADMINISTRATIVE_RESET: u8 = 4;
    /// Not wanted, after the connection was accepted.
    pub const CONNECTION_REJECTED: u8 = 5;
    /// Settings changed.
    pub const OTHER_CONFIGURATION_CHANGE: u8 = 6;
    /// The other of two connections stays (RFC 4271 section 6.8).
    pub const CONNECTION_COLLISION: u8 = 7;
    /// Memory or the like ran out.
    pub const OUT_OF_RESOURCES: u8 = 8;
    /// Do not keep routes over this end (RFC 8538).
    pub const HARD_RESET: u8 = 9;
    /// BFD sees the peer down (RFC 9384).
    pub const BFD_DOWN: u8 = 10;
}

/// Subcodes of a ROUTE-REFRESH Message Error (RFC 7313).
pub mod route_refresh {
    /// BoRR or EoRR with a body of another length than 4.
    pub const INVALID_MESSAGE_LENGTH: u8 = 1;
}

/// The registered name of a code.
#[must_use]
pub const fn name(code: u8) -> Option<&'static str> {
    Some(match code {
        MESSAGE_HEADER => "Message Header Error",
        OPEN_MESSAGE => "OPEN Message Error",
        UPDATE_MESSAGE => "UPDATE Message Error",
        HOLD_TIMER_EXPIRED => "Hold Timer Expired",
        FSM => "Finite State Machine Error",
        CEASE => "Cease",
        ROUTE_REFRESH_MESSAGE => "ROUTE-REFRESH Message Error",
        SEND_HOLD_TIMER_EXPIRED => "Send Hold Timer Expired",
        _ => return None,
    })
}

/// The registered name of a subcode.
#[must_use]
pub const fn subcode_name(code: u8, subcode: u8) -> Option<&'static str> {
    Some(match (code, subcode) {
        (MESSAGE_HEADER, header::CONNECTION_NOT_SYNCHRONIZED) => "Connection Not Synchronized",
        (MESSAGE_HEADER, header::BAD_MESSAGE_LENGTH) => "Bad Message Length",
        (MESSAGE_HEADER, header::BAD_MESSAGE_TYPE) => "Bad Message Type",

        (OPEN_MESSAGE, open::UNSUPPORTED_VERSION) => "Unsupported Version Number",
        (OPEN_MESSAGE, open::BAD_PEER_AS) => "Bad Peer AS",
        (OPEN_MESSAGE, open::BAD_BGP_IDENTIFIER) => "Bad BGP Identifier",
        (OPEN_MESSAGE, open::UNSUPPORTED_OPTIONAL_PARAMETER) => "Unsupported Optional Parameter",
        (OPEN_MESSAGE, 5) => "Authentication Failure (Deprecated)",
        (OPEN_MESSAGE, open::UNACCEPTABLE_HOLD_TIME) => "Unacceptable Hold Time",
        (OPEN_MESSAGE, open::UNSUPPORTED_CAPABILITY) => "Unsupported Capability",
        (OPEN_MESSAGE, open::ROLE_MISMATCH) => "Role Mismatch",

        (UPDATE_MESSAGE, update::MALFORMED_ATTRIBUTE_LIST) => "Malformed Attribute List",
        (UPDATE_MESSAGE, update::UNRECOGNIZED_WELL_KNOWN_ATTRIBUTE) => {
            "Unrecognized Well-known Attribute"
        }
        (UPDATE_MESSAGE, update::MISSING_WELL_KNOWN_ATTRIBUTE) => "Missing Well-known Attribute",
        (UPDATE_MESSAGE, update::ATTRIBUTE_FLAGS) => "Attribute Flags Error",
        (UPDATE_MESSAGE, update::ATTRIBUTE_LENGTH) => "Attribute Length Error",
        (UPDATE_MESSAGE, update::INVALID_ORIGIN) => "Invalid ORIGIN Attribute",
        (UPDATE_MESSAGE, 7) => "AS Routing Loop (Deprecated)",
        (UPDATE_MESSAGE, update::INVALID_NEXT_HOP) => "Invalid NEXT_HOP Attribute",
        (UPDATE_MESSAGE, update::OPTIONAL_ATTRIBUTE) => "Optional Attribute Error",
        (UPDATE_MESSAGE, update::INVALID_NETWORK_FIELD) => "Invalid Network Field",
        (UPDATE_MESSAGE, update::MALFORMED_AS_PATH) => "Malformed AS_PATH",

        (FSM, fsm::UNEXPECTED_IN_OPEN_SENT) => "Unexpected Message in OpenSent",
        (FSM, fsm::UNEXPECTED_IN_OPEN_CONFIRM) => "Unexpected Message in OpenConfirm",
        (FSM, fsm::UNEXPECTED_IN_ESTABLISHED) => "Unexpected Message in Established",

        (CEASE, cease::MAXIMUM_PREFIXES) => "Maximum Number of Prefixes Reached",
        (CEASE, cease::ADMINISTRATIVE_SHUTDOWN) => "Administrative Shutdown",
        (CEASE, cease::PEER_DECONFIGURED) => "Peer De-configured",
        (CEASE, cease::ADMINISTRATIVE_RESET) => "Administrative Reset",
        (CEASE, cease::CONNECTION_REJECTED) => "Connection Rejected",
        (CEASE, cease::OTHER_CONFIGURATION_CHANGE) => "Other Configuration Change",
        (CEASE, cease::CONNECTION_COLLISION) => "Connection Collision Resolution",
        (CEASE, cease::OUT_OF_RESOURCES) => "Out of Resources",
        (CEASE, cease::HARD_RESET) => "Hard Reset",
        (CEASE, cease::BFD_DOWN) => "BFD Down",

        (ROUTE_REFRESH_MESSAGE, route_refresh::INVALID_MESSAGE_LENGTH) => "Invalid Message Length",
        _ => return None,
    })
}
