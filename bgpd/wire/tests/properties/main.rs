//! What holds for all messages: what is written is read back, and no bytes whatever upset the decoder.

mod bytes;
mod generate;
mod round_trip;
