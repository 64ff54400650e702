/**
 * `npm run picture [-- PART …]`: generates the examples of recovery with real processes and real SIGKILLs. It puts each
 * between its marks in docs/recovery.md.
 *
 * The parts are `chaos`, `audit`, `killed` (a trip whose process dies during a booking) and `declined` (a trip whose
 * card is declined). `--print` prints them instead. `--check` generates them again, and exits 1 if the page differs in
 * anything but times, process IDs and the machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import { parseArgs } from "node:util";
import { setBehaviour } from "../agents/travel/behaviour.ts";
import { countsOf } from "../agents/travel/services.ts";
import { partOf, withPart } from "./marks.ts";

interface Part {
  /** The command that shows it. */
  readonly says: string;
  readonly make: () => Promise<string>;
  /** The lines of it that are equal on every machine. */
  readonly facts: (text: string) => readonly string[];
}

const ROOT = join(import.meta.dirname, "..");
const PAGES: readonly string[] = ["docs/recovery.md"];
const CLI = join(ROOT, "src", "cli", "main.ts");
const DEADLINE_MS = 120_000;

const PARTS: Readonly<Record<string, Part>> = {
  chaos: {
    ...said("chaos", "travel", "--tasks", "30", "--markdown"),
    facts: (text) => rowsIn(text).filter((row) => !row.startsWith("| resume time")),
  },
  audit: { ...said("audit", "travel", "--markdown"), facts: rowsIn },
  killed: { says: "npm run picture -- killed", make: killedTrip, facts: linesTold },
  declined: { says: "npm run picture -- declined", make: declinedTrip, facts: linesTold },
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { check: { type: "boolean" }, print: { type: "boolean" } },
    allowPositionals: true,
  });
  const names = positionals.length > 0 ? positionals : Object.keys(PARTS);
  for (const name of names) {
    const part = PARTS[name];
    if (part === undefined) throw new Error(`there is no part ${name}; there are: ${Object.keys(PARTS).join(", ")}`);
    const made = await part.make();
    const { file, page } = pageWith(name);
    if (values.check === true) compare({ name, file, told: part.facts(partOf(page, name)), seen: part.facts(made) });
    else if (values.print === true) console.log(made);
    else
      writeFileSync(join(ROOT, file), withPart(page, { name, part: `${made}\n\n(\`${part.says}\`: ${machine()}.)` }));
  }
}

/** The page that contains the marks of this part. */
function pageWith(name: string): { readonly file: string; readonly page: string } {
  const pages = PAGES.map((file) => ({ file, page: readFileSync(join(ROOT, file), "utf8") }));
  const found = pages.find(({ page }) => page.includes(`<!-- ${name}:begin -->`));
  if (found === undefined) throw new Error(`no page has the marks of ${name}; pages are ${PAGES.join(" and ")}`);
  return found;
}

function compare(of: {
  readonly name: string;
  readonly file: string;
  readonly told: readonly string[];
  readonly seen: readonly string[];
}): void {
  const { name, file, told, seen } = of;
  const differs = Array.from({ length: Math.max(told.length, seen.length) }, (_, at) => at).find(
    (at) => told[at] !== seen[at],
  );
  if (differs === undefined && seen.length > 0) return;
  process.exitCode = 1;
  const at = differs ?? 0;
  console.error(
    `${file} shows another ${name}: it has ${told[at] ?? "nothing"}, this run had ${seen[at] ?? "nothing"}`,
  );
  console.error(`To replace the picture: npm run picture -- ${name}`);
}

/** A part that shows the output of a cairn command. */
function said(...words: readonly string[]): Pick<Part, "says" | "make"> {
  const make = async (): Promise<string> => (await ended(cairn(words, {}))).out.trimEnd();
  return { says: `npx cairn ${words.join(" ")}`, make };
}

/** A trip whose beat's process is killed after the airline has booked, and before cairn has received the result. */
function killedTrip(): Promise<string> {
  return trip({
    env: { CAIRN_HOLD: "after:effect:bookFlight" },
    during: async (dir) => {
      const held = join(dir, "held");
      const until = performance.now() + DEADLINE_MS;
      while (!existsSync(held)) {
        if (performance.now() > until) throw new Error("the booking was never reached");
        await elapse(20);
      }
      const { pid } = JSON.parse(readFileSync(held, "utf8")) as { readonly pid: number };
      process.kill(pid, "SIGKILL");
      return pid;
    },
    tells: /started with|beat [34] |bookFlight|took over|✔ chargeCard|■/,
  });
}

