/** Every error says what happened, why, and what to type next; programs get the same as a document and an exit code. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { type Desk, cairn, desk, input, queued } from "../support/cli.ts";

interface Case {
  readonly name: string;
  readonly words: readonly string[];
  /** What there is before. */
  readonly given?: (at: Desk) => unknown;
  readonly exit: number;
  readonly code: string;
  /** What the error says somewhere. */
  readonly says: string | RegExp;
  readonly next: string | RegExp;
}

const write = (at: Desk, name: string, text: string): void => writeFileSync(join(at.dir, name), text);
const start = (text: string): readonly string[] => ["start", "clerk", "--input", text];
const RUN = "local-aaaaaaaaaaaaaaaaaaaaaaaaaa";

const USAGE: readonly Case[] = [
  {
    name: "an unknown command",
    words: ["lst"],
    exit: 2,
    code: "Usage",
    says: "did you mean list?",
    next: "cairn --help",
  },
  {
    name: "an unknown option",
    words: ["show", "x", "--fast"],
    exit: 2,
    code: "Usage",
    says: "--fast",
    next: "cairn show --help",
  },
  { name: "a missing argument", words: ["start"], exit: 2, code: "Usage", says: "agent", next: "cairn start --help" },
  {
    name: "a limit that is none",
    words: ["list", "--limit", "0"],
    exit: 2,
    code: "Usage",
    says: "from 1 to",
    next: "--help",
  },
  {
    name: "an unknown status",
    words: ["list", "--status", "done"],
    exit: 2,
    code: "Usage",
    says: "completed",
    next: "--help",
  },
  {
    name: "no answer",
    words: ["reconcile", "x", "c1"],
    exit: 2,
    code: "Usage",
    says: "--as",
    next: "cairn reconcile --help",
  },
  {
    name: "a result of what did not happen",
    words: ["reconcile", "x", "c1", "--as", "failed", "--result", "1"],
    ...{ exit: 2, code: "Usage", says: "--as succeeded only", next: /reconcile x c1 --as failed --store \S+$/ },
  },
  {
    name: "a beat that is too long",
    words: ["work", "--beat-seconds", "1000"],
    ...{ exit: 2, code: "Usage", says: "0.5 to 900", next: "cairn work --beat-seconds 60" },
  },
  {
    name: "input that is no JSON, with the place of the error",
    words: start('{"steps": [note]}'),
    ...{ exit: 2, code: "BadJson", says: '"o" is not expected at character 13', next: "cairn start clerk --input '{" },
  },
  {
    name: "input that ends too early, in a file",
    words: start("@task.json"),
    given: (at) => write(at, "task.json", '{\n  "steps": [\n'),
    ...{
      exit: 2,
      code: "BadJson",
      says: /task\.json is not JSON[^]*ends too early, at line 3, character 1/,
      next: "cairn",
    },
  },
  {
    name: "an input file that is not there",
    words: start("@no.json"),
    exit: 2,
    code: "InputUnreadable",
    says: "ENOENT",
    next: "@FILE",
  },
  {
    name: "input that the agent does not take, with its path",
    words: start('{"steps":["note","fly"]}'),
    ...{ exit: 2, code: "InputInvalid", says: "steps[1]", next: 'cairn start clerk --input \'{"steps":' },
  },
  {
    name: "a key that is none",
    words: [...start(input()), "--key", ""],
    exit: 2,
    code: "Usage",
    says: "it is empty",
    next: "--key",
  },
  {
    name: "a tenant that is none",
    words: [...start(input()), "--tenant", "A-B"],
    exit: 2,
    code: "Usage",
    says: "lower-case",
    next: "--tenant local",
  },
];

const AGENTS: readonly Case[] = [
  {
    name: "an unknown agent",
    words: ["start", "clark"],
    exit: 3,
    code: "AgentUnknown",
    says: "clerk",
    next: "cairn start clerk",
  },
  {
    name: "a file that is not there",
    words: ["start", "./no.ts"],
    exit: 3,
    code: "AgentFileMissing",
    says: "no.ts",
    next: "cairn start",
  },
  {
    name: "a file that throws while it is imported",
    words: ["start", "./bad.ts"],
    given: (at) => write(at, "bad.ts", '\nthrow new Error("no luck");'),
    ...{ exit: 2, code: "AgentInvalid", says: /no luck.*bad\.ts:2/, next: "cairn start ./bad.ts" },
  },
  {
    name: "a file without an agent",
    words: ["start", "./none.ts"],
    given: (at) => write(at, "none.ts", "export const x = 1;"),
    ...{ exit: 2, code: "AgentInvalid", says: "exports no agent", next: "cairn start ./none.ts" },
  },
  {
    name: "two agents in a file",
    words: ["start", "./two.ts"],
    given: (at) =>
      write(
        at,
        "two.ts",
        'import { clerk } from "./clerk.ts"; export { clerk }; export const b = { ...clerk, name: "b" };',
      ),
    ...{ exit: 3, code: "AgentUnknown", says: "exports 2 agents", next: "cairn start ./two.ts#" },
  },
  {
    name: "another file with an agent of that name",
    words: ["start", "./copy.ts"],
    given: (at) => write(at, "copy.ts", 'import { clerk } from "./clerk.ts"; export const copy = { ...clerk };'),
    ...{ exit: 4, code: "AgentClash", says: /clerk\.ts and in .*copy\.ts/, next: "cairn start clerk" },
  },
  {
    name: "a config that is wrong",
    words: ["list"],
    given: (at) => write(at, "cairn.config.ts", "export const config = { agents: [1] };"),
    ...{ exit: 2, code: "ConfigInvalid", says: "config.agents[0]", next: "cairn list" },
  },
];

