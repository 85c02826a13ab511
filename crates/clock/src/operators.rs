//! The operators that all types of a moment have.

/// `+`, `+=`, `-` and `-=` of a moment and a duration, by its `saturating_add` and `saturating_sub`.
macro_rules! duration_operators {
    ($moment:ty) => {
        impl core::ops::Add<core::time::Duration> for $moment {
            type Output = Self;

            /// Saturates at the latest moment.
            #[inline]
            fn add(self, duration: core::time::Duration) -> Self {
                self.saturating_add(duration)
            }
        }

        impl core::ops::AddAssign<core::time::Duration> for $moment {
            /// Saturates at the latest moment.
            #[inline]
            fn add_assign(&mut self, duration: core::time::Duration) {
                *self = self.saturating_add(duration);
            }
        }

        impl core::ops::Sub<core::time::Duration> for $moment {
            type Output = Self;

            /// Saturates at the earliest moment.
            #[inline]
            fn sub(self, duration: core::time::Duration) -> Self {
                self.saturating_sub(duration)
            }
        }

        impl core::ops::SubAssign<core::time::Duration> for $moment {
            /// Saturates at the earliest moment.
            #[inline]
            fn sub_assign(&mut self, duration: core::time::Duration) {
                *self = self.saturating_sub(duration);
            }
        }
    };
}
pub(crate) use duration_operators;
