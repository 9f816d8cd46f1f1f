//! ulib-py
