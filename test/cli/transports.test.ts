/**
 * Every operation over both transports: the store, and the API of a server over an equal store. What a command prints and
 * how it ends is the same, except for the words that say where the runs are.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { serve } from "@hono/node-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { agentToStart } from "../../src/compose/agent-to-start.ts";
import type { Caller } from "../../src/api/access/caller.ts";
import { catalogueOf } from "../../src/compose/catalogue.ts";
import { openExisting } from "../../src/compose/open.ts";
import { runCommand } from "../../src/cli/program.ts";
import { WITHOUT_ROUTE } from "../../src/cli/remote/remote.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { ROWS } from "../../src/operations/table.ts";
import { startRun } from "../../src/operations/start.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { nextFirings } from "../../src/features/schedules/firing-times.ts";
import { createLocalServer } from "../../src/server/app.ts";
import { createServedHarness, drive, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal, scriptedAgent } from "../support/harness/harness.ts";
import { createShell } from "../support/processes/cli-in-process.ts";
import { fitPrinted } from "../support/processes/printed-json.ts";

type Stage = "queued" | "ended" | "gated" | "damaged";

/** The same run in each store, since its key gives its ID. */
async function storeWith(stage: Stage) {
  const { dir, world } = createServedHarness();
  const approval = stage === "gated" ? "always" : "never";
  const agent = scriptedAgent({ approval, reply: callsThenFinal(1) });
  const run = await begun(world, agent);
  if (stage !== "queued") {
    const payload = { run: run.run, born: run.born, chain: 1, epoch: 0, agent: agent.name };
    await drive(runnerOf(world, agent), payload);
  }
  await memoryOf(world, { tenant: "local", scope: "harbour" }).put({ id: "ferry", text: "Ferries leave at nine." });
  if (stage === "damaged") damage(dir);
  return { dir, world, run: run.run };
}

async function begun(world: Parameters<typeof startRun>[0], agent: Agent) {
  const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: "same", by: "ada" });
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  return started.row;
}

/** The first snapshot of the run has other bytes. */
function damage(dir: string): void {
  const db = new DatabaseSync(join(dir, "cairn.sqlite"));
  const { changes } = db.prepare("UPDATE objects SET bytes = x'00' WHERE key LIKE 'runs/%'").run();
  db.close();
  expect(changes).toBeGreaterThan(0);
}

type Built = Awaited<ReturnType<typeof storeWith>>;

