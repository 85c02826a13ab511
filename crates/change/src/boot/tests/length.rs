//! Command lines that are longer than a kernel reads.

use super::*;
use crate::system::Longest;

#[test]
fn words_behind_the_end_of_what_a_kernel_reads_are_refused() {
    let long = "x=1 ".repeat(490);
    let entry =
        |words: &str| format!("title A\nlinux /vmlinuz-linux\noptions root=UUID=1 {words}\n");
    let of = |words: &str| {
        let system =
            system("arch", "", &["bootctl"]).with("/boot/loader/entries/arch.conf", &entry(words));
        plan(&system, &tsc())
    };
    assert!(of(&long).is_ok());
    let error = of(&format!("{long}{}", "y".repeat(40))).unwrap_err().to_string();
    assert!(error.contains("the kernel reads 2047"), "{error}");
    let labels = format!("LABEL a\n  LINUX /vmlinuz\n  APPEND root=/dev/vda {long}{long}\n");
    let board = system("debian", "", &[]).with("/boot/extlinux/extlinux.conf", &labels);
    assert!(plan(&board, &tsc()).unwrap_err().to_string().contains("the kernel reads 2047"));
    assert!(plan(&board, &change(&[], &["x=1"])).is_ok());
    let both = format!("GRUB_CMDLINE_LINUX=\"{long}{long}\"\nGRUB_CMDLINE_LINUX_DEFAULT=quiet\n");
    let error = plan(&arch(&both), &tsc()).unwrap_err().to_string();
    assert!(error.contains("the kernel reads 2047"), "{error}");
}

#[test]
fn kernels_of_other_processors_read_less() {
    let arm = Longest { bytes: 1023, certain: true };
    let half =
        format!("LABEL a\n  LINUX /vmlinuz\n  APPEND root=/dev/vda {}\n", "x=1 ".repeat(260));
    let board = system("debian", "", &[]).with("/boot/extlinux/extlinux.conf", &half);
    assert!(plan(&board, &tsc()).is_ok());
    let error = plan(&System { longest: arm, ..board }, &tsc()).unwrap_err().to_string();
    assert!(error.contains("the kernel reads 1023"), "{error}");
    let section = |count| {
        format!("[a]\nimage=/v\nparameters=\"root=/dev/dasda1 {}\"\n", "x=1 ".repeat(count))
    };
    let of = |count| {
        let host = system("sles", "", &["zipl"]).with("/etc/zipl.conf", &section(count));
        plan(&System { longest: Longest { bytes: 895, certain: false }, ..host }, &tsc())
    };
    assert!(of(200).is_ok());
    let error = of(220).unwrap_err().to_string();
    assert!(
        error.contains("may read only 895") && error.contains("CONFIG_COMMAND_LINE_SIZE"),
        "{error}"
    );
}
