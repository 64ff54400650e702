/** Every error says what happened, why, and what to type next; programs get the same as a document and an exit code. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, test } from "vitest";
import { sha256 } from "../../../src/codec/canonical.ts";
import { runId } from "../../../src/protocol/ids.ts";
import { sampled } from "../../support/gate/stride.ts";
import {
  askCairn,
  keyOfSteps,
  type CliFolder,
  runCairn,
  createCliFolder,
  stepsInput,
  startQueuedRun,
} from "../../support/processes/cli-process.ts";

/** What is typed, the exit code and code that it ends with, what the error says, and what it says to type next. */
type Case = readonly [
  name: string,
  words: readonly string[],
  ends: readonly [exit: number, code: string],
  says: string | RegExp,
  next: string | RegExp,
  before?: { readonly given?: (at: CliFolder) => unknown; readonly env?: Readonly<Record<string, string>> },
];

const ASKS = `
  import { defineAgent, scriptedModel, tool } from "cairn-run";
  import { z } from "zod";
  export const asks = defineAgent({
    name: "asks", version: "1", instructions: "", task: z.object({}), secrets: ["FIRST_TOKEN"],
    model: scriptedModel({
      name: "m",
      reply: ({ calls }) => calls.length === 0 ? { calls: [{ tool: "look", args: {} }] } : { text: String(calls[0].result) },
    }),
    tools: {
      look: tool({
        input: z.object({}),
        effect: "none",
        run: async ({ secrets }) => (await secrets.get("FIRST_TOKEN")).length + " characters",
      }),
    },
  });`;

const write = (at: CliFolder, name: string, text: string): void => writeFileSync(join(at.dir, name), text);
const start = (text: string): readonly string[] => ["start", "clerk", "--input", text];
const given = (prepare: (at: CliFolder) => unknown) => ({ given: prepare });
const RUN = "local-aaaaaaaaaaaaaaaaaaaaaaaaaa";
const USAGE = [2, "Usage"] as const;
const BAD_AGENT = [2, "AgentInvalid"] as const;
const ALIKE = 'import { clerk } from "./clerk.ts"; export { clerk }; export const b = { ...clerk, name: "b" };';
const COPY = 'import { clerk } from "./clerk.ts"; export const copy = { ...clerk };';

const COMMANDS: readonly Case[] = [
  ["an unknown command", ["lst"], USAGE, "did you mean list?", "npx cairn --help"],
  ["an unknown command of a group", ["webhooks", "lst"], USAGE, "did you mean list?", "npx cairn webhooks --help"],
  ["a command of a group without it", ["redeliver"], USAGE, "did you mean webhooks redeliver?", "npx cairn --help"],
  ["an unknown option", ["show", "x", "--fast"], USAGE, "--fast", "npx cairn show --help"],
  ["a missing argument", ["start"], USAGE, "agent", "npx cairn start --help"],
  ["a missing argument after a global option", ["--store", "s", "start"], USAGE, "agent", "npx cairn start --help"],
  ["a limit that is none", ["list", "--limit", "0"], USAGE, "from 1 to", "npx cairn list --help"],
  ["an unknown status", ["list", "--status", "done"], USAGE, "completed", "npx cairn list --help"],
  ["no answer", ["reconcile", "x", "c1"], USAGE, "--as", "npx cairn reconcile --help"],
  [
    "a result of what did not happen",
    ["reconcile", "x", "c1", "--as", "failed", "--result", "1"],
    ...([USAGE, "only --as succeeded", /reconcile x c1 --as failed --store \S+$/] as const),
  ],
  [
    "a beat that is too long",
    ["work", "--beat-seconds", "1000"],
    USAGE,
    "0.5 to 900",
    "npx cairn work --beat-seconds 60",
  ],
  ["a key that is none", [...start(stepsInput()), "--key", ""], USAGE, "it is empty", "--key order-42"],
  ["a tenant that is none", [...start(stepsInput()), "--tenant", "A-B"], USAGE, "lower-case", "--tenant local"],
];

const INPUTS: readonly Case[] = [
  [
    "input that is no JSON, with the place of the error",
    start('{"steps": [note]}'),
    ...([[2, "BadJson"], '"o" is not expected at character 13', "npx cairn start clerk --input '{"] as const),
  ],
  [
    "input that ends too early, in a file",
    start("@task.json"),
    ...([
      [2, "BadJson"],
      /task\.json is not JSON[^]*ends too early, at line 3, character 1/,
      "npx cairn start",
    ] as const),
    given((at) => write(at, "task.json", '{\n  "steps": [\n')),
  ],
  [
    "input with an integer that would be rounded",
    start('{"steps": [9007199254740993]}'),
    ...([
      [2, "NumberAltered"],
      'at "steps.0": 9007199254740993 cannot be kept',
      "npx cairn start clerk --input '{",
    ] as const),
  ],
  [
    "input that is nested deeper than is kept",
    start(`${"[".repeat(3_000)}${"]".repeat(3_000)}`),
    ...([[2, "JsonTooDeep"], "nested deeper than 100 levels", "npx cairn start clerk --input '{"] as const),
  ],
  ["an input file that is not there", start("@no.json"), [2, "InputUnreadable"], "ENOENT", "@FILE"],
  [
    "input that the agent does not take, with its path",
    start('{"steps":["note","fly"]}'),
    ...([[2, "InputInvalid"], "steps[1]", 'npx cairn start clerk --input \'{"steps":'] as const),
  ],
];

