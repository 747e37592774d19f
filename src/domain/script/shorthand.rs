//! `function.NAME` in scripts: found by a lexer that knows strings, templates, comments and regular expressions (A3).