/** A server as `cairn serve` has it, whose caller is the operator unless another one is named. */
async function servedAt({ dir, world }: Built, other: Partial<Caller> = {}): Promise<string> {
  const { shell } = createShell({ dir, person: null }, []);
  const opened = await openExisting(shell, { store: dir });
  onTestFinished(() => opened.close());
  const server = createLocalServer({
    ...{ world, firingsOf: nextFirings, login: async () => null, attendant: () => opened.attendant() },
    agentOf: (name) => agentToStart(shell, opened, name),
    agents: () => catalogueOf(opened.settings),
    caller: { tenant: "local", actor: "ada", scopes: SCOPES, isOperator: true, ...other },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const listening = serve({ fetch: server.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
  onTestFinished(() => void listening.close());
  return `http://127.0.0.1:${await promise}`;
}

async function raw(dir: string, words: readonly string[]) {
  const { shell, said } = createShell({ dir, person: null }, words);
  const exit = await runCommand(shell, "0");
  if (shell.json) fitPrinted(words, said.out);
  return { exit, ...said };
}

async function typed(dir: string, words: readonly string[]) {
  const { exit, out, err } = await raw(dir, words);
  return { exit, out: neutral(out, dir), err: neutral(err, dir) };
}

/** Without the words that say where the runs are, and without how long ago something was. */
const neutral = (text: string, dir: string): string =>
  text
    .replaceAll(/ --(store|api) [^\s`]+/g, "")
    .replace("; --tenant NAME lists those of another tenant", "")
    .replaceAll(dir, "DIR")
    .replaceAll(/\d\d:\d\d:\d\d/g, "TIME")
    .replaceAll(/\bjust now\b|\b(\d+(\.\d+)?(d|h|ms|m|s))+\b( ago)?/g, "SPAN")
    .replaceAll(/ {2,}/g, "  ")
    .replaceAll(/"(at|asOf|[a-z]+At|statusSince|keptUntil|from)": ?\d{13}/gi, '"$1":0');

interface Scenario {
  readonly operation: keyof typeof ROWS;
  readonly words: readonly string[];
  readonly stage?: Stage;
  readonly exit?: number;
}

const RUN = "RUN";

const SCENARIOS: readonly Scenario[] = [
  { operation: "list", words: ["list"] },
  { operation: "list", words: ["list", "--status", "failed"] },
  { operation: "show", words: ["show", RUN] },
  { operation: "show", words: ["show", RUN], stage: "gated" },
  { operation: "show", words: ["show", `local-${"z".repeat(26)}`], exit: 3 },
  { operation: "show", words: ["show", "zzzzzz"], exit: 3 },
  { operation: "timeline", words: ["timeline", RUN] },
  { operation: "timeline", words: ["timeline", RUN], stage: "queued" },
  { operation: "timeline", words: ["watch", RUN] },
  { operation: "timeline", words: ["watch", RUN], stage: "gated", exit: 4 },
  { operation: "ledger", words: ["ledger", RUN] },
  { operation: "cost", words: ["cost", RUN] },
  { operation: "diagnose", words: ["diagnose", RUN] },
  { operation: "approvals", words: ["approvals"] },
  { operation: "approvals", words: ["approvals"], stage: "gated" },
  { operation: "agents", words: ["agents"] },
  { operation: "file", words: ["file", RUN, "letter.pdf"], exit: 3 },
  { operation: "verify", words: ["verify", RUN] },
  { operation: "verify", words: ["verify", RUN], stage: "damaged", exit: 1 },
  { operation: "snapshot", words: ["snapshot", RUN, "1"] },
  { operation: "snapshot", words: ["snapshot", RUN, "99"], exit: 3 },
  { operation: "replay", words: ["replay", RUN] },
  { operation: "replay", words: ["replay", RUN], stage: "damaged", exit: 1 },
  { operation: "replay", words: ["replay", RUN, "--at", "99"], exit: 3 },
  { operation: "export", words: ["export", RUN, "--out", "-"] },
  { operation: "auditLog", words: ["audit-log"] },
  { operation: "health", words: ["health"] },
  { operation: "webhooks", words: ["webhooks", "list"] },
  { operation: "redeliver", words: ["webhooks", "redeliver", "0123456789abcdef"], exit: 3 },
  { operation: "start", words: ["start", "letter", "--input", '{"to":"Ada"}'], exit: 2 },
  { operation: "send", words: ["send", RUN, "hello", "--key", "m1"], stage: "queued" },
  { operation: "send", words: ["send", RUN, "hello"], exit: 4 },
  { operation: "decide", words: ["approve", RUN], stage: "gated" },
  { operation: "decide", words: ["deny", RUN, "--note", "no"], stage: "gated" },
  { operation: "decide", words: ["approve", RUN], exit: 4 },
  { operation: "budget", words: ["approve", RUN, "--usd", "1"], stage: "gated", exit: 4 },
  { operation: "reconcile", words: ["reconcile", RUN, "c9", "--as", "failed"], stage: "gated", exit: 3 },
  { operation: "answer", words: ["answer", RUN, "c1", "--result", "1"], stage: "gated", exit: 4 },
  { operation: "signal", words: ["signal", RUN, "paid", "--key", "s1"], stage: "queued", exit: 4 },
  { operation: "assign", words: ["assign", RUN, "bob"], stage: "queued" },
  { operation: "assign", words: ["assign", RUN, "bob"], exit: 4 },
  { operation: "upgrade", words: ["resume", RUN, "--upgrade"], stage: "gated", exit: 4 },
  { operation: "pause", words: ["pause", RUN], stage: "queued" },
  { operation: "resume", words: ["resume", RUN], stage: "queued" },
  { operation: "resume", words: ["resume", RUN], exit: 4 },
  { operation: "cancel", words: ["cancel", RUN], stage: "queued" },
  { operation: "cancel", words: ["cancel", RUN, "--compensate"], stage: "gated" },
  { operation: "cancelAll", words: ["cancel", "--all", "--agent", "actor"], stage: "queued", exit: 2 },
  { operation: "cancelAll", words: ["cancel", "--all", "--agent", "actor", "--yes"], stage: "queued" },
  { operation: "restart", words: ["restart", RUN], stage: "gated", exit: 2 },
  { operation: "restart", words: ["restart", RUN, "--yes"], stage: "gated" },
  { operation: "fork", words: ["fork", `local-${"z".repeat(26)}`, "--at", "1"], exit: 3 },
  { operation: "redrive", words: ["redrive", RUN], exit: 4 },
  { operation: "purge", words: ["purge", RUN], exit: 2 },
  { operation: "purge", words: ["purge", RUN, "--yes"] },
  { operation: "purge", words: ["purge", RUN, "--yes"], stage: "queued", exit: 4 },
  { operation: "checked", words: ["checked", RUN] },
  { operation: "schedules", words: ["schedules"] },
  { operation: "pauseSchedule", words: ["schedules", "pause", "letter"], exit: 4 },
  { operation: "resumeSchedule", words: ["schedules", "resume", "letter"], exit: 4 },
  { operation: "runSchedule", words: ["schedules", "run", "letter"], exit: 4 },
  { operation: "memory", words: ["memory", "list", "--scope", "harbour"] },
  { operation: "memory", words: ["memory", "search", "ferries", "--scope", "harbour"] },
  { operation: "memoryEntry", words: ["memory", "show", "ferry", "--scope", "harbour"] },
  { operation: "memoryEntry", words: ["memory", "show", "train", "--scope", "harbour"], exit: 3 },
  { operation: "forgetEntry", words: ["memory", "forget", "ferry", "--scope", "harbour", "--yes"] },
  { operation: "forgetMemory", words: ["memory", "forget", "--all", "--scope", "harbour", "--yes"] },
];

const title = ({ words, stage = "ended", exit = 0 }: Scenario): string =>
  `${words.join(" ")} (${stage}) ends with ${exit}`;

describe("over the store and over HTTP", () => {
  test.each(SCENARIOS.map((each) => [title(each), each] as const))(
    "%s, and prints the same, for people and for programs",
    async (_, { operation, words, stage = "ended", exit = 0 }) => {
      const { writes } = ROWS[operation];
      let read: Built | null = null;
      for (const json of [[], ["--json"]]) {
        // What only reads has one store, whose incarnation both show.
        const one = writes ? await storeWith(stage) : (read ??= await storeWith(stage));
        const other = writes ? await storeWith(stage) : one;
        const said = words.map((word) => (word === RUN ? one.run : word));
        expect(other.run).toBe(one.run);
        const stored = await typed(one.dir, [...said, ...json, "--store", one.dir]);
        const asked = await typed(other.dir, [...said, ...json, "--api", await servedAt(other)]);
        expect(asked).toEqual(stored);
        expect(stored.exit).toBe(exit);
      }
    },
  );

  test("writes the same file of an export", async () => {
    const [one, other] = [await storeWith("ended"), await storeWith("ended")];
    await typed(one.dir, ["export", one.run, "--out", "run.jsonl", "--store", one.dir]);
    await typed(other.dir, ["export", one.run, "--out", "run.jsonl", "--api", await servedAt(one)]);
    expect(readFileSync(join(other.dir, "run.jsonl"), "utf8")).toBe(readFileSync(join(one.dir, "run.jsonl"), "utf8"));
  });

  test("names the owner of the token as who acts, not the user of this machine", async () => {
    const built = await storeWith("queued");
    const api = await servedAt(built, { actor: "access:1 grace" });
    const { out } = await raw(built.dir, ["assign", built.run, "bob", "--json", "--api", api]);
    expect(JSON.parse(out)).toEqual({ run: built.run, assigned: "bob", by: "access:1 grace" });
  });

  test("purges a damaged run that --yes confirms, with no other right than that", async () => {
    const built = await storeWith("damaged");
    const api = await servedAt(built, { scopes: ["admin"] });
    const { exit, out } = await raw(built.dir, ["purge", built.run, "--keep-archive", "--yes", "--api", api]);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining(`removed ${built.run}`) });
  });

  test("says over both that a live run which --yes confirms was cancelled before", async () => {
    const built = await storeWith("gated");
    await typed(built.dir, ["cancel", built.run, "--store", built.dir]);
    const words = ["purge", built.run, "--yes"];
    const stored = await typed(built.dir, [...words, "--store", built.dir]);
    const asked = await typed(built.dir, [...words, "--api", await servedAt(built)]);
    expect({ exit: stored.exit, err: stored.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("it was cancelled, and no process"),
    });
    expect(asked).toEqual(stored);
  });

  test("exports nothing of a damaged run, and ends with 1", async () => {
    const built = await storeWith("damaged");
    for (const where of [
      ["--store", built.dir],
      ["--api", await servedAt(built)],
    ]) {
      const { exit, err } = await raw(built.dir, ["export", built.run, "--out", "run.jsonl", ...where]);
      expect({ exit, err }).toEqual({ exit: 1, err: expect.stringContaining(`run ${built.run} cannot be exported: `) });
      expect(err).toContain(`next: npx cairn verify ${built.run} ${where.join(" ")}`);
      expect(existsSync(join(built.dir, "run.jsonl"))).toBe(false);
    }
  });

  test("suggests a command for the same place, or where the store is if it has no route", async () => {
    const damaged = await storeWith("damaged");
    const api = await servedAt(damaged);
    const replayed = await raw(damaged.dir, ["replay", damaged.run, "--api", api]);
    expect(replayed.out).toContain(`to list all damage: npx cairn verify ${damaged.run} --api ${api}`);
    const queued = await storeWith("queued");
    const { out } = await raw(queued.dir, ["timeline", queued.run, "--api", await servedAt(queued)]);
    expect(out).toBe("the run has not started yet; type `npx cairn work`\n");
  });

  test("has every operation of the table, except those that work only where the store is", () => {
    const told = new Set<string>(SCENARIOS.map(({ operation }) => operation));
    const local = Object.entries(ROWS).filter(([, { typed: commands }]) =>
      commands.every(({ command, option }) => WITHOUT_ROUTE[option === undefined ? command : `${command} ${option}`]),
    );
    expect(Object.keys(ROWS).filter((name) => !told.has(name))).toEqual(local.map(([name]) => name));
    expect(local.map(([name]) => name)).toEqual(["checkedAll", "restored", "tokenCreate", "tokenList", "tokenRevoke"]);
  });
});
