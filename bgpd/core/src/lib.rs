//! BGP sessions, RIBs, decision, policy and export, without I/O.
