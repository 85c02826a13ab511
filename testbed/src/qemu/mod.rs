//! One guest: its command line, its process, its control socket.
//!
//! - [`arguments`]: from hardware and files to QEMU's arguments, pure
//! - [`launch`]: starting emulators that end when the testbed does, even if it is killed
//! - [`process`]: the running emulator, ended by its own handle in every case
//! - [`qmp`]: talking to a running emulator: stop, continue, snapshots, migration

pub mod arguments;
pub mod launch;
pub mod process;
pub mod qmp;
