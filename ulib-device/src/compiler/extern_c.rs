//! A program put into `extern "C"`, so that its kernels keep their names.

/// The program in `extern "C"`, every line at its number. What stands before the first declaration stays outside: headers of
/// C++ cannot be in there.
pub(super) fn in_extern_c(source: &str, name: &str) -> String {
    let at = end_of_preamble(source);
    let (head, body) = source.split_at(at);
    let line = head.matches('\n').count() + 1;
    let marked = if body.trim_start().starts_with('#') {
        format!("\n#line {line} \"{name}\"\n")
    } else {
        String::from(" ")
    };
    format!("{head}extern \"C\" {{{marked}{body}\n}}\n")
}

/// Where the last directive ends of those that come before any declaration.
fn end_of_preamble(source: &str) -> usize {
    let (mut at, mut end, mut depth, mut comment, mut continued) = (0, 0, 0_usize, false, false);
    for line in source.split_inclusive('\n') {
        let mut text = line.trim();
        at += line.len();
        if continued {
            continued = text.ends_with('\\');
            if !continued && depth == 0 {
                end = at;
            }
            continue;
        }
        if comment {
            let Some((_, rest)) = text.split_once("*/") else {
                continue;
            };
            comment = false;
            text = rest.trim();
        }
        while let Some(rest) = text.strip_prefix("/*") {
            match rest.split_once("*/") {
                Some((_, rest)) => text = rest.trim(),
                None => {
                    comment = true;
                    text = "";
                }
            }
        }
        if text.is_empty() || text.starts_with("//") {
            continue;
        }
        let Some(directive) = text.strip_prefix('#') else {
            break;
        };
        let directive = directive.trim_start();
        if directive.starts_with("if") {
            depth += 1;
        } else if directive.starts_with("endif") {
            depth = depth.saturating_sub(1);
        }
        continued = text.ends_with('\\');
        if depth == 0 && !continued && line.ends_with('\n') {
            end = at;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extern_c_begins_behind_the_includes() {
        assert_eq!(
            in_extern_c("__global__ void f() {}", "k.cu"),
            "extern \"C\" { __global__ void f() {}\n}\n"
        );
        assert_eq!(
            in_extern_c(
                "// a\n#include <b.h>\n\nvoid f();\n#include <c.h>\n",
                "k.cu"
            ),
            "// a\n#include <b.h>\nextern \"C\" { \nvoid f();\n#include <c.h>\n\n}\n"
        );
        assert_eq!(
            in_extern_c("#ifdef A\nvoid f();\n#endif\n", "k.cu"),
            "extern \"C\" {\n#line 1 \"k.cu\"\n#ifdef A\nvoid f();\n#endif\n\n}\n"
        );
        let guarded = "/* long\n comment */\n#ifndef A\n#define A \\\n  1\n#endif\nint x;";
        let at = end_of_preamble(guarded);
        assert_eq!(&guarded[at..], "int x;");
        assert_eq!(end_of_preamble("#include <a.h>"), 0);
    }
}
