//! Cuts the bytes that come from a process into frames, and their texts into the pieces that have
//! arrived.

use super::frame::{Header, InvalidFrame};
use crate::transport::ContextId;

/// The position in the stream of a process; see the [module](self).
#[derive(Debug)]
pub(crate) struct FrameReader {
    receiving: Receiving,
    /// The part of a header that has arrived.
    partial: [u8; Header::BYTES],
    partial_len: usize,
}

/// The kind of the next bytes, and the number of them that are left.
#[derive(Debug)]
pub(crate) enum Receiving {
    Header,
    /// Bytes of a message for a posted receive.
    Placed(ContextId, usize),
    /// Bytes of a message for the unexpected-message queue.
    Unexpected(ContextId, usize),
    /// Bytes of a message that no round awaits any more.
    Discarded(usize),
    /// The text of a control frame, with what has arrived of it.
    Control(Header, Vec<u8>, usize),
}

/// The next piece of the stream.
#[derive(Debug)]
pub(crate) enum Piece<'b> {
    /// A frame begins. Its text, if it has one, needs a [destination](FrameReader::begin).
    Header(Header),
    /// Bytes of a message for a posted receive. The flag says that they end the frame.
    Placed(ContextId, &'b [u8], bool),
    /// Bytes of a message for the unexpected-message queue.
    Unexpected(ContextId, &'b [u8]),
    /// A control frame with its whole text.
    Control(Header, Vec<u8>),
}

impl Default for FrameReader {
    fn default() -> Self {
        Self { receiving: Receiving::Header, partial: [0; Header::BYTES], partial_len: 0 }
    }
}

impl FrameReader {
    /// Returns the kind of the next bytes.
    pub(crate) fn receiving(&self) -> &Receiving {
        &self.receiving
    }

    /// Returns the bytes that the last [`next`](Self::next) has left. They come again, before those
    /// of the next read.
    pub(crate) fn held(&self) -> &[u8] {
        &self.partial[..self.partial_len]
    }

    /// Sets where the text of the frame that has begun goes, or where its rest goes.
    pub(crate) fn begin(&mut self, receiving: Receiving) {
        self.receiving = receiving;
    }

    /// Returns the context for which message bytes come, and how many are left of the frame.
    pub(crate) fn placed(&self) -> Option<(ContextId, usize)> {
        match self.receiving {
            Receiving::Placed(id, left) => Some((id, left)),
            _ => None,
        }
    }

    /// Discards the rest of a frame for a posted receive, which is withdrawn.
    pub(crate) fn discard_placed(&mut self) {
        if let Receiving::Placed(_, left) = self.receiving {
            self.receiving = Receiving::Discarded(left);
        }
    }

    /// Counts bytes of a message that have come to their place outside of [`next`](Self::next).
    /// Returns the context, and whether they end the frame.
    pub(crate) fn skip(&mut self, count: usize) -> Option<(ContextId, bool)> {
        let Receiving::Placed(id, left) = &mut self.receiving else { return None };
        let id = *id;
        *left -= count;
        let last = *left == 0;
        if last {
            self.receiving = Receiving::Header;
        }
        Some((id, last))
    }

    /// Returns the next piece of bytes that were read, without those before it. `None` if the rest
    /// is part of a header; it is [held](Self::held).
    ///
    /// # Errors
    ///
    /// If a frame begins with an invalid header.
    pub(crate) fn next<'b>(&mut self, bytes: &mut &'b [u8]) -> Result<Option<Piece<'b>>, InvalidFrame> {
        loop {
            let (piece, left) = match &mut self.receiving {
                Receiving::Header => {
                    let Some((header, rest)) = bytes.split_first_chunk() else {
                        self.partial[..bytes.len()].copy_from_slice(bytes);
                        self.partial_len = bytes.len();
                        return Ok(None);
                    };
                    (*bytes, self.partial_len) = (rest, 0);
                    return Ok(Some(Piece::Header(Header::decode(header)?)));
                }
                _ if bytes.is_empty() => {
                    self.partial_len = 0;
                    return Ok(None);
                }
                Receiving::Placed(id, left) => {
                    let here = take(bytes, left);
                    (Some(Piece::Placed(*id, here, *left == 0)), *left)
                }
                Receiving::Unexpected(id, left) => (Some(Piece::Unexpected(*id, take(bytes, left))), *left),
                Receiving::Discarded(left) => {
                    take(bytes, left);
                    (None, *left)
                }
                Receiving::Control(header, text, left) => {
                    text.extend_from_slice(take(bytes, left));
                    ((*left == 0).then(|| Piece::Control(*header, std::mem::take(text))), *left)
                }
            };
            if left == 0 {
                self.receiving = Receiving::Header;
            }
            if piece.is_some() {
                return Ok(piece);
            }
        }
    }
}

