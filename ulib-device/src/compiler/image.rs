//! What the compiler made.

use crate::module::Signatures;

/// The form of a compiled program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// Machine code for one architecture.
    Cubin,
    /// Text that the driver translates.
    Ptx,
}

/// A compiled program, ready for [`crate::Module::from_image`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub(super) kind: ImageKind,
    pub(super) bytes: Vec<u8>,
    /// Name expressions and what the compiler calls them.
    pub(super) names: Vec<(String, String)>,
    /// What its kernels take.
    pub(super) signatures: Signatures,
    pub(super) log: String,
    pub(super) cached: bool,
}

impl Image {
    /// Its form.
    #[must_use]
    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    /// Its bytes: a cubin, or PTX text without a final NUL.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The name in the image of what [`super::Program::name`] asked for, such as `_Z5twiceIfEvPT_` for `twice<float>`.
    #[must_use]
    pub fn lowered(&self, expression: &str) -> Option<&str> {
        self.names
            .iter()
            .find(|(name, _)| name == expression)
            .map(|(_, lowered)| lowered.as_str())
    }

    /// All name expressions with their names in the image.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(a, b)| (a.as_str(), b.as_str()))
    }

    /// What its kernels take, as the compiler's PTX says it.
    pub(crate) fn signatures(&self) -> Signatures {
        self.signatures.clone()
    }

    /// What the compiler said although it succeeded: warnings, or nothing.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Whether it came from the cache.
    #[must_use]
    pub fn from_cache(&self) -> bool {
        self.cached
    }
}
