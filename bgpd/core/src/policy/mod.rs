//! Import and export rules, compiled once and run without allocation.