const env = (name: string, value: string) => ({ env: { [name]: value } });

const ENVIRONMENT: readonly Case[] = [
  ["unknown limits", ["work"], USAGE, "settleMs", "unset CAIRN_LIMITS", env("CAIRN_LIMITS", '{"settle":1}')],
  [
    "limits that do not fit",
    ["work"],
    USAGE,
    "tool timeout",
    "npx cairn work",
    env("CAIRN_LIMITS", '{"toolMs":60000}'),
  ],
  ["an unknown world", ["list"], USAGE, "no world mars", "unset CAIRN_WORLD", env("CAIRN_WORLD", "mars")],
  [
    "an unknown edge",
    ["work"],
    USAGE,
    "lunch is not a fault point",
    "unset CAIRN_HOLD",
    env("CAIRN_HOLD", "after:lunch"),
  ],
];

const AGENTS: readonly Case[] = [
  [
    "an unknown agent",
    ["start", "clark", "--input", "{}"],
    ...([[3, "AgentUnknown"], "clerk", "npx cairn start clerk --input '{}'"] as const),
  ],
  ["an unknown agent for chaos", ["chaos", "clark"], [3, "AgentUnknown"], "clerk", "npx cairn chaos clerk"],
  ["a file that is not there", ["start", "./no.ts"], [3, "AgentFileMissing"], "no.ts", "npx cairn start ./FILE.ts"],
  [
    "a file that throws while it is imported",
    ["start", "./bad.ts"],
    ...([BAD_AGENT, /no luck.*bad\.ts:2/, "npx cairn start ./bad.ts"] as const),
    given((at) => write(at, "bad.ts", '\nthrow new Error("no luck");')),
  ],
  [
    "a file without an agent",
    ["start", "./none.ts"],
    ...([BAD_AGENT, "exports no agent", "npx cairn start ./none.ts"] as const),
    given((at) => write(at, "none.ts", "export const x = 1;")),
  ],
  [
    "two agents in a file",
    ["start", "./two.ts"],
    ...([[3, "AgentUnknown"], "exports 2 agents", "npx cairn start ./two.ts#"] as const),
    given((at) => write(at, "two.ts", ALIKE)),
  ],
  [
    "another file with an agent of that name",
    ["start", "./copy.ts"],
    ...([[4, "AgentClash"], /clerk\.ts and in .*copy\.ts/, "npx cairn start clerk"] as const),
    given((at) => write(at, "copy.ts", COPY)),
  ],
  [
    "a config that is wrong",
    ["list"],
    ...([[2, "ConfigInvalid"], "config.agents[0]", "npx cairn list"] as const),
    given((at) => write(at, "cairn.config.ts", "export const config = { agents: [1] };")),
  ],
];

const QUEUED = runId(sha256, { tenant: "local", agent: "clerk", idempotencyKey: keyOfSteps() });
const ANSWER = ["reconcile", QUEUED, "c1", "--as", "failed"];

const RUNS: readonly Case[] = [
  ["an unknown run", ["show", RUN], [3, "RunUnknown"], RUN, "npx cairn list", given((at) => startQueuedRun(at))],
  [
    "too little of a name",
    ["show", "local"],
    [2, "RunTooShort"],
    "at least 6",
    "npx cairn list",
    given((at) => startQueuedRun(at)),
  ],
  [
    "an unknown call",
    ANSWER,
    [3, "CallUnknown"],
    "has no call c1",
    "npx cairn ledger local-",
    given((at) => startQueuedRun(at)),
  ],
];

function garbage(at: CliFolder): void {
  mkdirSync(at.store);
  writeFileSync(join(at.store, "cairn.sqlite"), "x".repeat(8_192));
}

async function newer(at: CliFolder): Promise<void> {
  await startQueuedRun(at);
  const file = new DatabaseSync(join(at.store, "cairn.sqlite"));
  file.exec("PRAGMA user_version = 99");
  file.close();
}

const INVALID = [5, "StoreInvalid"] as const;
const VERSIONS = /store format 99, .* knows formats up to \d+/;

