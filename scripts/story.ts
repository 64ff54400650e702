/**
 * `npm run story [-- --pace 0.1]`: the worked example of `docs/recovery.md`. A process dies 18 s into a trip, while it books the
 * flight. cairn resumes the run from its last checkpoint, and the story compares that with a restart.
 *
 * The death is a real SIGKILL of a real process. Every printed figure is measured: times and costs are read from the
 * store, requests and bookings from the services' own files. `--pace` scales all times, for tests.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import { parseArgs } from "node:util";
import { countsOf } from "../agents/travel/services.ts";

const STEPS = ["searchFlights", "searchHotels", "compare", "bookFlight", "bookHotel", "chargeCard", "sendConfirmation"];
const CRASHES = "bookFlight";
const CRASH_MS = 18_000;
const DEADLINE_MS = 90_000;
const TRIP = { from: "Hamburg", to: "Lisbon", date: "2027-03-14", nights: 3, traveller: "Ada", trip: "42" };

const CLI = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const ROOT = join(import.meta.dirname, "..");

const pace = Number(parseArgs({ options: { pace: { type: "string", default: "1" } } }).values.pace);
const store = mkdtempSync(join(tmpdir(), "cairn-story-"));
const services = join(store, "services");
const env = { ...process.env, TRAVEL_PACE: String(pace), TRAVEL_SERVICES: services };

/** What the timeline says of one step. `version`: the checkpoint that holds its result. */
interface Step {
  readonly tool: string;
  readonly usd: number;
  readonly asked: number;
  readonly answered: number;
  readonly version: number;
  readonly key: string | null;
}

async function story(): Promise<void> {
  const { run } = JSON.parse(cairn("start", "travel", "--input", JSON.stringify(TRIP), "--key", "story", "--json")) as {
    readonly run: string;
  };
  console.log(`A trip in seven steps. Its process dies after ${seconds(CRASH_MS * pace)}, while it books the flight.`);
  const supervisor = supervise();
  try {
    await until(() => existsSync(join(store, "held")));
    const { pid } = JSON.parse(readFileSync(join(store, "held"), "utf8")) as { readonly pid: number };
    const begun = startOf(run);
    await elapse(Math.max(0, begun + CRASH_MS * pace - Date.now()));
    process.kill(pid, "SIGKILL");
    const crashedAt = Date.now();
    await until(() => shown(run).status === "completed");
    picture(run, { begun, crashedAt, pid });
  } finally {
    supervisor.kill();
    await gone(supervisor);
    rmSync(store, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Prints the steps, the checkpoints, and what a resume saves over a restart. */
function picture(run: string, of: { readonly begun: number; readonly crashedAt: number; readonly pid: number }): void {
  const { begun, crashedAt, pid } = of;
  const steps = stepsOf(run);
  const before = steps.filter(({ answered }) => answered < crashedAt);
  const booked = steps[before.length];
  for (const [index, { tool, usd, asked, answered }] of steps.entries()) {
    const took = answered < crashedAt || asked > crashedAt ? seconds(answered - asked) : "";
    const crash = took === "" ? `CRASH: kill -9 ${pid} after ${seconds(crashedAt - begun)}` : took;
    console.log(`step ${index + 1}: ${tool.padEnd(17)} $${usd.toFixed(2)}   ${crash}`);
  }
  const last = before.length;
  console.log("");
  console.log(` ${steps.map((_, at) => `step ${at + 1}`.padEnd(9)).join("")}`.trimEnd());
  console.log(`   ${steps.map((_, at) => (at < last ? "●" : at === last ? "✗" : "○")).join("────────")}`);
  console.log(
    `  ${steps.map((_, at) => (at < last ? `[c${at + 1}]` : at === last ? "crash" : "").padEnd(9)).join("")}`.trimEnd(),
  );
  console.log(`run ${run}, last_good = c${last} (version ${before.at(-1)?.version ?? 0})\n`);

  const { status, spent } = shown(run);
  const [lostUsd, lostMs] = [sum(before, ({ usd }) => usd), sum(before, ({ asked, answered }) => answered - asked)];
  const { airline } = countsOf(services);
  console.log(`Resume: ${booked?.tool} is sent again with the key ${booked?.key}.`);
  console.log(`        The airline got ${airline.requests} requests and has ${airline.bookings} booking.`);
  console.log(`        ${status}, $${spent.usd.toFixed(2)} in all.`);
  console.log(`Restart: it would repeat c1 to c${last}: $${(spent.usd + lostUsd).toFixed(2)} in all.`);
  console.log(`Saved: $${lostUsd.toFixed(2)} and ${seconds(lostMs)}.`);
  if (status !== "completed" || airline.bookings !== 1) process.exitCode = 1;
}

/** The events of the timeline that the story needs. */
interface Told {
  readonly kind: string;
  readonly at: number;
  readonly version: number;
  readonly call?: string;
  readonly key?: string;
  readonly debit?: { readonly microUsd?: number };
  readonly parts?: readonly { readonly kind: string; readonly tool?: string }[];
}

const timeline = (run: string): readonly Told[] =>
  cairn("timeline", run, "--json")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Told);

const startOf = (run: string): number => timeline(run).find(({ kind }) => kind === "RunStarted")?.at ?? 0;

/** The steps in order. Each is one reply of the model with one call. */
function stepsOf(run: string): readonly Step[] {
  const events = timeline(run);
  return STEPS.map((tool, index): Step => {
    const call = `c${index + 1}`;
    const reply = events.findIndex(({ parts = [] }) => parts.some((part) => part.tool === tool));
    // The debit of a reply follows its reply.
    const paid = events.slice(reply).find(({ debit }) => debit?.microUsd !== undefined);
    const result = events.find((event) => event.kind === "ToolResultRecorded" && event.call === call);
    const intent = events.find((event) => event.kind === "ToolIntended" && event.call === call);
    const asked = events[reply]?.at;
    if (asked === undefined || result === undefined) throw new Error(`the timeline does not show ${tool}`);
    const usd = (paid?.debit?.microUsd ?? 0) / 1e6;
    return { tool, usd, asked, answered: result.at, version: result.version, key: intent?.key ?? null };
  });
}

const shown = (run: string) =>
  JSON.parse(cairn("show", run, "--json")) as { readonly status: string; readonly spent: { readonly usd: number } };

const cairn = (...words: readonly string[]): string =>
  execFileSync(process.execPath, [CLI, ...words, "--store", store], { cwd: ROOT, encoding: "utf8", env });

/** A supervisor whose process pauses when the airline has booked, until it is killed. */
const supervise = (): ChildProcess =>
  spawn(process.execPath, [CLI, "work", "--store", store, "--json"], {
    cwd: ROOT,
    env: { ...env, CAIRN_HOLD: `after:effect:${CRASHES}` },
    stdio: ["ignore", "ignore", "inherit"],
  });

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!holds()) {
    if (performance.now() > end) throw new Error("the story took too long");
    await elapse(50);
  }
}

const gone = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once("exit", () => resolve());
  });

const sum = (steps: readonly Step[], of: (step: Step) => number): number =>
  steps.reduce((total, step) => total + of(step), 0);

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

await story();
