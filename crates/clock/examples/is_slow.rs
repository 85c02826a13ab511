//! Prints whether reading the kernel's clock is slow here, and exits with 1 if so. An argument is the number of tests.

fn main() -> std::process::ExitCode {
    let tests = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(1);
    let mut slow = 0;
    for _ in 0..tests {
        let test = clocksmith::is_slow();
        if tests == 1 || test.slow != Some(false) {
            println!("{test}");
        }
        slow += u32::from(test.slow == Some(true));
    }
    if tests > 1 {
        println!("slow in {slow} of {tests} tests");
    }
    std::process::ExitCode::from(u8::from(slow > 0))
}
