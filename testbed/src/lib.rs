//! Boots real Linux kernels in QEMU with chosen hardware and command lines, records which
//! clocksource each kernel chose, and compares that with the prediction of `clocksmith predict`.
//!
//! The modules, in the order in which one run uses them:
//!
//! | module | job |
//! |---|---|
//! | [`case`] | the boots: case files, their inheritance, selection by name |
//! | [`kernel`] | where kernels come from: distribution packages, fetched once and cached |
//! | [`initramfs`] | the programs inside the guest |
//! | [`qemu`] | one guest: its command line, its process, its control socket |
//! | [`frames`] | the guest's output on its serial line |
//! | [`record`] | one boot on disk: the mirror of `/proc` and `/sys`, and the truth |
//! | [`oracle`] | the prediction of `clocksmith predict` for a record, and whether it is right |
//! | [`inside`] | the program in the guest: its answer there, and outside about its bundle |
//! | [`lines`] | kernel messages about clocks that no parser knows |
//! | [`report`] | many boots in one table |
//! | [`paravirt`] | clocks that a hypervisor gives its guests, and the emulator that offers them |
//! | [`disk`] | whole installed systems with a boot loader, to be changed and rebooted |
//! | [`scenario`] | events for the clocks of a running guest |
//! | [`verb`] | the program's verbs, which string the above together |

pub mod arch;
pub mod cache;
pub mod case;
pub mod disk;
pub mod frames;
pub mod glob;
pub mod initramfs;
pub mod inside;
pub mod kernel;
pub mod lines;
pub mod oracle;
pub mod paravirt;
pub mod qemu;
pub mod record;
pub mod report;
pub mod scenario;
pub mod sources;
pub mod verb;
