//! real_http
