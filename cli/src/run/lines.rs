//! Assembles the output of a rank into whole lines.

/// Assembles the bytes of a stream into lines, each with a prefix. Buffers an incomplete line, up
/// to a bound.
#[derive(Debug)]
pub(super) struct Lines {
    prefix: Vec<u8>,
    begun: Vec<u8>,
}

/// Maximum length of a line, in bytes. Longer lines are cut.
pub(super) const LONGEST: usize = 1 << 20;

/// The end of each part of a cut line but the last.
pub(super) const CUT: &[u8] = b" [continued]\n";

impl Lines {
    pub(super) fn new(prefix: Vec<u8>) -> Self {
        Self { prefix, begun: Vec::new() }
    }

    /// Returns the lines that these bytes complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut rest = part;
            let end = usize::from(part.ends_with(b"\n"));
            while self.begun.len() + rest.len() - end > LONGEST {
                let (piece, more) = rest.split_at(LONGEST - self.begun.len());
                out.extend([&self.prefix, &self.begun[..], piece, CUT].concat());
                self.begun.clear();
                rest = more;
            }
            if rest.ends_with(b"\n") {
                out.extend_from_slice(&self.prefix);
                out.append(&mut self.begun);
                out.extend_from_slice(rest);
            } else {
                self.begun.extend_from_slice(rest);
            }
        }
        out
    }

    /// Returns the incomplete last line, if there is one, with a line end.
    pub(super) fn end(&mut self) -> Vec<u8> {
        if self.begun.is_empty() { Vec::new() } else { self.push(b"\n") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_depend_on_how_bytes_arrive() {
        let text = b"one\n\ntw\xff\xfeo\r\nlast";
        for step in 1..text.len() {
            let mut lines = Lines::new(b"[1] ".to_vec());
            let mut out: Vec<u8> = text.chunks(step).flat_map(|chunk| lines.push(chunk)).collect();
            assert!(out.is_empty() || out.ends_with(b"\n"));
            out.extend(lines.end());
            assert_eq!(out, b"[1] one\n[1] \n[1] tw\xff\xfeo\r\n[1] last\n");
            assert!(lines.end().is_empty());
        }
    }

    #[test]
    fn long_lines_are_cut_without_loss() {
        for length in [LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST, 3 * LONGEST + 7] {
            let line = [&vec![b'x'; length][..], b"\n"].concat();
            for step in [1000, 65536, LONGEST + 1, 4 * LONGEST] {
                let mut lines = Lines::new(b"> ".to_vec());
                let mut out = Vec::new();
                for chunk in line.chunks(step) {
                    out.extend(lines.push(chunk));
                    assert!(lines.begun.len() <= LONGEST);
                }
                out.extend(lines.end());
                let pieces: Vec<&[u8]> = out.split_inclusive(|byte| *byte == b'\n').collect();
                assert_eq!(pieces.len(), length.div_ceil(LONGEST), "{length} in steps of {step}");
                let whole: Vec<u8> =
                    pieces.iter().flat_map(|piece| piece.strip_prefix(b"> ").unwrap()).copied().collect();
                let cut = String::from_utf8(whole).unwrap().replace(std::str::from_utf8(CUT).unwrap(), "");
                assert_eq!(cut.as_bytes(), line);
            }
        }
    }
}
