/**
 * `npm run load [-- --runs 200 --readers 100 --rate 50 --beats 10 --reply-ms 2000 --write]`: one `cairn serve` under
 * load. While its runs advance, readers follow the event streams of some, and requests come at a fixed rate, whether the
 * earlier ones were answered or not. Then it compares what each reader got with the log, and counts each call.
 *
 * It prints how long requests took, from the moment at which each was due. It exits 1 if a reader lost an event or got
 * one twice, if a request was not answered or failed, or if a run did not end or made a call twice. `--write` puts the
 * table into `docs/http-api.md`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import { parseArgs } from "node:util";
import { withPart } from "../scripts/marks.ts";
import { type Read, readRun } from "./load-reader.ts";
import { startLoadServer } from "./load-server.ts";
import { percentile } from "./statistics.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "200" },
    readers: { type: "string", default: "100" },
    rate: { type: "string", default: "50" },
    beats: { type: "string", default: "10" },
    "reply-ms": { type: "string", default: "2000" },
    write: { type: "boolean", default: false },
  },
});
const [runs, readers, rate] = [Number(values.runs), Number(values.readers), Number(values.rate)];
const [beats, replyMs] = [Number(values.beats), Number(values["reply-ms"])];
if (![runs, readers, rate, beats].every((each) => Number.isSafeInteger(each) && each > 0) || readers > runs) {
  console.error("--runs, --readers, --rate and --beats take whole numbers above 0, and no more readers than runs");
  process.exit(2);
}

/** Beyond the time of the model: a slow machine may take its time. */
const PATIENCE_MS = 300_000;
/** Every fifth reader loses its connection after so many commits. */
const BREAKS_AFTER = 5;

type Document = Readonly<Record<string, unknown>>;

/** One request of the load: what it does, and how long its answer took. */
interface Answered {
  readonly what: string;
  /** Null if there was no answer. */
  readonly status: number | null;
  readonly ms: number;
}

/** Of 25 requests: so many of each kind. The page of all approvals is what a console asks for every few seconds. */
const SHARES = {
  "GET /runs": 3,
  "GET /runs/{run}": 8,
  "GET /runs/{run}/events": 6,
  "GET /runs/{run}/ledger": 3,
  "POST /runs/{run}/messages": 4,
  "GET /approvals": 1,
} as const;

/** What a request asks of the run of its turn. `id`: unique, so each message is another one. */
const REQUESTS = {
  "GET /runs": () => ["/runs?limit=20", {}],
  "GET /runs/{run}": (run: string) => [`/runs/${run}`, {}],
  "GET /runs/{run}/events": (run: string) => [`/runs/${run}/events?after=0`, {}],
  "GET /runs/{run}/ledger": (run: string) => [`/runs/${run}/ledger`, {}],
  "GET /approvals": () => ["/approvals", {}],
  "POST /runs/{run}/messages": (run: string, id: number) => [
    `/runs/${run}/messages`,
    { method: "POST", body: JSON.stringify({ text: `Message ${id}`, id: `m${id}` }) },
  ],
} as const satisfies Record<keyof typeof SHARES, (run: string, id: number) => readonly [string, RequestInit]>;

const headers = { "content-type": "application/json" };

