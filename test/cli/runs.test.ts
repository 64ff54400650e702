/** Which run a command means, and that a person confirms what cannot be taken back. */
import { describe, expect, test } from "vitest";
import type { Shell } from "../../src/cli/shell.ts";
import { createLocalHarness, beginRun, attemptBeat, drive, runnerOf } from "../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal } from "../support/harness/harness.ts";
import { startRun } from "../../src/operations/start.ts";
import { runCli, runCliAt } from "../support/processes/cli-in-process.ts";

async function store(runs: readonly ("queued" | "ended")[]) {
  const { dir, world } = createLocalHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(1) });
  const ids: string[] = [];
  for (const each of runs) {
    const payload = await beginRun(world, agent, {});
    if (each === "ended") expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
    ids.push(payload.run);
  }
  const read = (run: string) => world.table.read(run, world.clock.now());
  return { dir, read, runs: ids, run: ids[0] ?? "" };
}

const COMMANDS: readonly (readonly [string, ...string[]])[] = [
  ["cancel"],
  ["cancel", "--compensate"],
  ["restart", "--yes"],
  ["purge", "--yes"],
  ["pause"],
  ["resume"],
  ["show"],
  ["timeline"],
  ["verify"],
  ["export"],
];

describe("a prefix of a run ID", () => {
  test.each(COMMANDS.map((words) => [words.join(" "), words] as const))(
    "%s: is refused when it has fewer than six characters after the tenant, and nothing changes",
    async (_, [command, ...options]) => {
      const { dir, run, read } = await store([command === "purge" ? "ended" : "queued"]);
      const before = await read(run);
      const [, name = ""] = run.split("-");
      for (const text of ["", "-", "local-", "LOCAL-", "local", name.slice(0, 5), run.slice(0, 11)]) {
        const said = await runCli(dir, command, text, ...options);
        expect({ text, exit: said.exit, out: said.out }).toEqual({ text, exit: 2, out: "" });
        expect(said.err).toMatch(/error RunTooShort: .*\nwhy: type at least 6 characters .*\nnext: npx cairn list/);
      }
      expect(await read(run)).toEqual(before);
    },
  );

  test("is accepted with six characters, with or without its tenant, and so is the whole ID", async () => {
    const { dir, run } = await store(["ended", "ended"]);
    for (const text of [run.slice(0, 12), run.slice(6, 12), run, run.toUpperCase(), run.slice(6)]) {
      const { exit, out } = await runCli(dir, "show", text);
      expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining(run) });
    }
  });

  test("may be the key under which the run was started; two such runs are named", async () => {
    const { dir, world } = createLocalHarness();
    const under = async (name: string): Promise<string> => {
      const agent = { ...scriptedAgent({}), name };
      const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: "order-17" });
      return started.kind === "started" ? started.row.run : expect.fail(started.kind);
    };
    const run = await under("clerk");
    expect(await runCli(dir, "show", "order-17")).toMatchObject({ exit: 0, out: expect.stringContaining(run) });
    expect(await runCli(dir, "list", "--key", "order-17")).toMatchObject({
      exit: 0,
      out: expect.stringContaining("clerk"),
    });
    await under("other");
    const both = await runCli(dir, "purge", "order-17", "--yes");
    expect(both).toMatchObject({
      exit: 2,
      err: expect.stringContaining("error RunAmbiguous: 2 runs begin with order-17"),
    });
  });

  test("may be the beginning of a key for a command that reads; what changes a run takes the whole key", async () => {
    const { dir, world } = createLocalHarness();
    const agent = scriptedAgent({});
    const under = async (idempotencyKey: string): Promise<string> => {
      const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey });
      return started.kind === "started" ? started.row.run : expect.fail(started.kind);
    };
    const run = await under("order-17");
    const typed = async (...words: readonly string[]) => {
      const { exit, out, err } = await runCli(dir, ...words);
      return exit === 0 ? out : `${exit} ${err}`;
    };
    expect(await typed("show", "order-1")).toContain(run);
    expect(await typed("show", "order")).toMatch(/^2 error RunTooShort: .*\nwhy: .* begins so: local-\w+ \[order-17\]/);
    expect(await typed("cancel", "order-1")).toMatch(
      /^3 error RunUnknown: .*\nwhy: .*begins so: local-\w+ \[order-17\]/,
    );
    expect(await typed("show", "order-9")).toMatch(
      /^3 error RunUnknown: .*\nwhy: .*no run was started under this key;/,
    );
    await under("order-nr-18");
    expect(await typed("pause", "order-nr-")).toMatch(
      /^3 error RunUnknown: .*\nwhy: .*begins so: local-\w+ \[order-nr-18\];/,
    );
    expect(await typed("show", "order-")).toMatch(
      /^2 error RunAmbiguous: 2 runs .*\nwhy: type more characters of one of them: .*\[order-(17|nr-18)\], .*\[order-(17|nr-18)\]/,
    );
    const exact = await under("order-1");
    expect(await typed("show", "order-1")).toContain(exact);
    const keyed = (await runCli(dir, "list", "--key", "order-1", "--json")).out.trim().split("\n");
    expect(keyed.map((line) => (JSON.parse(line) as { startKey: string }).startKey).toSorted()).toEqual([
      "order-1",
      "order-17",
    ]);
  });

  test("that matches nothing, and an unknown ID, name no run", async () => {
    const { dir } = await store(["queued"]);
    for (const text of ["zzzzzz", `local-${"z".repeat(26)}`, "other-zzzzzz"]) {
      const { exit, err } = await runCli(dir, "show", text);
      expect({ exit, err }).toEqual({
        exit: 3,
        err: expect.stringContaining(`error RunUnknown: there is no run ${text}`),
      });
    }
  });
});

