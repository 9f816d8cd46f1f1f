//! Scenes: documents, and the proxies that recipes are given. The rest is Python: the package `uLib.scene`.

pub(crate) mod document;
pub(crate) mod proxy;
