/**
 * `npm run bench -- --peers [--beats N] [--rounds N] [--write]`: cairn beside other ways to make a loop durable, on the
 * disk of this machine. Every measurement is a process of its own; a round measures each peer once, so that a busy moment
 * meets all of them. The peers are a package of their own, which this installs first. `--write` puts the tables into
 * `docs/benchmarks.md`.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median, spread } from "./statistics.ts";
import { canTrace, strace } from "./strace.ts";
import { prose } from "./sentences.ts";
import { bundleBench } from "./bundle.ts";
import { withPart } from "../scripts/marks.ts";

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    peers: { type: "boolean" },
    write: { type: "boolean" },
    beats: { type: "string", default: "500" },
    rounds: { type: "string", default: "5" },
  },
});
const PEERS = join(import.meta.dirname, "peers");
const TRACED_BEATS = 100;

/** A peer of one long run, by the module and variant of its child process. */
const ALONE: Readonly<Record<string, string>> = {
  "raw:": "raw loop, nothing stored",
  "file:": "a synced file per beat",
  "aws:": "AWS durable SDK, synced log",
  "dbos:1": "DBOS, one step per beat",
  "dbos:2": "DBOS, two steps per beat",
  "restate:": "Restate, one step per beat",
  "langgraph:": "LangGraph, SQLite",
  "cairn:in-1": "cairn in process, B = 1",
  "cairn:in-50": "cairn in process, B = 50",
  "cairn:work-1": "cairn, worker process, B = 1",
  "cairn:work-16": "cairn, worker process, B = 16",
};
/** Those that are measured with many runs at once as well. */
const MANY = ["file:", "aws:", "dbos:1", "restate:", "langgraph:", "cairn:work-1", "cairn:work-16"];
const MANY_RUNS = 100;
const MANY_BEATS = 20;

interface Said {
  /** Milliseconds of the whole run. */
  readonly took: number;
  /** When each beat began, in milliseconds; none of many runs in another process. */
  readonly marks: readonly number[];
  readonly peakKb: number;
}

const TRACED = "fsync,fdatasync,sync_file_range,write,writev,pwrite64,pwritev,pwritev2,mkdir,mkdirat";

/**
 * The Node for which the native part of LangGraph's store was built; null: it is not on this machine. It is asked for
 * once the peers are installed.
 */
function findLanggraphNode(): string | null {
  const nodes = [process.execPath, "/usr/bin/node", "/usr/local/bin/node"];
  const opens = ["-e", 'new (require("better-sqlite3"))(":memory:")'];
  return nodes.find((node) => spawnSync(node, opens, { cwd: PEERS }).status === 0) ?? null;
}

let langgraphNode: string | null = null;
const nodeFor = (peer: string): string | null => (peer.startsWith("langgraph") ? langgraphNode : process.execPath);

