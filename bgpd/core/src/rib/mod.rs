//! One slice of the prefix space: Adj-RIB-In, decision, Loc-RIB and update groups.