const STORES: readonly Case[] = [
  ["no store", ["list"], [5, "StoreMissing"], "no store at", "npx cairn start AGENT"],
  ["a store that is none", ["list"], INVALID, "not a cairn store", "list --store ANOTHER_DIRECTORY", given(garbage)],
  [
    "a file where the directory should be",
    ["work"],
    ...([INVALID, "is not a directory", "npx cairn work --store ANOTHER_DIRECTORY"] as const),
    given((at) => writeFileSync(at.store, "")),
  ],
  ["a newer store", ["list"], [5, "StoreTooNew"], VERSIONS, "npx cairn list --store", given(newer)],
];

/**
 * The words for people come from the process of the test where no agent is imported. There the document does too in the gate,
 * apart from the first of a list.
 */
describe.concurrent.each([
  ["commands", COMMANDS, askCairn],
  ["inputs", INPUTS, runCairn],
  ["environment", ENVIRONMENT, askCairn],
  ["agents", AGENTS, runCairn],
  ["runs", RUNS, askCairn],
  ["stores", STORES, askCairn],
] as const)("%s", (_, cases, typed) => {
  it.for(cases)("%s", async ([name, words, [exit, code], says, next, before = {}], { onTestFinished }) => {
    const at = createCliFolder(before.env, onTestFinished);
    await before.given?.(at);
    const asked = sampled(name === cases[0]?.[0] ? runCairn : typed, runCairn);
    const [human, program] = await Promise.all([typed(at, words), asked(at, [...words, "--json"])]);
    expect({ exit: human.exit, out: human.out }).toEqual({ exit, out: "" });
    expect(human.err).toMatch(says);
    expect(human.err).toMatch(new RegExp(`^error ${code}: [^]+\nwhy: [^]+\nnext: .+\n$`, "m"));
    expect(/next: (.*)\n$/.exec(human.err)?.[1]).toMatch(next);
    expect(program.exit).toBe(exit);
    const { error } = JSON.parse(program.out) as { error: Record<string, string> };
    expect(error).toMatchObject({ code, message: expect.any(String), why: expect.any(String) });
    expect(error["next"]).toMatch(/^(npx cairn|unset) /);
  });
});

describe.concurrent("a store that cannot be written", () => {
  it("refuses a full disk", async ({ onTestFinished }) => {
    const at = createCliFolder({}, onTestFinished);
    const { exit, err } = await runCairn(at, start(stepsInput("note")), { limits: "ulimit -f 8" });
    expect({ exit, err }).toEqual({
      exit: 5,
      err: expect.stringMatching(/error StoreUnreachable: .* cannot be used\nwhy: the disk /),
    });
  });

  it("refuses a directory that is read-only", async ({ onTestFinished }) => {
    const at = createCliFolder({}, onTestFinished);
    chmodSync(at.dir, 0o555);
    onTestFinished(() => chmodSync(at.dir, 0o755));
    // Root may write anywhere.
    const who = process.getuid?.() === 0 ? { uid: 65_534 } : {};
    const { exit, err } = await runCairn(at, start(stepsInput("note")), who);
    expect({ exit, err }).toEqual({
      exit: 5,
      err: expect.stringMatching(/error StoreUnreachable: .* cannot be used\nwhy: it cannot be/),
    });
  });
});

/** Its file throws an error that nothing catches, while the command waits for it. */
const LATE = `
  setTimeout(() => { throw new Error("too late"); }, 1);
  await new Promise((resolve) => setTimeout(resolve, 60_000));`;

test.each([
  ["for people", [], (text: string) => text],
  ["for programs", ["--json"], (text: string) => (JSON.parse(text) as { error: { why: string } }).error.why],
])("an error that nothing catches is said %s, with its stack and without source", async (_, words, whyIn) => {
  const at = createCliFolder();
  write(at, "late.ts", LATE);
  const { exit, out, err } = await runCairn(at, ["start", "./late.ts", "--input", "{}", ...words]);
  expect(exit).toBe(1);
  const said = words.length > 0 ? out : err;
  expect(said).toContain("UncaughtError");
  expect(said).toContain("too late");
  expect(whyIn(said)).toMatch(
    /code of the project or of one of its packages threw it where nothing catches it:\nError: too late\n +at .*late\.ts:2:/,
  );
  expect(said).not.toContain("setTimeout(() =>");
});

test("a store that is a dangling link is said to be one", async () => {
  const at = createCliFolder();
  symlinkSync("nowhere", at.store);
  const { exit, err } = await runCairn(at, start(stepsInput("note")));
  expect(exit).toBe(5);
  expect(err).toMatch(
    /^error StoreInvalid: .*store is a link to a directory that is not there\nwhy: make it, or name another/m,
  );
});

test("a .env that begins with a mark of its encoding is read from its first name on", async () => {
  const at = createCliFolder();
  write(at, "asks.ts", ASKS);
  write(at, ".env", "\uFEFFFIRST_TOKEN=open\n");
  const { out } = await runCairn(at, ["start", "./asks.ts", "--input", "{}", "--wait", "--json"]);
  expect(out).toContain("4 characters");
});
