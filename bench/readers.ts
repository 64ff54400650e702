/**
 * `npm run readers [-- --clients 300 --runs 20 --beats 60 --events 10000 --rounds 1]`: readers of one long run while
 * others work. A first round has no readers, then one has, then again one has none. So both kinds meet the same machine.
 *
 * Half of the clients never read what they asked for. The others read to the end, and ask again. Who is refused waits
 * for `Retry-After`, and asks again too. It prints how fast the runs worked, how long `/healthz` took, and who was
 * refused. It exits 1 if a worker died, if a run was taken over, did not end or made a call twice, if a refusal had no
 * code or time, if `/healthz` took a second, or if the runs worked at less
 * than 0.8 of their speed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type ClientRequest, get } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as elapse } from "node:timers/promises";
import { parseArgs } from "node:util";
import { READERS } from "../src/sdk/readers.ts";
import { freePort } from "./load-server.ts";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "300" },
    runs: { type: "string", default: "20" },
    beats: { type: "string", default: "60" },
    events: { type: "string", default: "10000" },
  },
});
const [clients, runs] = [Number(values.clients), Number(values.runs)];
const [beats, events] = [Number(values.beats), Number(values.events)];
/** What one beat of the long run records. */
const EVENTS_PER_BEAT = 5.2;
const SPEED_MIN = 0.8;
const HEALTH_MS_MAX = 1_000;

type Document = Readonly<Record<string, unknown>>;