function measure(peer: string, of: { readonly runs: number; readonly beats: number; readonly trace?: string }): Said {
  const dir = mkdtempSync(join(tmpdir(), "cairn-peers-"));
  try {
    // PostgreSQL runs as another user.
    chmodSync(dir, 0o777);
    const turns = Array.from({ length: of.beats }, (_, turn) => turn);
    const replies = turns.map((turn) => prose(turn, 1_500));
    const results = turns.map((turn) => prose(turn + 1_000_003, 2_000));
    writeFileSync(join(dir, "steps.json"), JSON.stringify({ replies, results }));
    const words = [nodeFor(peer) ?? "", join(PEERS, "child.mjs"), peer, dir, String(of.runs), String(of.beats)];
    const tracer = of.trace === undefined ? [] : strace(of.trace, TRACED);
    const [program = "", ...rest] = [...tracer, ...words];
    const { status, stdout, stderr } = spawnSync(program, rest, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
    if (status !== 0) throw new Error(`${peer} failed:\n${stderr}`);
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Said;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Syncs and bytes per beat that reached files, between the marks of the child. */
function traced(peer: string): { readonly syncs: number; readonly bytes: number } | null {
  if (!canTrace) return null;
  const trace = join(mkdtempSync(join(tmpdir(), "cairn-trace-")), "calls");
  measure(peer, { runs: 1, beats: TRACED_BEATS, trace });
  const lines = readFileSync(trace, "utf8").split("\n");
  // The trace has no names of folders. The marks are the last two that were made.
  const made = lines.flatMap((line, index) => (/ mkdir(at)?\(/.test(line) ? [index] : []));
  const [from = 0, to = lines.length] = made.slice(-2);
  let [syncs, bytes] = [0, 0];
  for (const line of lines.slice(from, to)) {
    if (/ (f(data)?sync|sync_file_range)\(/.test(line)) syncs += 1;
    // Writes to files on a disk: no pipes, sockets, terminals, or shared memory.
    else if (/ p?writev?2?(64)?\(\d+<\/(?!dev|proc|sys)[^>]*(?<!-shm)>/.test(line))
      bytes += Number(/ = (\d+)$/.exec(line)?.[1] ?? 0);
  }
  rmSync(join(trace, ".."), { recursive: true });
  return { syncs: syncs / TRACED_BEATS, bytes: bytes / TRACED_BEATS };
}

/** The median beat. Of two beats together, since every second one has a call with a key. */
const beatOf = ({ marks }: Said): number =>
  median(marks.slice(2).map((mark, index) => (mark - (marks[index] ?? NaN)) / 2));

/** How much longer a beat of the last tenth takes than one of the first. */
function growthOf({ marks }: Said): number {
  const tenth = Math.floor(marks.length / 10);
  return ((marks.at(-1) ?? 0) - (marks.at(-1 - tenth) ?? 0)) / ((marks[tenth] ?? 0) - (marks[0] ?? 0));
}

interface Measured {
  /** What each peer said of its long run, in each round. */
  readonly said: ReadonlyMap<string, readonly Said[]>;
  /** The beats per second of many runs, by peer, in each round. */
  readonly perSecond: ReadonlyMap<string, readonly number[]>;
}

/** Measures each peer once in each round. */
function measureAll(peers: readonly string[], of: { readonly beats: number; readonly rounds: number }): Measured {
  const said = new Map<string, Said[]>();
  const perSecond = new Map<string, number[]>();
  for (let round = 1; round <= of.rounds; round += 1) {
    for (const peer of peers) {
      process.stderr.write(`round ${round} of ${of.rounds}: ${ALONE[peer]}\n`);
      said.set(peer, [...(said.get(peer) ?? []), measure(peer, { runs: 1, beats: of.beats })]);
    }
    for (const peer of MANY.filter((each) => peers.includes(each))) {
      process.stderr.write(`round ${round} of ${of.rounds}: ${ALONE[peer]}, ${MANY_RUNS} runs\n`);
      const { took } = measure(peer, { runs: MANY_RUNS, beats: MANY_BEATS });
      perSecond.set(peer, [...(perSecond.get(peer) ?? []), (MANY_RUNS * MANY_BEATS * 1_000) / took]);
    }
  }
  return { said, perSecond };
}

const COLUMNS = [
  ...["", "ms per beat, median", "whole run ÷ beats", "last ÷ first tenth", "syncs per beat", "KB written per beat"],
  ...["MB over the raw loop", `beats/s of ${MANY_RUNS} runs × ${MANY_BEATS} beats`],
];

function compare(): string {
  const beats = Number(values.beats);
  const rounds = Number(values.rounds);
  const alone = Object.keys(ALONE).filter((peer) => nodeFor(peer) !== null);
  const { said, perSecond } = measureAll(alone, { beats, rounds });
  const raw = median((said.get("raw:") ?? []).map(({ peakKb }) => peakKb));
  const rows = alone.map((peer) => {
    process.stderr.write(`counting: ${ALONE[peer]}\n`);
    const each = said.get(peer) ?? [];
    const counted = peer.startsWith("raw") ? { syncs: 0, bytes: 0 } : traced(peer);
    return [
      ALONE[peer],
      spread(each.map(beatOf), 2),
      spread(
        each.map(({ took }) => took / beats),
        2,
      ),
      peer.startsWith("raw") ? "–" : median(each.map(growthOf)).toFixed(2),
      counted === null ? "not counted" : counted.syncs.toFixed(2),
      counted === null ? "not counted" : (counted.bytes / 1_024).toFixed(1),
      peer.startsWith("cairn:work") ? "–" : ((median(each.map(({ peakKb }) => peakKb)) - raw) / 1_024).toFixed(0),
      perSecond.has(peer) ? spread(perSecond.get(peer) ?? [], 0) : "–",
    ];
  });
  const ratio = (one: string, other: string): string =>
    median((said.get(one) ?? []).map(beatOf).map((ms, round) => ms / beatOf(said.get(other)?.[round] as Said))).toFixed(
      2,
    );
  const ratioOfMany = (one: string, other: string): string =>
    median((perSecond.get(one) ?? []).map((each, round) => each / (perSecond.get(other)?.[round] ?? NaN))).toFixed(2);
  const table = [COLUMNS, COLUMNS.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  const ratios = [
    ["in process, B = 50, against the AWS durable SDK", ratio("cairn:in-50", "aws:")],
    ["in process, B = 1, against DBOS with two steps", ratio("cairn:in-1", "dbos:2")],
    ["worker process, B = 1, against DBOS with one step", ratio("cairn:work-1", "dbos:1")],
    [`${MANY_RUNS} runs, B = 1, beats/s against DBOS`, ratioOfMany("cairn:work-1", "dbos:1")],
    [`${MANY_RUNS} runs, B = 16, beats/s against DBOS`, ratioOfMany("cairn:work-16", "dbos:1")],
  ].map(([what, times]) => `| ${what} | ${times} |`);
  const date = new Date().toISOString().slice(0, 10);
  return [
    ...table,
    "",
    "| cairn ÷ peer, median of the rounds | |",
    "|---|---|",
    ...ratios,
    "",
    `(${beats} beats, median of ${rounds} interleaved rounds with least and most; ${cpus().length} cores of ${cpus()[0]?.model}, Node ${process.version.slice(1)}, ${date}.)`,
  ].join("\n");
}

if (!existsSync(join(PEERS, "node_modules"))) {
  process.stderr.write("installing the peers\n");
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: PEERS, stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error("the peers could not be installed: see above, and try npm ci in bench/peers");
}
langgraphNode = findLanggraphNode();
await bundleBench();
const part = compare();
console.log(part);
if (values.write === true) {
  const page = join(import.meta.dirname, "../docs/benchmarks.md");
  writeFileSync(page, withPart(readFileSync(page, "utf8"), { name: "peers", part }));
}