const RUNS: readonly Case[] = [
  {
    name: "an unknown run",
    words: ["show", RUN],
    given: (at) => queued(at),
    exit: 3,
    code: "RunUnknown",
    says: RUN,
    next: "cairn list",
  },
  {
    name: "a name that two runs begin with",
    words: ["show", "local"],
    given: (at) => Promise.all([queued(at), queued(at, "note")]),
    ...{
      exit: 2,
      code: "RunAmbiguous",
      says: /2 runs begin with local[^]*local-\w{8}, local-\w{8}/,
      next: "cairn list",
    },
  },
  {
    name: "an unknown call",
    words: ["reconcile", "local", "c1", "--as", "failed"],
    given: (at) => queued(at),
    ...{ exit: 3, code: "CallUnknown", says: "has no call c1", next: "cairn ledger local-" },
  },
];

const STORES: readonly Case[] = [
  { name: "no store", words: ["list"], exit: 5, code: "StoreMissing", says: "no store at", next: "cairn start" },
  {
    name: "a store that is none",
    words: ["list"],
    given: (at) => {
      mkdirSync(at.store);
      writeFileSync(join(at.store, "cairn.sqlite"), "x".repeat(8_192));
    },
    ...{ exit: 5, code: "StoreInvalid", says: "is no store of cairn", next: "cairn list --store ANOTHER_DIRECTORY" },
  },
  {
    name: "a file where the directory should be",
    words: ["work"],
    given: (at) => writeFileSync(at.store, ""),
    ...{ exit: 5, code: "StoreInvalid", says: "is not a directory", next: "cairn work --store ANOTHER_DIRECTORY" },
  },
  {
    name: "a newer store",
    words: ["list"],
    given: async (at) => {
      await queued(at);
      const file = new DatabaseSync(join(at.store, "cairn.sqlite"));
      file.exec("PRAGMA user_version = 99");
      file.close();
    },
    ...{
      exit: 5,
      code: "StoreTooNew",
      says: /store format 99 .* knows format \d+ at most/,
      next: "cairn list --store",
    },
  },
];

describe.concurrent.each([
  ["usage", USAGE],
  ["agents", AGENTS],
  ["runs", RUNS],
  ["stores", STORES],
])("%s", (_, cases) => {
  it.for(cases)("$name", async ({ words, given, exit, code, says, next }, { onTestFinished }) => {
    const at = desk({}, onTestFinished);
    await given?.(at);
    const [human, program] = await Promise.all([cairn(at, words), cairn(at, [...words, "--json"])]);
    expect([human.exit, human.out]).toEqual([exit, ""]);
    expect(human.err).toMatch(says);
    expect(human.err).toMatch(new RegExp(`^error ${code}: [^]+\nwhy: [^]+\nnext: .+\n$`, "m"));
    expect(/next: (.*)\n$/.exec(human.err)?.[1]).toMatch(next);
    expect(program.exit).toBe(exit);
    const { error } = JSON.parse(program.out) as { error: Record<string, string> };
    expect(error).toMatchObject({ code, message: expect.any(String), why: expect.any(String) });
    expect(error["next"]).toMatch(/^cairn /);
  });
});

describe.concurrent("a store that cannot be written", () => {
  it("refuses a full disk", async ({ onTestFinished }) => {
    const at = desk({}, onTestFinished);
    const { exit, err } = await cairn(at, start(input("note")), { limits: "ulimit -f 8" });
    expect([exit, err]).toEqual([
      5,
      expect.stringMatching(/error StoreUnreachable: .* cannot be used\nwhy: the disk /),
    ]);
  });

  it("refuses a directory that is read-only", async ({ onTestFinished }) => {
    const at = desk({}, onTestFinished);
    chmodSync(at.dir, 0o555);
    onTestFinished(() => chmodSync(at.dir, 0o755));
    // Root may write anywhere.
    const who = process.getuid?.() === 0 ? { uid: 65_534 } : {};
    const { exit, err } = await cairn(at, start(input("note")), who);
    expect([exit, err]).toEqual([
      5,
      expect.stringMatching(/error StoreUnreachable: .* cannot be used\nwhy: it cannot be/),
    ]);
  });
});
