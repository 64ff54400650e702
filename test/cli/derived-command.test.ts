/** A command without a handler: its words and options fill the input of its operation, and each outcome has its exit. */
import { describe, expect, test } from "vitest";
import { runCommand } from "../../src/cli/program.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { HANDLERS } from "../../src/cli/handlers.ts";
import type { TypedCommand } from "../../src/cli/typed-command.ts";
import { startRun } from "../../src/operations/start.ts";
import { createServedHarness } from "../support/harness/drive.ts";
import { scriptedAgent } from "../support/harness/harness.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

const planted: readonly TypedCommand[] = [
  {
    command: "designate",
    operation: "assign",
    group: "Planted",
    help: "assign a run",
    words: "<run> <operator>",
    fills: { operator: "to" },
    flags: [],
    examples: ["designate RUN ann"],
  },
  { command: "state", operation: "snapshot", group: "Steering", help: "show", words: "<run>", flags: [AT()] },
  { command: "remember find", operation: "memory", group: "Planted", help: "find", words: "<scope>", flags: [LIMIT()] },
  ...COMMANDS.filter(({ command }) => command === "health"),
];

function AT() {
  return {
    flag: "--at <n>",
    help: "the version",
    fills: "version",
    takes: { kind: "wholeNumber", min: 0, max: 9 },
  } as const;
}

function LIMIT() {
  return { flag: "--limit <n>", help: "at most", takes: { kind: "wholeNumber", min: 1, max: 9 }, default: 3 } as const;
}

async function setUp() {
  const { dir, world } = createServedHarness();
  const agent = scriptedAgent({});
  const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: "k", by: "ada" });
  if (started.kind !== "started") throw new Error(started.kind);
  return { dir, run: started.row.run };
}

async function typed(dir: string, ...words: readonly string[]) {
  const { shell, said } = createShell({ dir, person: null }, [...words, "--store", dir]);
  return { exit: await runCommand(shell, "0", planted), ...said };
}

describe("a derived command", () => {
  test("that counts what is in the store counts it of each tenant", async () => {
    const { dir, world } = createServedHarness();
    const agent = scriptedAgent({});
    for (const tenant of ["local", "acme"]) await startRun(world, { agent, input: {}, tenant, idempotencyKey: "k" });
    const { exit, out } = await typed(dir, "health");
    expect({ exit, out: JSON.parse(out) }).toMatchObject({ exit: 0, out: { live: { queued: 2 } } });
  });

  test("performs its operation, and prints the sentence of the outcome, or its document", async () => {
    const { dir, run } = await setUp();
    const first = await typed(dir, "designate", run.slice(0, 14), "ann");
    expect(first).toMatchObject({ exit: 0, out: "It is accepted: the run will see it.\n" });
    const { exit, out } = await typed(dir, "designate", run, "bob", "--json");
    expect({ exit, out: JSON.parse(out) }).toEqual({ exit: 0, out: { to: "bob" } });
  });

  test("fills fields by the names of its words and options, and by what they say they fill", async () => {
    const { dir, run } = await setUp();
    const { exit, out } = await typed(dir, "state", run, "--at", "0");
    expect({ exit, out: JSON.parse(out) }).toMatchObject({ exit: 0, out: { version: 0 } });
    expect(JSON.parse((await typed(dir, "remember", "find", "harbour")).out)).toMatchObject({ entries: [] });
  });

  test("refuses with the code and the exit of the outcome, and an input that does not fit with usage", async () => {
    const { dir, run } = await setUp();
    const refused = await typed(dir, "state", run, "--at", "9");
    expect(refused.exit).toBe(3);
    expect(refused.err).toContain("error VersionUnknown: `cairn state` was refused");
    expect(refused.err).toContain(`why: the run has no such version\nnext: npx cairn show ${run}`);
    const gone = await typed(dir, "designate", `local-${"z".repeat(26)}`, "ann");
    expect({ exit: gone.exit, err: gone.err }).toEqual({ exit: 3, err: expect.stringContaining("error RunUnknown") });
    const unfit = await typed(dir, "designate", run, " ");
    expect({ exit: unfit.exit, err: unfit.err }).toEqual({
      exit: 2,
      err: expect.stringContaining("error Usage: to: it has no text"),
    });
  });

  test("stands below its heading, and shows its examples", async () => {
    const { dir } = await setUp();
    const { out } = await typed(dir, "--help");
    expect(out.replaceAll(/\s+/g, " ")).toMatch(/Checking: .*Planted: designate .*remember/);
    expect((await typed(dir, "designate", "--help")).out).toContain("Examples:\n  cairn designate RUN ann");
  });
});

test("each handler is that of a command of an operation", () => {
  expect(Object.keys(HANDLERS).filter((name) => !COMMANDS.some(({ command }) => command === name))).toEqual([]);
});
