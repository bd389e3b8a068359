//! BGP messages: bytes to typed values and back, without I/O.
