/** What people type and what they are told: numbers, times, JSON with its errors, names of runs and agents. */
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/adapters/local/clock.ts";
import { AgentInvalid } from "../../src/ports/agent-invalid.ts";
import { StoreSupervised, WorkersUnbootable } from "../../src/ports/supervision.ts";
import { ConfigInvalid } from "../../src/sdk/config.ts";
import { StoreForeign, StoreInvalid } from "../../src/ports/store-errors.ts";
import { withKernel } from "../../src/features/compose.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import { agentNamed, isFileName } from "../../src/compose/catalogue.ts";
import { nearest } from "../../src/sdk/nearest.ts";
import { UserError } from "../../src/compose/user-error.ts";
import { errorDocument, renderError } from "../../src/cli/errors.ts";
import { asUserError } from "../../src/cli/thrown-errors.ts";
import { holdsIn } from "../../src/testing/pause-at-fault-point.ts";
import { wrongJson } from "../../src/cli/input.ts";
import { plain } from "../../src/render/paint.ts";
import { resolveRun } from "../../src/cli/commands/runs.ts";
import type { Shell } from "../../src/cli/shell.ts";
import {
  commandLine,
  duration,
  grouped,
  relative,
  retyped,
  short,
  shortRun,
  shortValue,
  timeOfDay,
  visible,
} from "../../src/render/words.ts";
import { OTHER_SCHEMAS } from "../../src/protocol/foreign.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import { AT, BORN, SHA } from "../support/states/states-and-events.ts";

