//! Many speakers on a virtual network with a virtual clock, for tests.