/// Takes up to `left` bytes.
fn take<'b>(bytes: &mut &'b [u8], left: &mut usize) -> &'b [u8] {
    let (here, rest) = bytes.split_at(bytes.len().min(*left));
    (*bytes, *left) = (rest, *left - here.len());
    here
}

#[cfg(test)]
mod tests {
    use quickcheck::QuickCheck;

    use super::*;
    use crate::transport::engine::frame::Kind;

    fn destination(kind: u8, header: Header) -> Receiving {
        let text = header.text as usize;
        match kind % 4 {
            0 => Receiving::Placed(header.context, text),
            1 => Receiving::Unexpected(header.context, text),
            2 => Receiving::Discarded(text),
            _ => Receiving::Control(header, Vec::new(), text),
        }
    }

    /// Frames of random lengths and destinations, cut at random places, come out whole.
    #[test]
    fn frames_come_out_whole_however_they_are_cut() {
        let check = |frames: Vec<(u8, u16)>, cuts: Vec<u16>| {
            let text = |number: usize, length: u16| vec![number as u8; usize::from(length % 3000) + 1];
            let mut stream = Vec::new();
            for (number, (_, length)) in frames.iter().enumerate() {
                let text = text(number, *length);
                let header = Header {
                    text: text.len() as u32,
                    bytes: text.len() as u64,
                    fingerprint: number as u64,
                    ..Header::new(Kind::Message, ContextId::WORLD)
                };
                stream.extend(header.encode());
                stream.extend(text);
            }
            let (mut reader, mut begun, mut got) = (FrameReader::default(), 0, vec![Vec::new(); frames.len()]);
            let mut cuts = cuts.into_iter().map(|cut| usize::from(cut % 2000) + 1);
            let mut rest = &stream[..];
            while !rest.is_empty() {
                let (read, later) = rest.split_at(cuts.next().unwrap_or(rest.len()).min(rest.len()));
                rest = later;
                let mut bytes = reader.held().to_vec();
                bytes.extend_from_slice(read);
                let mut bytes = &bytes[..];
                while let Some(piece) = reader.next(&mut bytes).unwrap() {
                    match piece {
                        Piece::Header(header) => {
                            assert_eq!(header.fingerprint, begun as u64);
                            reader.begin(destination(frames[begun].0, header));
                            begun += 1;
                        }
                        Piece::Placed(_, bytes, last) => {
                            got[begun - 1].extend_from_slice(bytes);
                            let whole = got[begun - 1].len() == usize::from(frames[begun - 1].1 % 3000) + 1;
                            assert_eq!(last, whole);
                        }
                        Piece::Unexpected(_, bytes) => got[begun - 1].extend_from_slice(bytes),
                        Piece::Control(header, text) => {
                            assert_eq!(header.fingerprint, begun as u64 - 1);
                            got[begun - 1] = text;
                        }
                    }
                }
            }
            assert!(begun == frames.len() && reader.held().is_empty());
            for (number, ((kind, length), got)) in frames.iter().zip(&got).enumerate() {
                let expected = if kind % 4 == 2 { Vec::new() } else { text(number, *length) };
                assert!(*got == expected, "frame {number}");
            }
            true
        };
        QuickCheck::new().tests(1000).quickcheck(check as fn(Vec<(u8, u16)>, Vec<u16>) -> bool);
    }
}
