//! [`Lasting`]: a stream that is kept by who remembers many.

use super::Stream;
use std::ops::Deref;

/// A stream, kept. The default stream lives as long as the process, and is kept without counting, which every allocation and
/// every free would pay for.
#[derive(Clone, Debug)]
pub(crate) enum Lasting {
    Legacy(&'static Stream),
    Counted(Stream),
}

impl From<&Stream> for Lasting {
    fn from(stream: &Stream) -> Self {
        if stream.is_legacy() {
            Self::Legacy(Stream::lasting_legacy(stream.device()))
        } else {
            Self::Counted(stream.clone())
        }
    }
}

impl Deref for Lasting {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        match self {
            Self::Legacy(stream) => stream,
            Self::Counted(stream) => stream,
        }
    }
}
