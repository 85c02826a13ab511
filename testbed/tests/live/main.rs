//! Tests that boot something: guests, and systems installed on disk images. Ignored by default, because they need QEMU,
//! kernels, and the static program (`packaging/build.sh program-x86_64`). The steps of `./test.sh` bring all of it and
//! run them by module: `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture sweep::`.

mod alert;
mod disk;
mod emulator;
mod fix;
mod forgery;
mod guest;
mod paravirt;
mod soak;
mod sweep;
mod trial;
mod wall;
mod who;
