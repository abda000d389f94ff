//! The buffers through which an array goes.

/// The caller's initial buffer.
pub(crate) const DATA: usize = 0;
/// The parts of the scratch memory.
pub(crate) const SCRATCH: [usize; 2] = [1, 2];
/// The caller's final buffer, unless it is the initial one.
pub(crate) const RESULT: usize = 3;

/// The buffer of the array at each stage.
pub(crate) struct Route {
    pub(crate) buffers: Vec<usize>,
    /// The lengths of the parts of the scratch memory.
    pub(crate) scratch: [usize; 2],
}

impl Route {
    /// Finds a route for stages that need buffers of these lengths.
    ///
    /// `data` is the length of the initial buffer, 0 without one. `result` is the final buffer and its
    /// length; `None` accepts any buffer. If the first stage does not fit in the initial buffer, it
    /// starts in scratch memory. If the last stage does not fit in the final buffer, the caller copies
    /// the array there. Without an initial buffer, stages use the final one in turn with scratch
    /// memory if they fit in it.
    pub(crate) fn new(needs: &[usize], data: usize, result: Option<(usize, usize)>) -> Self {
        let mut route = Self { buffers: Vec::with_capacity(needs.len()), scratch: [0, 0] };
        let alternates =
            |&(_, length): &(usize, usize)| data == 0 && needs.iter().rev().step_by(2).all(|&need| need <= length);
        if let Some((buffer, _)) = result.filter(alternates) {
            for (stage, &need) in needs.iter().enumerate() {
                let is_result = (needs.len() - stage) % 2 == 1;
                route.buffers.push(if is_result { buffer } else { SCRATCH[0] });
                route.scratch[0] = route.scratch[0].max(if is_result { 0 } else { need });
            }
            return route;
        }
        let mut at = DATA;
        for (stage, &need) in needs.iter().enumerate() {
            let stays = stage == 0 && data > 0 && need <= data;
            let ends = |&(buffer, length): &(usize, usize)| {
                stage + 1 == needs.len() && (buffer != at || (stage == 0 && data == 0)) && need <= length
            };
            at = match result.filter(ends) {
                _ if stays => DATA,
                Some((buffer, _)) => buffer,
                None if at != SCRATCH[0] => SCRATCH[0],
                None if need <= data => DATA,
                None => SCRATCH[1],
            };
            if let Some(part) = SCRATCH.iter().position(|&part| part == at) {
                route.scratch[part] = route.scratch[part].max(need);
            }
            route.buffers.push(at);
        }
        route
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(needs: &[usize], data: usize, result: Option<(usize, usize)>) -> (Vec<usize>, [usize; 2]) {
        let Route { buffers, scratch } = Route::new(needs, data, result);
        (buffers, scratch)
    }

    #[test]
    fn routes_use_scratch_only_where_they_must() {
        let [a, b] = SCRATCH;
        // In place: one exchange is copied back, two need no copy.
        assert_eq!(route(&[8], 8, Some((DATA, 8))), (vec![DATA], [0, 0]));
        assert_eq!(route(&[8, 7], 8, Some((DATA, 8))), (vec![DATA, a], [7, 0]));
        assert_eq!(route(&[8, 7, 8], 8, Some((DATA, 8))), (vec![DATA, a, DATA], [7, 0]));
        assert_eq!(route(&[8, 7, 6, 7, 8], 8, Some((DATA, 8))), (vec![DATA, a, DATA, a, DATA], [7, 0]));
        assert_eq!(route(&[8, 7, 9, 7, 8], 8, Some((DATA, 8))), (vec![DATA, a, b, a, DATA], [7, 9]));
        // Into another buffer: one exchange needs no scratch.
        assert_eq!(route(&[8, 7], 8, Some((RESULT, 7))), (vec![DATA, RESULT], [0, 0]));
        assert_eq!(route(&[8, 7, 8], 8, Some((RESULT, 8))), (vec![DATA, a, RESULT], [7, 0]));
        // A last stage that needs more than the result has is copied.
        assert_eq!(route(&[8, 9], 8, Some((RESULT, 7))), (vec![DATA, a], [9, 0]));
        // So is a first one that needs more than there is.
        assert_eq!(route(&[9, 7], 8, Some((RESULT, 7))), (vec![a, RESULT], [9, 0]));
        // From real numbers, and to them.
        assert_eq!(route(&[9], 0, Some((RESULT, 9))), (vec![RESULT], [0, 0]));
        assert_eq!(route(&[9, 8], 0, Some((RESULT, 9))), (vec![a, RESULT], [9, 0]));
        assert_eq!(route(&[9, 8, 9], 0, Some((RESULT, 9))), (vec![RESULT, a, RESULT], [8, 0]));
        assert_eq!(route(&[9, 10, 9], 0, Some((RESULT, 9))), (vec![RESULT, a, RESULT], [10, 0]));
        assert_eq!(route(&[10, 8, 9], 0, Some((RESULT, 9))), (vec![a, b, RESULT], [10, 8]));
        assert_eq!(route(&[9, 8, 9], 9, None), (vec![DATA, a, DATA], [8, 0]));
    }
}
