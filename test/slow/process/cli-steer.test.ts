/** Steering a run from another terminal, while somebody works on it. */
import { writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  askCairnJson,
  askCairn,
  LONG_TIMEOUTS,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
  parseJsonLines,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

async function atGate(...steps: readonly string[]) {
  const at = createCliFolder(LONG_TIMEOUTS);
  const { run } = await runCairnJson(at, ["start", "clerk", "--input", stepsInput(...steps)]);
  const name = String(run);
  const shows = (what: "phase" | "status", wanted: string): Promise<void> =>
    waitUntil(async () => expect((await askCairnJson(at, ["show", name]))[what]).toBe(wanted));
  spawnCairn(at, ["work"]);
  await shows("phase", "ExecutingTools");
  const open = (): void => writeFileSync(join(at.store, "open"), "");
  const reaches = (wanted: string): Promise<void> => shows("status", wanted);
  return { at, run: name, open, reaches };
}

it("pauses after the present beat, accepts messages meanwhile, and continues after the resume", async () => {
  const { at, run, open, reaches } = await atGate("gate", "note");
  const paused = await askCairn(at, ["pause", run]);
  expect({ exit: paused.exit, out: paused.out }).toEqual({
    exit: 0,
    out: expect.stringContaining("will pause after the current beat"),
  });
  open();
  await reaches("paused");
  const shown = await askCairn(at, ["show", run]);
  expect(shown.out).toContain(`npx cairn resume ${run}`);
  expect(shown.out).toContain(`, by ${userInfo().username}@${hostname()}`);
  const words = ["send", run, "a word from outside", "--key", "w1", "--json"];
  expect(parseJsonLines((await runCairn(at, words)).out.replaceAll("\n", ""))).toMatchObject([
    { message: "w1", delivered: true },
  ]);
  expect(parseJsonLines((await runCairn(at, words)).out.replaceAll("\n", ""))).toMatchObject([{ delivered: false }]);
  const other = await askCairn(at, ["send", run, "another word", "--key", "w1"]);
  expect({ exit: other.exit, err: other.err }).toEqual({
    exit: 4,
    err: expect.stringContaining("error MessageConflict"),
  });
  expect(await askCairnJson(at, ["show", run])).toMatchObject({ status: "paused", beats: 1 });
  expect((await askCairn(at, ["resume", run])).exit).toBe(0);
  await reaches("completed");
  const { out } = await askCairn(at, ["timeline", run]);
  expect(out.match(/says: a word from outside/g)).toHaveLength(1);
  expect(out).toMatch(/paused[^]*resumed[^]*■ completed/);
  const empty = await askCairn(at, ["send", run, " "]);
  expect({ exit: empty.exit, err: empty.err }).toEqual({ exit: 2, err: expect.stringContaining("it has no text") });
  const late = await askCairn(at, ["send", run, "too late"]);
  expect({ exit: late.exit, err: late.err }).toEqual({ exit: 4, err: expect.stringContaining("error Late") });
});

it("cancels: nothing new is started, and the run shows that", async () => {
  const { at, run, open, reaches } = await atGate("gate", "mail");
  expect((await askCairn(at, ["cancel", run, "--json"])).exit).toBe(0);
  open();
  await reaches("cancelled");
  expect(parseJsonLines((await askCairn(at, ["ledger", run, "--json"])).out).map((call) => call["tool"])).toEqual([
    "gate",
  ]);
  const again = await askCairn(at, ["cancel", run]);
  expect({ exit: again.exit, err: again.err }).toEqual({ exit: 4, err: expect.stringContaining("error Late") });
  const waited = await runCairn(at, ["watch", run]);
  expect({ exit: waited.exit, out: waited.out }).toEqual({ exit: 1, out: expect.stringContaining("■ cancelled") });
});

it("refuses too many messages, and a missing run", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const { run } = await runCairnJson(at, ["start", "clerk", "--input", stepsInput("note")]);
  const long = await askCairn(at, ["send", String(run), "x".repeat(70_000)]);
  expect({ exit: long.exit, err: long.err }).toEqual({ exit: 2, err: expect.stringContaining("error TooLarge") });
  const nobody = await askCairn(at, ["pause", "nobody"]);
  expect({ exit: nobody.exit, err: nobody.err }).toEqual({ exit: 3, err: expect.stringContaining("error RunUnknown") });
  expect(await askCairnJson(at, ["show", String(run)])).toMatchObject({ status: "queued" });
});
