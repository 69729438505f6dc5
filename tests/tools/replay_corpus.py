#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replay the golden wire corpus against a server and report what differs.

    replay_corpus.py HOST:PORT [--corpus DIR] [--only REGEX] [--file TOPIC] [-v] [--strict] [--json OUT]
    replay_corpus.py --show NAME [--corpus DIR]        print one scenario, decoded

The server must be fresh (namespaces `test` and `bar` empty, no secondary indexes, no UDFs): the scenarios use
distinct sets and keys, so they do not disturb each other, but a second run over the same data does.
Only the standard library is used. Format of the files: see README.md beside the corpus folder.

Every scenario ends as one of
    same        every response equals the recorded one, with the volatile fields masked
    equivalent  differs only in something a correct server may choose (order of an unordered map, frame split,
                text of an error message, node identity, a statistic, an implementation-specific size)
    different   anything else: the exit code is then 1
"""
import argparse
import glob
import json
import os
import re
import select
import socket
import struct
import sys
import time

EPOCH = 1262304000  # 2010-01-01, the origin of void times
MAX_BODY = 128 << 20
OP_NAMES = {1: "READ", 2: "WRITE", 3: "CDT_READ", 4: "CDT_MODIFY", 5: "INCR", 7: "EXP_READ", 8: "EXP_MODIFY",
            9: "APPEND", 10: "PREPEND", 11: "TOUCH", 12: "BITS_READ", 13: "BITS_MODIFY", 14: "DELETE_ALL",
            15: "HLL_READ", 16: "HLL_MODIFY"}


# ---------------------------------------------------------------- hex with runs

def expand(text):
    """Bytes of a recorded frame: hex tokens split by blanks; `61*1048576` is byte 61 repeated."""
    out = []
    for tok in text.split():
        if "*" in tok:
            h, n = tok.split("*")
            out.append(bytes.fromhex(h) * int(n))
        else:
            out.append(bytes.fromhex(tok))
    return b"".join(out)


RUN = re.compile(rb"(.)\1{255,}", re.S)


def collapse(data):
    """Inverse of expand: runs of 256 or more equal bytes become one token."""
    out, pos = [], 0
    for m in RUN.finditer(data):
        if m.start() > pos:
            out.append(data[pos:m.start()].hex())
        out.append("%02x*%d" % (data[m.start()], m.end() - m.start()))
        pos = m.end()
    if pos < len(data):
        out.append(data[pos:].hex())
    return " ".join(out)


# ---------------------------------------------------------------- decoding

class Bad(Exception):
    pass


def parse_message(b, o):
    """One message of a type-3 body at offset o: (dict, next offset)."""
    if len(b) - o < 22:
        raise Bad("message header cut short")
    hs, i1, i2, i3, i4, rc, gen, ttl, tt, nf, no = struct.unpack_from(">BBBBBBIIIHH", b, o)
    if hs != 22:
        raise Bad("header size %d" % hs)
    o += 22
    fields, ops = [], []
    for _ in range(nf):
        if len(b) - o < 5:
            raise Bad("field header cut short")
        sz, ft = struct.unpack_from(">IB", b, o)
        if sz < 1 or o + 4 + sz > len(b):
            raise Bad("field size %d" % sz)
        fields.append((ft, b[o + 5:o + 4 + sz]))
        o += 4 + sz
    for _ in range(no):
        if len(b) - o < 8:
            raise Bad("op header cut short")
        sz, op, pt, fl, nl = struct.unpack_from(">IBBBB", b, o)
        if sz < 4 + nl or o + 4 + sz > len(b):
            raise Bad("op size %d" % sz)
        ops.append((op, pt, b[o + 8:o + 8 + nl], b[o + 8 + nl:o + 4 + sz]))
        o += 4 + sz
    return {"info": (i1, i2, i3, i4), "rc": rc, "gen": gen, "ttl": ttl, "tt": tt, "fields": fields, "ops": ops}, o


def parse_body(b):
    msgs, o = [], 0
    while o < len(b):
        m, o = parse_message(b, o)
        msgs.append(m)
    return msgs


def split_frames(buf):
    """Complete frames of buf and the rest."""
    out, o = [], 0
    while len(buf) - o >= 8:
        n = int.from_bytes(buf[o + 2:o + 8], "big")
        if len(buf) - o < 8 + n:
            break
        out.append(bytes(buf[o:o + 8 + n]))
        o += 8 + n
    return out, buf[o:]


class Ext:
    """A msgpack extension element (in CDT values: the order flags)."""

    def __init__(self, t, d):
        self.t, self.d = t, d

    def __repr__(self):
        return "ext(%d,%s)" % (self.t, self.d.hex())


def unpack(b, o=0):
    """msgpack value at o: a canonical, hashable tuple tree, and the next offset."""
    c = b[o]
    o += 1
    if c < 0x80:
        return ("i", c), o
    if c >= 0xe0:
        return ("i", c - 256), o
    if 0x80 <= c < 0x90:
        return _map(b, o, c & 15)
    if 0x90 <= c < 0xa0:
        return _list(b, o, c & 15)
    if 0xa0 <= c < 0xc0:
        return _raw(b, o, c & 31)
    if c == 0xc0:
        return ("nil",), o
    if c in (0xc2, 0xc3):
        return ("b", c == 0xc3), o
    if c in (0xc4, 0xd9):
        return _raw(b, o + 1, b[o])
    if c in (0xc5, 0xda):
        return _raw(b, o + 2, int.from_bytes(b[o:o + 2], "big"))
    if c in (0xc6, 0xdb):
        return _raw(b, o + 4, int.from_bytes(b[o:o + 4], "big"))
    if c in (0xc7, 0xc8, 0xc9):
        w = 1 << (c - 0xc7)
        n = int.from_bytes(b[o:o + w], "big")
        o += w
        return ("ext", b[o], b[o + 1:o + 1 + n]), o + 1 + n
    if 0xd4 <= c <= 0xd8:
        n = 1 << (c - 0xd4)
        return ("ext", b[o], b[o + 1:o + 1 + n]), o + 1 + n
    if c == 0xca:
        return ("f", b[o:o + 4].hex()), o + 4
    if c == 0xcb:
        return ("f", b[o:o + 8].hex()), o + 8
    if 0xcc <= c <= 0xcf:
        w = 1 << (c - 0xcc)
        return ("i", int.from_bytes(b[o:o + w], "big")), o + w
    if 0xd0 <= c <= 0xd3:
        w = 1 << (c - 0xd0)
        return ("i", int.from_bytes(b[o:o + w], "big", signed=True)), o + w
    if c in (0xdc, 0xdd):
        w = 2 if c == 0xdc else 4
        return _list(b, o + w, int.from_bytes(b[o:o + w], "big"))
    if c in (0xde, 0xdf):
        w = 2 if c == 0xde else 4
        return _map(b, o + w, int.from_bytes(b[o:o + w], "big"))
    raise Bad("msgpack byte %02x" % c)


def _raw(b, o, n):
    if o + n > len(b):
        raise Bad("msgpack raw past the end")
    return ("r", b[o:o + n]), o + n


def _list(b, o, n):
    out = []
    for _ in range(n):
        v, o = unpack(b, o)
        out.append(v)
    return ("list", tuple(out)), o


def _map(b, o, n):
    out = []
    for _ in range(n):
        k, o = unpack(b, o)
        v, o = unpack(b, o)
        out.append((k, v))
    # order of an unordered map is the server's business
    return ("map", tuple(sorted(out, key=repr))), o


def semantic(pt, v):
    """A value as something that compares equal when two encodings mean the same."""
    if pt in (19, 20):
        try:
            x, end = unpack(v)
            if end == len(v):
                return x
        except (Bad, IndexError):
            pass
        return ("undecodable", v)
    if pt == 23 and len(v) >= 3:
        return v[3 + 8 * int.from_bytes(v[1:3], "big"):]
    return v


# ---------------------------------------------------------------- requests

def request_kind(req):
    """How the end of the answer is known: 'one' frame, or 'many' until a LAST message."""
    if len(req) < 30 or req[1] != 3:
        return "one"
    if req[9] & 8:
        return "many"
    try:
        nf = int.from_bytes(req[26:28], "big")
        o = 30
        for _ in range(nf):
            sz, ft = struct.unpack_from(">IB", req, o)
            if ft == 4:
                return "one"
            o += 4 + sz
    except struct.error:
        return "one"
    return "many"


def has_last(frame):
    if frame[1] != 3:
        return False
    try:
        return any(m["info"][2] & 1 for m in parse_body(frame[8:]))
    except Bad:
        return False


# ---------------------------------------------------------------- comparing

IDENTITY = {"node", "build", "build_os", "build_arch", "build_time", "build_ee_sha", "edition", "version", "release", "features",
            "cluster-name", "service", "services", "services-alternate", "service-clear-std", "service-clear-alt",
            "service-tls-std", "service-tls-alt", "peers-clear-std", "peers-clear-alt", "peers-tls-std", "peers-tls-alt",
            "peers-generation", "partition-generation", "rebalance-generation", "cluster-generation", "cluster-stable",
            "replicas", "replicas-all", "replicas-master", "partition-info", "status", "alumni-clear-std",
            "alumni-tls-std", "mesh", "mcast", "dump-cluster", "thread-traces", "endpoints", "name", "cluster-info"}
STATS = {"statistics", "namespace", "sindex", "sindex-stat", "sets", "get-config", "get-stats", "latencies", "logs", "log",
         "query-show", "query-list", "jobs", "histogram", "object-size", "health-stats", "health-outliers", "best-practices",
         "bins", "log-message", "roster", "racks", "scan-show", "smd-show", "latency", "dcs", "hist-dump", "hist-track-start",
         "get-sl", "sindex-list", "service-list"}
ERRTXT = re.compile(r"^(ERROR|FAIL|error|fail)\b[:=]?([^:]*)")


def info_name(line):
    return re.split(r"[:/\t]", line, maxsplit=1)[0]


def compare_info(want, got, strict, job):
    """(level, why) for two info bodies."""
    w = want.decode("utf-8", "replace").split("\n")
    g = got.decode("utf-8", "replace").split("\n")
    if w == g:
        return "same", ""
    if [x.split("\t")[0] for x in w] != [x.split("\t")[0] for x in g]:
        return "different", "echoed command names: %r, recorded %r" % ([x.split("\t")[0][:60] for x in g][:4],
                                                                     [x.split("\t")[0][:60] for x in w][:4])
    level, why = "same", ""
    for a, b in zip(w, g):
        if a == b:
            continue
        cmd, va, vb = a.split("\t")[0], a.partition("\t")[2], b.partition("\t")[2]
        name = info_name(cmd)
        ea, eb = ERRTXT.match(va), ERRTXT.match(vb)
        if ea or eb:
            if ea and eb and (ea.group(2) == eb.group(2)):
                level, why = "equivalent", "error text of %s" % cmd
                continue
            return "different", "%s: %r, recorded %r" % (cmd, vb[:120], va[:120])
        if job:
            ja, jb = _kv(va), _kv(vb)
            keys = ("module", "job-type", "status", "ns", "set", "recs-succeeded", "recs-failed")
            if all(ja.get(k) == jb.get(k) for k in keys):
                continue
            return "different", "%s: %s, recorded %s" % (cmd, {k: jb.get(k) for k in keys}, {k: ja.get(k) for k in keys})
        if name in IDENTITY or name in STATS:
            ka, kb = set(_kv(va)), set(_kv(vb))
            if name in STATS and strict and ka != kb:
                return "different", "%s: keys missing %s, extra %s" % (cmd, sorted(ka - kb)[:8], sorted(kb - ka)[:8])
            level, why = "equivalent", "%s" % cmd
            continue
        return "different", "%s: %r, recorded %r" % (cmd, vb[:200], va[:200])
    return level, why


def _kv(text):
    out = {}
    for part in re.split(r"[;:]", text):
        k, _, v = part.partition("=")
        out.setdefault(k, v)
    return out


def norm_ttl(ttl, now):
    return 0 if ttl == 0 else ttl - now


def describe(m):
    return "rc=%d gen=%d ttl=%d idx=%d fields=%s ops=%s" % (
        m["rc"], m["gen"], m["ttl"], m["tt"], [(t, v.hex()[:60]) for t, v in m["fields"]],
        [(OP_NAMES.get(o, o), p, n.decode("utf-8", "replace"), v.hex()[:80]) for o, p, n, v in m["ops"]])


def compare_message(a, b, t0, t1, vol):
    """Recorded a against replayed b: (level, why)."""
    if a["rc"] != b["rc"]:
        return "different", "result code %d, recorded %d" % (b["rc"], a["rc"])
    if a["info"] != b["info"]:
        return "different", "info bytes %s, recorded %s" % (b["info"], a["info"])
    if a["gen"] != b["gen"] and "generation" not in vol:
        return "different", "generation %d, recorded %d" % (b["gen"], a["gen"])
    if a["tt"] != b["tt"]:
        return "different", "batch index %d, recorded %d" % (b["tt"], a["tt"])
    if (a["ttl"] == 0) != (b["ttl"] == 0):
        return "different", "void time %d, recorded %d" % (b["ttl"], a["ttl"])
    if a["ttl"] and abs((a["ttl"] - t0) - (b["ttl"] - t1)) > 3:
        return "different", "time to live %d s, recorded %d s" % (b["ttl"] - t1, a["ttl"] - t0)
    level, why = "same", ""
    fa, fb = sorted(a["fields"]), sorted(b["fields"])
    if [t for t, _ in fa] != [t for t, _ in fb]:
        return "different", "field types %s, recorded %s" % ([t for t, _ in fb], [t for t, _ in fa])
    for (t, x), (_, y) in zip(fa, fb):
        if x != y and not (t == 15 and "bval" in vol):
            return "different", "field %d %s, recorded %s" % (t, y.hex()[:80], x.hex()[:80])
    if len(a["ops"]) != len(b["ops"]):
        return "different", "%d ops, recorded %d: %s / %s" % (len(b["ops"]), len(a["ops"]), describe(b), describe(a))
    oa, ob = a["ops"], b["ops"]
    if oa != ob and "bin_order" in vol:
        oa, ob = sorted(oa, key=lambda x: x[2]), sorted(ob, key=lambda x: x[2])
        level, why = "equivalent", "bin order"
    for x, y in zip(oa, ob):
        if x[:3] != y[:3]:
            return "different", "op %s, recorded %s" % ((OP_NAMES.get(y[0], y[0]), y[1], y[2]), (OP_NAMES.get(x[0], x[0]), x[1], x[2]))
        if x[3] != y[3]:
            if "value" in vol:
                level, why = "equivalent", "value of %r" % x[2].decode("utf-8", "replace")
            elif semantic(x[1], x[3]) == semantic(y[1], y[3]):
                level, why = "equivalent", "encoding of %r" % x[2].decode("utf-8", "replace")
            else:
                return "different", "bin %r = %s, recorded %s" % (x[2].decode("utf-8", "replace"), y[3].hex()[:160], x[3].hex()[:160])
    return level, why


def row_key(m):
    for t, v in m["fields"]:
        if t == 4:
            return (1, v, 0)
    if m["info"][2] & 4:
        return (2, b"", m["gen"])
    return (0, b"", m["tt"])


def compare_exchange(x, got, closed, t1, strict):
    want = [expand(r) for r in x.get("r", [])]
    vol = set(x.get("v", []))
    if bool(x.get("closed")) != bool(closed):
        return "different", "connection %s, recorded %s" % ("closed" if closed else "open", "closed" if x.get("closed") else "open")
    if want == got:
        return "same", ""
    if "any" in vol:
        return "equivalent", "volatile"
    if bool(want) != bool(got):
        return "different", "%d response frames, recorded %d" % (len(got), len(want))
    tw, tg = {f[1] for f in want}, {f[1] for f in got}
    if tw != tg:
        return "different", "frame types %s, recorded %s" % (tg, tw)
    if tw == {1}:
        if len(want) != len(got):
            return "different", "%d frames, recorded %d" % (len(got), len(want))
        level = ("same", "")
        for a, b in zip(want, got):
            r = compare_info(a[8:], b[8:], strict, "job" in vol)
            if r[0] == "different":
                return r
            level = r if r[0] == "equivalent" else level
        return level
    if tw != {3}:
        return "different", "bytes %s, recorded %s" % (b"".join(got).hex()[:120], b"".join(want).hex()[:120])
    try:
        ma = [m for f in want for m in parse_body(f[8:])]
        mb = [m for f in got for m in parse_body(f[8:])]
    except (Bad, struct.error) as e:
        return "different", "undecodable response: %s" % e
    if request_kind(expand(x["q"])) == "many":
        ma.sort(key=row_key)
        mb.sort(key=row_key)
        if "rows" in vol:  # which rows come back is the server's choice: only how many
            na = [m for m in ma if row_key(m)[0] == 1 and not m["info"][2] & 5]
            nb = [m for m in mb if row_key(m)[0] == 1 and not m["info"][2] & 5]
            if len(na) != len(nb):
                return "different", "%d rows, recorded %d" % (len(nb), len(na))
            return "equivalent", "choice of rows"
    if len(ma) != len(mb):
        return "different", "%d messages, recorded %d (first extra: %s)" % (
            len(mb), len(ma), describe((mb if len(mb) > len(ma) else ma)[min(len(ma), len(mb))]))
    out = ("same", "")
    t0 = x.get("t", 0)
    for a, b in zip(ma, mb):
        r = compare_message(a, b, t0, t1, vol)
        if r[0] == "different":
            return r
        if r[0] == "equivalent":
            out = r
    return out


# ---------------------------------------------------------------- replaying

class Server:
    def __init__(self, host, port, timeout):
        self.host, self.port, self.timeout = host, port, timeout
        self.conns = {}

    def conn(self, c):
        s = self.conns.get(c)
        if s is None:
            s = socket.create_connection((self.host, self.port), timeout=self.timeout)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.setblocking(False)
            self.conns[c] = s
        return s

    def drop(self, c):
        s = self.conns.pop(c, None)
        if s:
            s.close()

    def close(self):
        for c in list(self.conns):
            self.drop(c)

    def exchange(self, c, req, want_frames, want_closed, raw):
        """Send req; (frames, closed by the server, rest of bytes, timed out)."""
        s = self.conn(c)
        many = bool(want_frames) and has_last(want_frames[-1])
        need = 0 if raw else max(1, len(want_frames))
        buf, frames, closed, timed_out = bytearray(), [], False, False
        deadline = time.monotonic() + (self.timeout if not raw else (1.5 if (want_frames or want_closed) else 0.4))
        view, sent = memoryview(req), 0
        quiet = None
        while True:
            now = time.monotonic()
            limit = deadline if quiet is None else min(deadline, quiet)
            if now >= limit:
                timed_out = quiet is None and not raw
                break
            rd, wr, _ = select.select([s], [s] if sent < len(req) else [], [], limit - now)
            if wr:
                try:
                    sent += s.send(view[sent:sent + (1 << 20)])
                except (BrokenPipeError, ConnectionResetError):
                    closed = True
                    sent = len(req)
            if rd:
                try:
                    d = s.recv(1 << 20)
                except (ConnectionResetError, BrokenPipeError):
                    d = b""
                if not d:
                    closed = True
                    break
                buf += d
                fs, buf = split_frames(buf)
                frames += fs
                if raw:
                    quiet = time.monotonic() + 0.25
                elif frames and (has_last(frames[-1]) if many else len(frames) >= need):
                    break
        if closed:
            self.drop(c)
        return frames, closed, bytes(buf), timed_out


def run_scenario(sc, host, port, timeout, strict):
    srv = Server(host, port, timeout)
    result, notes = "same", []
    try:
        for si, step in enumerate(sc["steps"]):
            if step.get("wait"):
                time.sleep(step["wait"])
            for xi, x in enumerate(step["x"]):
                req = expand(x["q"])
                want = [expand(r) for r in x.get("r", [])]
                end = time.monotonic() + (10 if x.get("poll") else 0)
                while True:
                    frames, closed, rest, timed_out = srv.exchange(x["c"], req, want, x.get("closed"), x.get("raw"))
                    t1 = int(time.time()) - EPOCH
                    if timed_out:
                        level, why = "different", "no complete answer in %g s (%d frames)" % (timeout, len(frames))
                        srv.drop(x["c"])
                    elif rest and not closed:
                        level, why = "different", "%d stray bytes" % len(rest)
                    else:
                        level, why = compare_exchange(x, frames, closed, t1, strict)
                    if level == "different" and x.get("poll") and time.monotonic() < end:
                        time.sleep(0.1)
                        continue
                    break
                if level != "same":
                    notes.append("step %d exchange %d, %s: %s: %s" % (si, xi, step["call"][:100], level, why))
                if level == "different":
                    result = "equivalent" if "impl" in x.get("v", []) and result != "different" else (
                        result if "impl" in x.get("v", []) else "different")
                elif level == "equivalent" and result == "same":
                    result = "equivalent"
    except OSError as e:
        result = "different"
        notes.append("connection: %s" % e)
    finally:
        srv.close()
    return result, notes


# ---------------------------------------------------------------- files and main

def load(corpus, only=None, topic=None):
    for path in sorted(glob.glob(os.path.join(corpus, "*.jsonl"))):
        name = os.path.basename(path)[:-6]
        if topic and name != topic:
            continue
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.strip():
                    sc = json.loads(line)
                    if not only or re.search(only, sc["name"]):
                        yield name, sc


def show(sc):
    print("%s  (set %s)  volatile: %s" % (sc["name"], sc.get("set"), ", ".join(sc.get("volatile", [])) or "-"))
    for k, v in sc.get("vars", {}).items():
        print("   %s = %s" % (k, json.dumps(v)))
    for step in sc["steps"]:
        print(" * %s" % step["call"])
        if "expect" in step:
            print("   -> %s" % json.dumps(step["expect"])[:600])
        for x in step["x"]:
            req = expand(x["q"])
            print("   conn %d  >> %s" % (x["c"], req.hex() if len(req) < 600 else req[:300].hex() + "... %d bytes" % len(req)))
            if req[1:2] == b"\x01":
                print("      >> %r" % req[8:][:300])
            elif req[1:2] == b"\x03" and not x.get("raw"):
                try:
                    m, _ = parse_message(req, 8)
                    print("      >> info %02x %02x %02x %02x %s" % (*m["info"], describe(m)))
                except Bad as e:
                    print("      >> %s" % e)
            for r in x.get("r", []):
                f = expand(r)
                print("           << %s" % (f.hex() if len(f) < 600 else f[:300].hex() + "... %d bytes" % len(f)))
                if f[1] == 1:
                    print("      << %r" % f[8:][:400])
                elif f[1] == 3:
                    for m in parse_body(f[8:])[:6]:
                        print("      << info3 %02x %s" % (m["info"][2], describe(m)))
            if x.get("closed"):
                print("           << connection closed by the server")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    default = os.path.join(here, "..", "data", "corpus")
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("server", nargs="?", help="HOST:PORT")
    ap.add_argument("--corpus", default=default)
    ap.add_argument("--only", help="regular expression on scenario names")
    ap.add_argument("--file", help="one topic (file name without .jsonl)")
    ap.add_argument("--timeout", type=float, default=10.0)
    ap.add_argument("--strict", action="store_true", help="statistics must have the same keys; equivalent counts as different")
    ap.add_argument("-v", "--verbose", action="store_true", help="also list equivalent scenarios and their reasons")
    ap.add_argument("--json", help="write the result of each scenario to this file")
    ap.add_argument("--show", metavar="NAME", help="print a scenario and stop")
    a = ap.parse_args()
    if a.show:
        n = 0
        for _, sc in load(a.corpus, "^" + re.escape(a.show) + "$"):
            show(sc)
            n += 1
        return 0 if n else 1
    if not a.server:
        ap.error("HOST:PORT missing")
    host, _, port = a.server.rpartition(":")
    table, results, bad = {}, [], 0
    for topic, sc in load(a.corpus, a.only, a.file):
        r, notes = run_scenario(sc, host or "127.0.0.1", int(port), a.timeout, a.strict)
        table.setdefault(topic, {"same": 0, "equivalent": 0, "different": 0})[r] += 1
        results.append({"file": topic, "name": sc["name"], "result": r, "notes": notes})
        if r == "different" or (a.strict and r != "same"):
            bad += 1
        if r == "different" or (r == "equivalent" and (a.verbose or a.strict)):
            print("%-10s %s/%s" % (r, topic, sc["name"]))
            for n in notes:
                print("             %s" % n)
    print("%-16s %6s %11s %10s" % ("file", "same", "equivalent", "different"))
    tot = [0, 0, 0]
    for t in sorted(table):
        row = [table[t][k] for k in ("same", "equivalent", "different")]
        tot = [x + y for x, y in zip(tot, row)]
        print("%-16s %6d %11d %10d" % (t, *row))
    print("%-16s %6d %11d %10d" % ("all", *tot))
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    if not results:
        print("no scenario matched", file=sys.stderr)
        return 2
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
