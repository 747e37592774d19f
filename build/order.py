#!/usr/bin/env python3
"""Writes order.ld: which functions of the release build lie together at the start of its code.

The kernel maps 64 kilobytes around each page of code that is touched. A run touches a sixth of the code; scattered over the
whole file it made nearly all of it resident. Names are those of sections, cut before the hash of the compiler, so that
another compiler, another target folder and most changes of the sources leave them valid; what no longer matches is linked as usual.
Where many functions are called alike and few are used, these come first, with their hashes.

    cargo rustc --release --bin synthdev -- -C strip=none -C link-arg=-Wl,-Map=/tmp/map
    valgrind --tool=callgrind --demangle=no --compress-strings=no --compress-pos=no --callgrind-out-file=/tmp/first/%p target/release/synthdev run ...
    valgrind ... --callgrind-out-file=/tmp/later/%p target/release/synthdev [mcp, runs list, the screen ...]
    build/order.py /tmp/map /tmp/first /tmp/later > build/order.ld
"""

import collections
import pathlib
import re
import sys

LONGEST = 60
# A name that brings in more unused bytes per used function than this costs more than the mapping around that function.
WASTE = 24_000


def executed(directory):
    """Names of the functions that the profiles in `directory` have seen; those of libraries match no section."""
    names = set()
    for path in pathlib.Path(directory).iterdir():
        # not by object: the tool knows none for code outside of .text
        for line in path.open(errors="replace"):
            if line.startswith("fn="):
                names.add(re.sub(r"'\d+$", "", line[3:].strip()))
    return names


def sections(path):
    """Name of each function, with the pattern of the file it comes from and its size."""
    found = {}
    line_of = re.compile(r"\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ (.*):\(\.text\.((?!unlikely\.)[^)]+)\)")
    for line in open(path):
        if match := line_of.match(line):
            size, file, name = match.groups()
            rust = re.search(r"\.(\w+)\.[^./]*-cgu", file)
            c = re.search(r"-(\w+)\.o\)$", file)
            origin = f"*.{rust[1]}.*" if rust else f"*{c[1]}.o" if c else "*"
            found[name] = (origin, int(size, 16))
    return found


def pattern(name):
    """The part of a name that stays the same from one compiler to the next."""
    name = re.sub(r"\.llvm\.\d+$", "", name)
    name = re.sub(r"17h[0-9a-f]{16}E(\.\d+)?$", "17h", name)
    return re.sub(r"Cs[0-9A-Za-z]{6,13}_(?=\d)", "Cs*_", name)[:LONGEST]


def instance(name):
    """One function among those of its pattern: with the hash of what it was made for, which another compiler or Cargo.lock changes."""
    name = re.sub(r"\.llvm\.\d+$", "", name)
    short = pattern(name)
    hashed = re.search(r"17h[0-9a-f]{16}E", name)
    return f"{short}*{hashed[0]}" if hashed and not short.endswith("17h") else name


def group(names, every, taken):
    """Names that cover `names`: what is used only, then single ones among others, then all that are called alike."""
    used, unused, count, single = collections.Counter(), collections.Counter(), collections.Counter(), set()
    for name, (origin, size) in every.items():
        key = (origin, pattern(name))
        if name in names:
            used[key] += size
            count[key] += 1
        else:
            unused[key] += size
    worth = [key for key in count if key not in taken and unused[key] <= count[key] * WASTE]
    taken.update(worth)
    exact = {key for key in worth if unused[key] * 4 <= used[key]}
    alike = {key for key in worth if unused[key] * 4 > used[key]}
    for name in names:
        origin = every.get(name, ("", 0))[0]
        if (origin, pattern(name)) in alike:
            single.add((origin, instance(name)))
    return [exact | single, alike]


def main(layout, *directories):
    every = sections(layout)
    taken = set()
    print("/* written by order.py, see there */\nSECTIONS\n{\n  .text.start :\n  {")
    for directory in directories:
        for keys in group(executed(directory), every, taken):
            by_origin = collections.defaultdict(list)
            for origin, name in keys:
                by_origin[origin].append(name)
            for origin in sorted(by_origin):
                print(f"{origin}(")
                print("\n".join(f".text.{name}*" for name in sorted(by_origin[origin])))
                print(")")
    print("*(.text.unlikely.*)\n  }\n}\nINSERT BEFORE .text;")


main(*sys.argv[1:])