async function json(url: string): Promise<Document> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} is ${response.status}`);
  return (await response.json()) as Document;
}

async function start(url: string, index: number): Promise<string> {
  const body = JSON.stringify({ agent: "long", input: { beats } });
  const sent = { method: "POST", headers: { ...headers, "idempotency-key": `load-${index}` }, body };
  const response = await fetch(`${url}/runs`, sent);
  if (response.status !== 202) throw new Error(`a start is ${response.status}: ${await response.text()}`);
  return String(((await response.json()) as Document)["run"]);
}

/** Sends requests at the rate until the signal. Resolves when each has its answer. */
async function requestsUntil(signal: AbortSignal, url: string, names: readonly string[]): Promise<readonly Answered[]> {
  const kinds = Object.entries(SHARES).flatMap(([what, share]) =>
    Array.from({ length: share }, () => what as keyof typeof SHARES),
  );
  const sent: Promise<Answered>[] = [];
  const begun = performance.now();
  for (let id = 0; !signal.aborted; id += 1) {
    const due = begun + (id * 1_000) / rate;
    await elapse(Math.max(0, due - performance.now()));
    const what = kinds[(id * 7) % kinds.length] ?? "GET /runs";
    const [path, init] = REQUESTS[what](names[(id * 7) % names.length] ?? "", id);
    sent.push(
      fetch(`${url}${path}`, { ...init, headers }).then(
        async (response) => {
          await response.arrayBuffer();
          return { what, status: response.status, ms: performance.now() - due };
        },
        () => ({ what, status: null, ms: performance.now() - due }),
      ),
    );
  }
  return Promise.all(sent);
}

/** A message to a run that has ended is refused, and says so. */
const isExpected = ({ what, status }: Answered): boolean =>
  status !== null && (status < 300 || (status === 409 && what.startsWith("POST")));

/** What the log of a run has, beside what its reader got. Returns what is wrong. */
async function wrongWith(url: string, read: Read): Promise<readonly string[]> {
  const versions: number[] = [];
  for (let [after, isMore] = [0, true]; isMore;) {
    const page = await json(`${url}/runs/${read.run}/events?after=${after}`);
    for (const { version } of page["entries"] as readonly { readonly version: number }[]) versions.push(version);
    [after, isMore] = [page["next"] as number, page["more"] === true];
  }
  const commits = [...new Set(versions)];
  const isSame = JSON.stringify(commits) === JSON.stringify(read.versions) && versions.length === read.events;
  return [
    ...(isSame
      ? []
      : [
          `${read.run}: a reader got ${read.events} events in ${read.versions.length} commits, and the log has ${versions.length} in ${commits.length}`,
        ]),
    ...(read.hasEnded ? [] : [`${read.run}: its reader was not told that it ended`]),
  ];
}

/** Each call of each run took place once. */
async function wrongCalls(url: string, run: string, late: AbortSignal): Promise<readonly string[]> {
  let { status, inProgress } = await json(`${url}/runs/${run}`);
  for (; inProgress === true && !late.aborted; await elapse(500)) {
    ({ status, inProgress } = await json(`${url}/runs/${run}`));
  }
  if (status !== "completed") return [`${run} is ${String(status)}`];
  const { calls } = (await json(`${url}/runs/${run}/ledger`)) as { readonly calls: readonly Document[] };
  const isRight = calls.length === beats && calls.every((call) => call["status"] === "succeeded");
  return isRight ? [] : [`${run} has ${calls.length} calls, or one that did not succeed`];
}

function tableOf(answers: readonly Answered[]): string {
  const kinds = [...Map.groupBy(answers, ({ what }) => what), ["all", answers] as const];
  const rows = kinds.map(([what, some]) => {
    const times = some.map(({ ms }) => ms);
    const spread = [0.5, 0.99, 1].map((share) => `${percentile(times, share).toFixed(0)} ms`);
    return `| ${what === "all" ? "all" : `\`${what}\``} | ${some.length} | ${spread.join(" | ")} |`;
  });
  return ["| request | answered | median | p99 | longest |", "|---|---|---|---|---|", ...rows].join("\n");
}

async function load(url: string): Promise<{ readonly wrong: readonly string[]; readonly part: string }> {
  const names: string[] = [];
  for (let index = 0; index < runs; index += 1) names.push(await start(url, index));
  const begun = performance.now();
  const [over, late] = [new AbortController(), AbortSignal.timeout(beats * replyMs + PATIENCE_MS)];
  const progress = setInterval(() => {
    const ended = reads.filter(({ isOver }) => isOver).length;
    console.error(
      `${((performance.now() - begun) / 1_000).toFixed(0)} s: ${ended} of ${readers} followed runs have ended`,
    );
  }, 5_000);
  const reads = names.slice(0, readers).map((run, index) => {
    const of = { run, signal: late, breaksAfter: index % 5 === 0 ? BREAKS_AFTER : Infinity };
    const follower = { isOver: false, read: readRun(url, of).finally(() => (follower.isOver = true)) };
    return follower;
  });
  const answering = requestsUntil(AbortSignal.any([over.signal, late]), url, names);
  const all = await Promise.all(reads.map(({ read }) => read)).finally(() => over.abort());
  const seconds = (performance.now() - begun) / 1_000;
  const answers = await answering.finally(() => clearInterval(progress));
  const failed = answers.filter((each) => !isExpected(each));
  const wrong = [
    ...failed.map(({ what, status }) => `${what} was ${status ?? "not answered"}`),
    ...(await Promise.all(all.map((read) => wrongWith(url, read)))).flat(),
    ...(await Promise.all(names.map((run) => wrongCalls(url, run, late)))).flat(),
  ];
  const events = all.reduce((sum, read) => sum + read.events, 0);
  const again = all.filter(({ connections }) => connections > 1).length;
  const said = [
    `${runs} runs with ${beats} beats each and a model that takes ${replyMs / 1_000} s; ${readers} readers, of which ${again} were cut off and came back; ${rate} requests a second for ${seconds.toFixed(0)} s.`,
    `The readers got ${events.toLocaleString("en")} events. Lost, doubled or unanswered: ${wrong.length}.`,
    `(${cpus().length} cores of ${cpus()[0]?.model ?? "an unknown processor"}, load and server on the same, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}.)`,
  ];
  return { wrong, part: `${tableOf(answers)}\n\n${said.join("\n")}` };
}

const server = await startLoadServer({ beats, replyMs });
try {
  const { wrong, part } = await load(server.url);
  console.log(part);
  for (const each of wrong.slice(0, 20)) console.error(each);
  process.exitCode = wrong.length > 0 ? 1 : 0;
  const page = join(import.meta.dirname, "..", "docs", "http-api.md");
  if (values.write) writeFileSync(page, withPart(readFileSync(page, "utf8"), { name: "load", part }));
} finally {
  await server.close();
}