test("an effect without an undo stays if its run is cancelled, and may happen twice if it is restarted", async () => {
  const { dir, world } = createLocalHarness();
  const agent = scriptedAgent({ effect: "keyed", reply: callsThenFinal(2) });
  const payload = await beginRun(world, agent, {});
  const runner = runnerOf(world, agent);
  for (let beat = 0; beat < 2; beat += 1) await attemptBeat(runner, payload);
  const restart = await runCli(dir, "restart", payload.run);
  expect(restart.err).toContain("these have no undo, and they may be done twice: act (c1)");
  const cancel = await runCli(dir, "cancel", payload.run, "--compensate");
  expect(cancel.out).toContain("these have no undo, and they stay as they are: act (c1)");
});

describe("purge", () => {
  const person = (answer: string) => {
    const questions: string[] = [];
    const ask: Shell["ask"] = async (question) => {
      questions.push(question);
      return answer;
    };
    return { questions, ask };
  };

  test.each(["yes", " YES\n"])("removes the run when the person at the terminal answers %j", async (answer) => {
    const { dir, run, read } = await store(["ended"]);
    const { questions, ask } = person(answer);
    const { exit, out } = await runCliAt({ dir, person: ask }, "purge", run);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining(`removed ${run}`) });
    expect(questions).toEqual([expect.stringMatching(new RegExp(`^remove ${run} .*completed.*type yes: $`))]);
    expect(await read(run)).toBeNull();
  });

  test.each(["", "y", "no", "yes please"])("removes nothing when the person answers %j", async (answer) => {
    const { dir, run, read } = await store(["ended"]);
    const { exit, err } = await runCliAt({ dir, person: person(answer).ask }, "purge", run);
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining("error NotConfirmed: nothing was removed") });
    expect(await read(run)).not.toBeNull();
  });

  test("removes nothing without a terminal and without --yes, and says what to type", async () => {
    const { dir, run, read } = await store(["ended"]);
    const { exit, err } = await runCli(dir, "purge", run);
    expect({ exit, err }).toEqual({
      exit: 2,
      err: expect.stringMatching(`error NotConfirmed: .*${run}.*\nwhy: .*\nnext: npx cairn purge ${run}.* --yes`),
    });
    const document = JSON.parse((await runCli(dir, "purge", run, "--json")).out) as object;
    expect(document).toMatchObject({ error: { code: "NotConfirmed", run, next: expect.stringContaining("--yes") } });
    expect(await read(run)).not.toBeNull();
  });

  test("asks nothing with --yes, and nothing about a run that has not ended", async () => {
    const { dir, runs, read } = await store(["ended", "queued"]);
    const [ended = "", queued = ""] = runs;
    const { questions, ask } = person("yes");
    expect((await runCliAt({ dir, person: ask }, "purge", ended, "--yes")).exit).toBe(0);
    const { exit, err } = await runCliAt({ dir, person: ask }, "purge", queued);
    expect({ exit, err }).toEqual({ exit: 4, err: expect.stringContaining("error NotEnded") });
    expect(questions).toEqual([]);
    expect({ ended: await read(ended), queued: (await read(queued))?.status }).toEqual({
      ended: null,
      queued: "queued",
    });
  });
});