describe("formatted text", () => {
  it.each([
    ["\u001b[31mred\u001b[0m\r\n", "\\u001b[31mred\\u001b[0m\\u000d\\u000a"],
    ["\u009b2J \u202eevil\u2066", "\\u009b2J \\u202eevil\\u2066"],
    ["a\ttab, é and 🙂", "a\ttab, é and 🙂"],
  ])("shows control characters of %j as escapes", (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it.each([
    [0, "0ms"],
    [999, "999ms"],
    [1_400, "1.4s"],
    [9_960, "10s"],
    [59_600, "1m00s"],
    [185_000, "3m05s"],
    [7_440_000, "2h04m"],
    [6 * 86_400_000, "6d"],
  ])("%i ms last %s", (ms, words) => expect(duration(ms)).toBe(words));

  it.each([
    [-400, "just now"],
    [-5_000, "5s ago"],
    [-125_000, "2m05s ago"],
    [12_000, "in 12s"],
    [4_400, "in 4s"],
  ])("%i ms from now is %s", (ms, words) => expect(relative(1e12 + ms, 1e12)).toBe(words));

  it("names the day only when it differs", () => {
    const now = new Date(2026, 4, 14, 20, 0, 0).getTime();
    expect(timeOfDay(now - 3_661_000, now)).toBe("18:58:59");
    expect(timeOfDay(now - 86_400_000, now)).toBe("2026-05-13 20:00:00");
  });

  it.each([0, 7, 12, 999, 1_000, 12_300, 123_456, 1_234_567, -999, -1_000, Number.MAX_SAFE_INTEGER])(
    "writes %i as the English locale does",
    (n) => {
      expect(grouped(n)).toBe(n.toLocaleString("en-US"));
    },
  );

  it("shortens to one line", () => {
    expect(short("a\n  b", 10)).toBe("a b");
    expect(short("abcdef", 4)).toBe("abc…");
    const blob = { kind: "blob", sha256: SHA, bytes: 20_480, head: "x".repeat(99), tail: "y" } as const;
    expect(shortValue(blob, 5)).toBe("xxxx… (20 KB in all)");
  });

  it("shortens a run ID to its unique prefix", () => {
    expect(shortRun("local-abcdefghijkl")).toBe("local-abcdefgh");
    expect(shortRun("local-abcdefghijkl", ["local-abcdefghijzz", "local-abcdefghijkl"])).toBe("local-abcdefghijk");
  });

  it("quotes characters that a shell would interpret", () => {
    expect(commandLine(["start", "./a.ts#b", "--input", `{"a":"it's"}`, ""])).toBe(
      `npx cairn start ./a.ts#b --input '{"a":"it'\\''s"}' ''`,
    );
  });

  it("repeats a command with another value", () => {
    const shell = { argv: ["start", "a", "--input", "x", "--wait"] } as unknown as Shell;
    expect(retyped(shell, "--input", "{}")).toBe("npx cairn start a --input '{}' --wait");
    expect(retyped({ ...shell, argv: ["start", "--input=x"] }, "--input", "1")).toBe("npx cairn start --input 1");
    expect(retyped(shell, "--key", "k")).toBe("npx cairn start a --input x --wait --key k");
  });
});

describe("invalid JSON", () => {
  it.each([
    ["", "it is empty"],
    ["{from:1}", '"f" is not expected at character 2'],
    ['{"a":1', "it ends too early, at character 7"],
    ['{"a": tru}', '"}" is not expected at character 10'],
    ["nope", '"o" is not expected at character 2'],
    ['{"a":1}}', '"}" is not expected at character 8'],
    ['["a",]', '"]" is not expected at character 6'],
    ['{"a":"b', "it ends too early, at character 8"],
    ['{"a":01}', '"1" is not expected at character 7'],
    ["-", "it ends too early, at character 2"],
    ['"\\u12"', '"\\"" is not expected at character 6'],
    ['{\n "a": x', '"x" is not expected at line 2, character 7'],
  ])("%j: %s", (text, why) => expect(wrongJson(text)).toBe(why));

  it.each(['{"a":[1,2.5e3,null]}', ' "x" ', "0", "true"])("%j is", (text) => expect(wrongJson(text)).toBeNull());
});

describe("agents", () => {
  it("are a file when there is a path or an extension", () => {
    expect(["./a.ts", "a.ts", "a.mjs#b", "x/y", "C:\\a"].map(isFileName)).toEqual([true, true, true, true, true]);
    expect(["travel", "literature-review"].map(isFileName)).toEqual([false, false]);
  });

  it("are suggested when the name is close", () => {
    expect(nearest("travle", ["literature-review", "travel"])).toBe("travel");
    expect(nearest("review", ["literature-review", "travel"])).toBeNull();
    expect(nearest("x", [])).toBeNull();
  });

  it("with one name are one agent, or refused", () => {
    const agent = { name: "a" } as never;
    const one = { agent, file: "/one.ts" };
    expect(agentNamed({ agents: [one, { agent, file: "/again.ts" }], broken: [] }, "a")).toBe(one);
    expect(agentNamed({ agents: [one], broken: [] }, "b")).toBeNull();
    const clash = [one, { agent: { name: "a" } as never, file: "/two.ts" }];
    expect(() => agentNamed({ agents: clash, broken: [] }, "a")).toThrow(
      "two agents are named a, in /one.ts and in /two.ts",
    );
  });
});

describe("a run", () => {
  const world = withKernel(memoryWorld({ limits: limitsFor(60_000), clock: systemClock }));
  const command = (...words: readonly string[]): string => commandLine(words);
  const find = (text: string): Promise<string> => resolveRun(world, { text, command });
  const runs = ["local-aaaaaaaabb", "local-aaaaaaaacc", "other-zzzzzzzzzz"].map((run) => run.padEnd(32, "x"));

  it("is found by any unique prefix", async () => {
    for (const run of runs) {
      const identity = { run, born: BORN, tenant: run.slice(0, 5), agent: "a", agentVersion: "1", inputDigest: SHA };
      const snapshot = { version: 0, key: "k", digest: SHA };
      const parent = null;
      await world.table.create({ ...identity, parent, snapshot, now: Date.now(), deadline: Date.now() + 1e6 });
    }
    const [one, , other] = runs;
    expect(await Promise.all([find(one ?? ""), find("local-aaaaaaaab"), find("AAAAAAAAB")])).toEqual([one, one, one]);
    expect(await find("other-zzzzzz")).toBe(other);
    await expect(find("aaaaaa")).rejects.toMatchObject({
      trouble: { code: "RunAmbiguous", why: "type more characters of one of them: local-aaaaaaaab, local-aaaaaaaac" },
    });
    for (const nobody of ["zz", "", "local-b", "third-a", "--"]) {
      await expect(find(nobody)).rejects.toBeInstanceOf(UserError);
    }
  });
});

describe("errors", () => {
  const typed = ["list", "--store", "a b", "--json"];

  it("show what happened, why, and what to type", () => {
    const full = new StoreUnreachable(
      "the store at /x cannot be used: the disk is full (SQLITE_FULL); free some space",
    );
    expect(renderError(asUserError(full, typed), plain)).toBe(
      "error StoreUnreachable: the store at /x cannot be used\n" +
        "why: the disk is full (SQLITE_FULL); free some space\n" +
        "next: npx cairn doctor --store 'a b'",
    );
    const invalid = new StoreInvalid(
      "/x/cairn.sqlite is not a cairn store: it is not a database; it was left as it is",
    );
    expect(errorDocument(asUserError(invalid, typed))).toEqual({
      error: {
        code: "StoreInvalid",
        message: "/x/cairn.sqlite is not a cairn store",
        why: "it is not a database; it was left as it is",
        next: "npx cairn list --json --store ANOTHER_DIRECTORY",
      },
    });
  });

  it("contain the fields that a program needs, and the exit code", () => {
    const { trouble } = asUserError(new StoreSupervised({ dir: "/x", pid: 42, since: AT }), ["work"]);
    expect(trouble).toEqual({
      ...{ code: "StoreSupervised", exit: 4, next: "kill 42", facts: { pid: 42, since: AT } },
      what: "the store at /x is supervised by process 42 since 2023-11-14T22:13:20Z, and only one can",
      why: "leave the work to it, or stop it first: kill 42",
    });
    const untold = asUserError(new StoreSupervised({ dir: "/x", pid: 42, since: null }), ["work"]).trouble;
    expect(untold).toMatchObject({ what: "the store at /x is supervised by process 42, and only one can" });
    expect(untold.facts).toEqual({ pid: 42 });
    expect(asUserError(new StoreUnreachable("x"), []).trouble).toMatchObject({ exit: 5, what: "x", why: "x" });
  });

  it("never suggest the failed command as it is", () => {
    const next = (error: Error, argv = typed): string => asUserError(error, argv).trouble.next;
    expect(next(new WorkersUnbootable("no worker starts"))).toBe("npx cairn doctor --store 'a b'");
    expect(next(new StoreUnreachable("x"), ["doctor"])).toBe("npx cairn doctor --help");
    expect(next(new AgentInvalid("x"), ["start", "a"])).toBe("npx cairn start a  # after you correct the agent's file");
    expect(next(new ConfigInvalid("x"), ["start", "a"])).toBe("npx cairn start a  # after you correct cairn.config.ts");
  });

  it("a store of another cairn is left: another directory is named for a file, another stage for a table", () => {
    const nextFor = (place: StoreForeign["place"]): string =>
      asUserError(new StoreForeign("x", { ...OTHER_SCHEMAS, place }), ["list"]).trouble.next;
    expect(nextFor("directory")).toBe("npx cairn list --store ANOTHER_DIRECTORY");
    expect(nextFor("deployment")).toBe("npx sst deploy --stage ANOTHER_STAGE");
  });

  it("that are internal show their stack", () => {
    const { trouble } = asUserError(new TypeError("oops"), ["list"]);
    expect(trouble).toMatchObject({ code: "Unexpected", exit: 1, what: "oops" });
    expect(trouble.why).toContain("cli/words.test.ts");
    expect(asUserError("thrown text", []).trouble.what).toBe("thrown text");
  });
});

describe("CAIRN_HOLD", () => {
  it("is one fault point, or one for each of several runs", () => {
    const effect = { when: "after", name: "effect", at: "mail" };
    const claim = { when: "before", name: "claim", at: "3" };
    expect(holdsIn("after:effect:mail")).toEqual([{ run: null, edge: effect }]);
    expect(holdsIn("r1=after:effect:mail,r2=before:claim:3")).toEqual([
      { run: "r1", edge: effect },
      { run: "r2", edge: claim },
    ]);
    expect([holdsIn(undefined), holdsIn("")]).toEqual([[], []]);
    expect(() => holdsIn("after:lunch")).toThrow("CAIRN_HOLD=after:lunch is not a fault point");
  });
});
