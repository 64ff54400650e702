/** `cairn fork` from the command line: confirmed where effects may happen again, once per key, and driven to its end. */
import { expect, it } from "vitest";
import {
  askCairnJson,
  askCairn,
  type CliFolder,
  LONG_TIMEOUTS,
  countMails,
  createCliFolder,
  runCairn,
  runCairnJson,
  spawnCairn,
  stepsInput,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

/** A completed run that noted something, then sent a mail. */
async function completedRun(at: CliFolder): Promise<string> {
  const { run } = await runCairnJson(at, ["start", "clerk", "--input", stepsInput("note", "mail"), "--wait"]);
  return String(run);
}

/** The version with which that call succeeded. */
async function versionAfter(at: CliFolder, run: string, call: string): Promise<number> {
  const { out } = await askCairn(at, ["timeline", run, "--json"]);
  const events = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { kind: string; call?: string; version: number });
  return events.find((event) => event.kind === "ToolResultRecorded" && event.call === call)?.version ?? -1;
}

it("names the effects that a fork may repeat, forks once per key after --yes, and the fork runs to its end", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const run = await completedRun(at);
  const version = String(await versionAfter(at, run, "c1"));
  const words = ["fork", run, "--at", version, "--key", "again"];
  const asked = await runCairn(at, words);
  expect({ exit: asked.exit, err: asked.err }).toEqual({
    exit: 2,
    err: expect.stringMatching(
      /^error NotConfirmed: a fork of .+ at version \d+ does not share all effects with it\nwhy: .+mail \(c2\).*\nnext: .+ --yes$/m,
    ),
  });
  expect((await askCairnJson(at, ["list"]))["run"]).toBe(run);
  const forked = await runCairnJson(at, [...words, "--yes"]);
  expect(forked).toMatchObject({ agent: "clerk", started: true, forkedFrom: { run, version: Number(version) } });
  const again = await runCairn(at, [...words, "--yes"]);
  expect({ exit: again.exit, out: again.out }).toEqual({
    exit: 0,
    out: expect.stringContaining(`${String(forked["run"])} was already forked from ${run} at version ${version}`),
  });
  const work = spawnCairn(at, ["work"]);
  await waitUntil(async () => {
    const shown = await askCairnJson(at, ["show", String(forked["run"])]);
    expect(shown).toMatchObject({ status: "completed", result: "done: succeeded, succeeded" });
  });
  work.child.kill("SIGTERM");
  await work.ended;
  expect(countMails(at)).toBe(2);
});

it("forks without a question where both share all effects", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const run = await completedRun(at);
  const newest = await versionAfter(at, run, "c2");
  const forked = await runCairn(at, ["fork", run, "--at", String(newest)]);
  expect({ exit: forked.exit, out: forked.out }).toEqual({
    exit: 0,
    out: expect.stringContaining(`is forked from ${run} at version ${newest}`),
  });
});

it("refuses a version that the run does not have, an input that does not fit, and an unknown run", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const run = await completedRun(at);
  const missing = await runCairn(at, ["fork", run, "--at", "999"]);
  expect({ exit: missing.exit, err: missing.err }).toEqual({
    exit: 3,
    err: expect.stringMatching(
      /^error VersionUnknown: run .+ is not forked at version 999\nwhy: its newest version is \d+; forkable: /m,
    ),
  });
  const version = String(await versionAfter(at, run, "c2"));
  const misfit = await runCairn(at, ["fork", run, "--at", version, "--input", '{"steps":1}']);
  expect({ exit: misfit.exit, err: misfit.err }).toEqual({
    exit: 2,
    err: expect.stringMatching(/^error InputInvalid: .+\nwhy: .+steps/ms),
  });
  const unknown = await runCairn(at, ["fork", "local-nothing", "--at", "1"]);
  expect({ exit: unknown.exit, err: unknown.err }).toEqual({
    exit: 3,
    err: expect.stringContaining("error RunUnknown:"),
  });
});