const CLI = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const dir = mkdtempSync(join(tmpdir(), "cairn-readers-"));
const agents = JSON.stringify(join(import.meta.dirname, "readers-agents.ts"));
writeFileSync(join(dir, "cairn.config.ts"), `export const config = { agents: [${agents}], beatsPerInvocation: 20 };\n`);
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const args = [CLI, "serve", "--json", "--port", String(port), "--store", join(dir, "store")];
const server = spawn(process.execPath, args, { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
const ended = once(server, "exit");
/** What the supervisor says of workers that it lost, and the server of readers that it closed. */
const lost: Document[] = [];
const closed: Document[] = [];
createInterface({ input: server.stdout }).on("line", (line) => {
  const event = JSON.parse(line) as Document;
  // A worker of one agent that is idle makes room for another agent.
  const isLost = event["kind"] === "workerGone" && !String(event["how"]).includes("its place is kept");
  if (isLost || event["kind"] === "attemptFailed") lost.push(event);
  if (event["kind"] === "readerClosed") closed.push(event);
});

const json = async (path: string, init: RequestInit = {}): Promise<Document> => {
  const response = await fetch(`${url}${path}`, init);
  if (!response.ok) throw new Error(`${path} is ${response.status}: ${await response.text()}`);
  return (await response.json()) as Document;
};

async function start(agent: string, count: number): Promise<string> {
  const body = JSON.stringify({ agent, input: { beats: count } });
  const started = await json("/runs", { method: "POST", body, headers: { "content-type": "application/json" } });
  return String(started["run"]);
}

async function ends(run: string): Promise<Document> {
  for (;;) {
    const shown = await json(`/runs/${run}`);
    if (shown["inProgress"] === false) return shown;
    await elapse(100);
  }
}

/** How long the runs worked, in seconds, and the runs. */
async function work(): Promise<{ readonly seconds: number; readonly worked: readonly Document[] }> {
  const begun = performance.now();
  const started = await Promise.all(Array.from({ length: runs }, () => start("worker", beats)));
  const worked = await Promise.all(started.map(ends));
  return { seconds: (performance.now() - begun) / 1_000, worked };
}

interface Counts {
  admitted: number;
  whole: number;
  /** Refusals by status and code. */
  readonly refused: Map<string, number>;
  untold: number;
  open: number;
  mostOpen: number;
}

/** One client until the signal: it asks for all events of the run, as often as it can. */
async function client(of: {
  readonly run: string;
  readonly reads: boolean;
  readonly stop: AbortSignal;
  counts: Counts;
}) {
  const { run, reads, stop, counts } = of;
  while (!stop.aborted) {
    const waitMs = await new Promise<number>((resolve) => {
      const headers = { accept: "text/event-stream" };
      const request: ClientRequest = get(`${url}/runs/${run}/events`, { headers, agent: false }, (response) => {
        if (response.statusCode !== 200) {
          let text = "";
          response.on("data", (part) => (text += String(part)));
          response.on("end", () => {
            const { code = null } = JSON.parse(text) as Document;
            const after = Number(response.headers["retry-after"]);
            if (code === null || !(after > 0)) counts.untold += 1;
            const name = `${response.statusCode} ${String(code)}`;
            counts.refused.set(name, (counts.refused.get(name) ?? 0) + 1);
            resolve(1_000 * after);
          });
          return;
        }
        counts.admitted += 1;
        counts.open += 1;
        counts.mostOpen = Math.max(counts.mostOpen, counts.open);
        let tail = "";
        const over = (): void => {
          counts.open -= 1;
          if (tail.includes("event: end")) counts.whole += 1;
          resolve(0);
        };
        response.once("close", over);
        if (!reads) return;
        response.on("data", (part: Buffer) => (tail = `${tail}${part.toString("latin1")}`.slice(-200)));
      });
      request.on("error", () => resolve(1_000));
      stop.addEventListener("abort", () => request.destroy(), { once: true });
    });
    await elapse(waitMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** The longest answer of `/healthz` until the signal, in milliseconds. */
async function health(stop: AbortSignal): Promise<number> {
  let longest = 0;
  while (!stop.aborted) {
    const begun = performance.now();
    await json("/healthz");
    longest = Math.max(longest, performance.now() - begun);
    await elapse(50);
  }
  return longest;
}

const wrong: string[] = [];
const check = (holds: boolean, what: string): void => void (holds || wrong.push(what));

try {
  while (
    !(await fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await elapse(50);
  const run = await start("long", Math.ceil(events / EVENTS_PER_BEAT));
  await ends(run);
  const size = (await (await fetch(`${url}/runs/${run}/events?startIndex=${events - 1}`)).json()) as Document;
  check((size["entries"] as readonly unknown[]).length > 0, `the long run has fewer than ${events} events`);
  const before = await work();
  const stop = new AbortController();
  const { signal } = stop;
  const counts: Counts = { admitted: 0, whole: 0, refused: new Map(), untold: 0, open: 0, mostOpen: 0 };
  const all = Array.from({ length: clients }, (_, index) =>
    client({ run, reads: index % 2 === 0, stop: signal, counts }),
  );
  const longest = health(signal);
  const during = await work();
  stop.abort();
  await Promise.all(all);
  const healthMs = await longest;
  const after = await work();
  const without = (before.seconds + after.seconds) / 2;
  const ratio = without / during.seconds;
  const doubled = await callsTwice([...before.worked, ...during.worked, ...after.worked]);
  const takenOver = [...before.worked, ...during.worked, ...after.worked].filter(({ takeovers }) => takeovers !== 0);
  const refused = [...counts.refused].map(([name, count]) => `${count} × ${name}`).join(", ") || "none";
  console.log(
    `${runs} runs of ${beats} beats: ${before.seconds.toFixed(1)} s, with readers ${during.seconds.toFixed(1)} s, without ${after.seconds.toFixed(1)} s: ${ratio.toFixed(2)} of their speed`,
  );
  console.log(
    `${clients} clients of a run of ${events} events: ${counts.admitted} admitted, at most ${counts.mostOpen} with an answer that they had not taken whole; ${counts.whole} read to the end; refused: ${refused}; closed since they took nothing: ${closed.length}`,
  );
  console.log(
    `/healthz took at most ${healthMs.toFixed(0)} ms; workers lost: ${lost.length}, runs taken over: ${takenOver.length}, calls made twice: ${doubled}`,
  );
  console.log(`(${cpus().length} cores, Node ${process.versions.node})`);
  check(lost.length === 0, `workers were lost: ${JSON.stringify(lost[0])}`);
  check(takenOver.length === 0, "a run was taken over");
  check(doubled === 0, "a call was made twice");
  check(
    [...before.worked, ...during.worked].every(({ status }) => status === "completed"),
    "a run did not complete",
  );
  check(counts.untold === 0, "a refusal has no code, or does not say when to come again");
  check(clients <= READERS.perRunMax || counts.refused.size > 0, "nobody was refused");
  check(healthMs < HEALTH_MS_MAX, `/healthz took ${healthMs.toFixed(0)} ms`);
  check(ratio >= SPEED_MIN, `the runs worked at ${ratio.toFixed(2)} of their speed`);
} finally {
  server.kill("SIGTERM");
  await ended;
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

/** How many calls of these runs were released more than once. */
async function callsTwice(worked: readonly Document[]): Promise<number> {
  let twice = 0;
  for (const { run } of worked) {
    const { calls } = await json(`/runs/${String(run)}/ledger`);
    twice += (calls as readonly { readonly attempts: number }[]).filter(({ attempts }) => attempts !== 1).length;
  }
  return twice;
}

for (const what of wrong) console.error(`WRONG: ${what}`);
process.exitCode = wrong.length === 0 ? 0 : 1;
