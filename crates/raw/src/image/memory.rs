//! Functions that compilers call by themselves.

use core::arch::asm;

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: by the contract; the direction flag is clear in every function.
    unsafe {
        asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") length => _,
            options(nostack, preserves_flags));
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, length: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe {
        asm!("rep stosb", inout("rdi") to => _, in("al") value as u8, inout("rcx") length => _,
            options(nostack, preserves_flags));
    }
    to
}

/// # Safety
/// None; it has the form that compilers expect.
#[unsafe(no_mangle)]
unsafe extern "C" fn __udivti3(dividend: u128, divisor: u128) -> u128 {
    let (low, high) = (dividend as u64, (dividend >> 64) as u64);
    if divisor >> 64 == 0 {
        let divisor = divisor as u64;
        if divisor == 0 {
            // Callers do not divide by zero; here it would be a trap.
            return u128::MAX;
        }
        let (first, rest) = divide(0, high, divisor);
        let (second, _) = divide(rest, low, divisor);
        return u128::from(first) << 64 | u128::from(second);
    }
    // The quotient fits into 64 bits; one by one.
    let mut shift = divisor.leading_zeros().saturating_sub(dividend.leading_zeros());
    let (mut rest, mut quotient) = (dividend, 0u128);
    loop {
        let part = divisor << shift;
        if rest >= part {
            rest -= part;
            quotient |= 1 << shift;
        }
        if shift == 0 {
            return quotient;
        }
        shift -= 1;
    }
}

/// # Safety
/// None, as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn __divti3(dividend: i128, divisor: i128) -> i128 {
    // SAFETY: no condition.
    let quotient = unsafe { __udivti3(dividend.unsigned_abs(), divisor.unsigned_abs()) } as i128;
    if (dividend < 0) == (divisor < 0) { quotient } else { quotient.wrapping_neg() }
}

/// 128 by 64 bits; `high` is less than `divisor`.
#[inline(always)]
fn divide(high: u64, low: u64, divisor: u64) -> (u64, u64) {
    let (quotient, rest): (u64, u64);
    // SAFETY: the quotient fits, as `high` is less than `divisor`.
    unsafe {
        asm!("div {}", in(reg) divisor, inlateout("rax") low => quotient,
            inlateout("rdx") high => rest, options(pure, nomem, nostack));
    }
    (quotient, rest)
}
