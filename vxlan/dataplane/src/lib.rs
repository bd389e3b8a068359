//! What the host's network should be against what it is, and the system calls between the two.
