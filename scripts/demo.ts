/**
 * `npm run demo [-- --kill-at STEP]`: books a trip while processes die, with real processes and real SIGKILLs.
 *
 * First it kills the process of the beat, after the external effect and before cairn has recorded it. Then it kills the
 * supervisor. Every printed figure is read from the store and from the services' own files.
 */
import { withKernel } from "../src/features/compose.ts";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs, styleText } from "node:util";
import { countsOf } from "../agents/travel/services.ts";
import { openStore } from "../src/adapters/local/store/database.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { usd } from "../src/core/policy/spending.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import type { World } from "../src/ports/world.ts";
import { type Shown, show, timeline } from "../src/operations/views.ts";

const STEPS = ["searchFlights", "searchHotels", "compare", "bookFlight", "bookHotel", "chargeCard", "sendConfirmation"];
const INPUT = { from: "Hamburg", to: "Lisbon", date: "2027-03-14", nights: 3, traveller: "Ada" };
const DEADLINE_MS = 60_000;

const root = join(import.meta.dirname, "..");
const store = join(root, ".cairn-demo");
const cairn = join(root, "src", "cli", "main.ts");
const begun = performance.now();

async function demo(): Promise<void> {
  const step = stepOf(
    parseArgs({ options: { "kill-at": { type: "string", default: "bookFlight" } } }).values["kill-at"],
  );
  rmSync(store, { recursive: true, force: true });
  say("A travel agent books a trip in seven steps. We kill it in the middle, twice, with kill -9.");
  const { run } = JSON.parse(cli("start", "travel", "--input", JSON.stringify(INPUT), "--key", "demo", "--json")) as {
    run: string;
  };
  const opened = openStore({ dir: store, create: false });
  const world = withKernel(
    localWorld({ store: opened, limits: limitsFor(60_000), telemetry: { record: () => undefined } }),
  );
  const first = supervise({ CAIRN_HOLD: `after:effect:${step}` });
  const second: ChildProcess[] = [];
  try {
    const seen: Seen = { version: 0, tools: [] };
    const held = join(store, "held");
    await until(async () => {
      await tellNews({ world, run, seen });
      return existsSync(held);
    });
    const before = await read(world, run);
    const { pid } = JSON.parse(readFileSync(held, "utf8")) as { pid: number };
    process.kill(pid, "SIGKILL");
    kill(`kill -9 ${pid}: the process of this beat. ${step} has happened outside, and cairn has not recorded it.`);
    first.kill("SIGKILL");
    await gone(first);
    kill(`kill -9 ${first.pid}: the supervisor too. Nothing of cairn runs any more.`);
    const during = await read(world, run);
    say(
      `The store says: ${during.status}, in progress: ${during.inProgress}, last checkpoint: version ${during.version}.`,
    );
    second.push(supervise({}));
    say(`A new supervisor starts, pid ${second[0]?.pid}.`);
    await until(async () => {
      await tellNews({ world, run, seen });
      return !(await read(world, run)).inProgress;
    });
    await summary({ world, run, step, before });
  } finally {
    for (const child of [first, ...second]) if (child.exitCode === null && child.signalCode === null) child.kill();
    await Promise.all(second.map(gone));
    opened.close();
  }
}

/** Finds a step by its number (1 to 7) or its name. */
function stepOf(text: string): string {
  const step = STEPS.find((name, index) => name === text || String(index + 1) === text);
  if (step !== undefined) return step;
  console.error(`--kill-at takes a step: 1 to ${STEPS.length}, or one of ${STEPS.join(", ")}`);
  process.exit(2);
}

async function summary(of: { world: World; run: string; step: string; before: Shown }): Promise<void> {
  const { world, run, before } = of;
  const after = await read(world, run);
  const counts = countsOf(join(store, "services"));
  console.log(`\n${cli("timeline", run)}`);
  say(`${after.status}. What the services recorded, in their own files:`);
  for (const service of ["airline", "hotel", "card"] as const) {
    const { requests, bookings } = counts[service];
    console.log(`   ${service.padEnd(8)} ${requests} request${requests === 1 ? "" : "s"}, ${bookings} booking`);
  }
  const spent = after.spent.usd * 1e6;
  const saved = before.spent.usd * 1e6;
  say(`Without cairn the trip would start again: $${usd(saved)} lost + $${usd(spent)} = $${usd(saved + spent)}.`);
  console.log(styleText("bold", `   It cost $${usd(spent)}: saved $${usd(saved)} of $${usd(saved + spent)}.`));
  console.log(`\nLook around (the store is ${relative(process.cwd(), store)}):`);
  const at = `--store ${relative(process.cwd(), store)}`;
  for (const command of ["show", "timeline", "ledger"]) console.log(`   npx cairn ${command} ${run} ${at}`);
  console.log(`   npm run demo -- --kill-at ${of.step === "searchHotels" ? "chargeCard" : "searchHotels"}`);
  const ok = after.status === "completed" && [counts.airline, counts.hotel, counts.card].every((c) => c.bookings === 1);
  if (!ok) process.exitCode = 1;
}

/** The last version that was printed, and the tool of each call so far, starting with `c1`. */
interface Seen {
  version: number;
  readonly tools: string[];
}

/** Prints one line for each event committed since the last poll. */
async function tellNews(of: { world: World; run: string; seen: Seen }): Promise<void> {
  const { tools } = of.seen;
  const events = (await timeline(of.world, { run: of.run, after: of.seen.version })) ?? [];
  for (const event of events) {
    of.seen.version = event.version;
    if (event.kind === "RecoveryDecided") console.log(styleText("yellow", `${clock()} ↻ ${event.rule}: ${event.why}`));
    if (event.kind === "ToolResultRecorded") {
      console.log(`${clock()} ✓ ${tools[Number(event.call.slice(1)) - 1]} ${event.outcome}`);
    }
    if (event.kind !== "ModelCallCompleted") continue;
    const calls = event.parts.flatMap((part) => (part.kind === "call" ? [part.tool] : []));
    tools.push(...calls);
    console.log(`${clock()} · the model asks for ${calls.join(", ") || "nothing more"}`);
  }
}

function supervise(env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [cairn, "work", "--store", store, "--json"], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

const cli = (...words: string[]): string =>
  execFileSync(process.execPath, [cairn, ...words, "--store", store], { cwd: root, encoding: "utf8" });

async function read(world: World, run: string): Promise<Shown> {
  const shown = await show(world, run);
  if (shown === null) throw new Error(`run ${run} is gone`);
  return shown;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    if (performance.now() - begun > DEADLINE_MS) throw new Error("the demo took too long");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const gone = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once("exit", () => resolve());
  });

const clock = (): string => styleText("dim", `${((performance.now() - begun) / 1_000).toFixed(1).padStart(5)} s`);
const say = (line: string): void => console.log(`\n${clock()} ${styleText("bold", line)}`);
const kill = (line: string): void => console.log(`${clock()} ${styleText(["bold", "red"], `✗ ${line}`)}`);

await demo();
