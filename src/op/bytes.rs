//! Adapts operations on elements to bytes.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::Op;
use crate::plan::Reduction;

/// Applies an operation on elements to bytes.
pub(crate) struct OnBytes<T, O> {
    op: O,
    of: PhantomData<fn(T)>,
}

impl<T: Pod, O: Op<T>> OnBytes<T, O> {
    pub(crate) fn new(op: O) -> Self {
        Self { op, of: PhantomData }
    }

    /// Combines element by element, on typed slices if the bytes are aligned. User buffers always
    /// are. Scratch is aligned for the primitive types; types of larger alignment take the slow
    /// path.
    fn each(into: &mut [u8], other: &[u8], combine: impl Fn(T, T) -> T) {
        match (bytemuck::try_cast_slice_mut::<u8, T>(into), bytemuck::try_cast_slice::<u8, T>(other)) {
            (Ok(into), Ok(other)) => {
                for (into, &other) in into.iter_mut().zip(other) {
                    *into = combine(*into, other);
                }
            }
            _ => {
                let size = size_of::<T>().max(1);
                for (into, other) in into.chunks_exact_mut(size).zip(other.chunks_exact(size)) {
                    let combined = combine(bytemuck::pod_read_unaligned(into), bytemuck::pod_read_unaligned(other));
                    into.copy_from_slice(bytemuck::bytes_of(&combined));
                }
            }
        }
    }
}

impl<T: Pod, O: Op<T>> Reduction for OnBytes<T, O> {
    fn merge(&self, into: &mut [u8], left: &[u8], right: &[u8]) {
        let typed = bytemuck::try_cast_slice_mut::<u8, T>(into);
        let operands = bytemuck::try_cast_slice::<u8, T>(left).ok().zip(bytemuck::try_cast_slice::<u8, T>(right).ok());
        if let (Ok(into), Some((left, right))) = (typed, operands) {
            for ((into, &left), &right) in into.iter_mut().zip(left).zip(right) {
                *into = self.op.combine(left, right);
            }
        } else {
            into.copy_from_slice(left);
            self.append(into, right);
        }
    }

    fn prepend(&self, into: &mut [u8], left: &[u8]) {
        Self::each(into, left, |into, left| self.op.combine(left, into));
    }

    fn append(&self, into: &mut [u8], right: &[u8]) {
        Self::each(into, right, |into, right| self.op.combine(into, right));
    }

    fn finish(&self, into: &mut [u8], contributions: usize) {
        // Results lie in the user's buffers, which are aligned.
        if let Ok(into) = bytemuck::try_cast_slice_mut::<u8, T>(into) {
            into.iter_mut().for_each(|value| *value = self.op.finish(*value, contributions));
        }
    }

    fn is_commutative(&self) -> bool {
        self.op.is_commutative()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::by;

    #[test]
    fn unaligned_bytes_are_combined() {
        let minus = by("minus", |left: u32, right: u32| left.wrapping_sub(right));
        let op = OnBytes::<u32, _>::new(&minus);
        let values = |x: u32, y: u32| [x.to_ne_bytes(), y.to_ne_bytes()].concat();
        for shift in 0..4 {
            let moved = |bytes: Vec<u8>| [vec![0; shift], bytes].concat();
            let (left, right) = (moved(values(10, 20)), moved(values(1, 2)));
            let mut into = moved(values(0, 0));
            op.merge(&mut into[shift..], &left[shift..], &right[shift..]);
            assert_eq!(into[shift..], values(9, 18));
            op.append(&mut into[shift..], &right[shift..]);
            assert_eq!(into[shift..], values(8, 16));
            op.prepend(&mut into[shift..], &left[shift..]);
            assert_eq!(into[shift..], values(2, 4));
        }
    }
}
