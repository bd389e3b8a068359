//! The lab: a whole cluster in network namespaces, for people to look around in (`cargo lab`).