/** A trip whose card is declined: the bookings are compensated, and the run restarts. */
function declinedTrip(): Promise<string> {
  return trip({
    before: (services) => setBehaviour(services, "card", { kind: "decline" }),
    tells: /book\w+ \(c[45]\) (succeeded|is undone \{)|[✖✔] chargeCard|newest first|begins again|■/,
  });
}

interface Trip {
  readonly env?: Readonly<Record<string, string>>;
  readonly before?: (services: string) => void;
  /** Acts while the trip runs, and returns the ID of the process that it killed. */
  readonly during?: (dir: string) => Promise<number>;
  /** The lines to show. Of the others only their number is shown. */
  readonly tells: RegExp;
}

/** Runs a trip in a store of its own. Returns its timeline, and what the external services recorded. */
async function trip({ env = {}, before, during, tells }: Trip): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-picture-"));
  const services = join(dir, "services");
  const started = ["start", "travel", "--key", "picture", "--input", '{"from": "Hamburg", "to": "Lisbon"}', "--wait"];
  try {
    before?.(services);
    const child = cairn([...started, "--json", "--store", dir], {
      ...env,
      TRAVEL_PACE: "0",
      TRAVEL_SERVICES: services,
    });
    const [{ out }, killed] = await Promise.all([ended(child), during?.(dir)]);
    const { run } = JSON.parse(out) as { readonly run: string };
    const timeline = await ended(cairn(["timeline", run, "--store", dir], {}));
    const lines = shortened(timeline.out.trimEnd().split("\n"), tells);
    const takeover = lines.findIndex((line) => line.includes("took over"));
    const kill = `${" ".repeat(STAMP_COLUMNS)}✗ kill -9 ${killed}: the airline has booked, and cairn has not recorded it`;
    const told = killed === undefined ? lines : lines.toSpliced(takeover, 0, kill);
    return ["```", ...told, "", tally(services), "```"].join("\n");
  } finally {
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Keeps the lines to show, and cuts long values. */
function shortened(lines: readonly string[], tells: RegExp): readonly string[] {
  const kept: string[] = [];
  let left = 0;
  const skip = (): void => {
    if (left > 1) kept.push(`${" ".repeat(STAMP_COLUMNS)}⋮ ${left} more lines`);
    left = 0;
  };
  for (const line of lines) {
    if (tells.test(line)) {
      skip();
      kept.push(cut(line.replace(LONG_VALUE, " …")));
    } else left += 1;
  }
  skip();
  return kept;
}

/** The time, the epoch and the version of a line. */
const STAMP_COLUMNS = "   +0.0s  e1   v1   ".length;
const LONG_VALUE = / [[{].{40,}$/;
const COLUMNS = 110;

const cut = (line: string): string => (line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line);

function tally(services: string): string {
  const counts = countsOf(services);
  const told = (["airline", "hotel", "card", "mail"] as const).map((service) => {
    const { requests, bookings, cancelled = 0 } = counts[service];
    return `${service} ${requests} → ${bookings}${cancelled > 0 ? `, ${cancelled} cancelled` : ""}`;
  });
  return `requests → orders, as the services say: ${told.join("; ")}`;
}

/** The rows of a Markdown table. */
function rowsIn(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.startsWith("|"));
}

/** The lines of a timeline without times, durations and process IDs. */
function linesTold(text: string): readonly string[] {
  const [, block = ""] = /```\n([^]*?)\n```/.exec(text) ?? [];
  return block.split("\n").map((line) =>
    line
      .replace(/^ *(\+\S+|[\d:]{8}) +/, "")
      .replace(/ in \d\S+|-9 \d+/g, "")
      .trim(),
  );
}

function machine(): string {
  const cores = cpus();
  const day = new Date().toISOString().slice(0, 10);
  return `${cores.length} cores of ${cores[0]?.model.trim() ?? "an unknown kind"}, Node ${process.versions.node}, ${day}`;
}

const cairn = (words: readonly string[], env: Readonly<Record<string, string>>): ChildProcess =>
  spawn(process.execPath, [CLI, ...words], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });

async function ended(child: ChildProcess): Promise<{ readonly out: string }> {
  let [out, err] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`${child.spawnargs.slice(2).join(" ")} ended with ${code}: ${out}${err}`);
  return { out };
}

await main();
