/** Steering a run from another terminal, while somebody works on it. */
import { writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PATIENT, cairn, cairnRunning, desk, documentOf, input, linesOf, until } from "../../support/cli.ts";

async function atGate(...steps: readonly string[]) {
  const at = desk(PATIENT);
  const { run } = await documentOf(at, ["start", "clerk", "--input", input(...steps)]);
  const name = String(run);
  const shows = (what: "phase" | "status", wanted: string): Promise<void> =>
    until(async () => expect((await documentOf(at, ["show", name]))[what]).toBe(wanted));
  cairnRunning(at, ["work"]);
  await shows("phase", "ExecutingTools");
  const open = (): void => writeFileSync(join(at.store, "open"), "");
  const reaches = (wanted: string): Promise<void> => shows("status", wanted);
  return { at, run: name, open, reaches };
}

it("pauses after the beat under way, takes words meanwhile, and goes on when it is resumed", async () => {
  const { at, run, open, reaches } = await atGate("gate", "note");
  const paused = await cairn(at, ["pause", run]);
  expect([paused.exit, paused.out]).toEqual([0, expect.stringContaining("will pause after the current beat")]);
  open();
  await reaches("paused");
  const shown = await cairn(at, ["show", run]);
  expect(shown.out).toContain(`npx cairn resume ${run}`);
  expect(shown.out).toContain(`, by ${userInfo().username}@${hostname()}`);
  const words = ["send", run, "a word from outside", "--key", "w1", "--json"];
  expect(linesOf((await cairn(at, words)).out.replaceAll("\n", ""))).toMatchObject([
    { message: "w1", delivered: true },
  ]);
  expect(linesOf((await cairn(at, words)).out.replaceAll("\n", ""))).toMatchObject([{ delivered: false }]);
  const other = await cairn(at, ["send", run, "another word", "--key", "w1"]);
  expect([other.exit, other.err]).toEqual([4, expect.stringContaining("error MessageConflict")]);
  expect(await documentOf(at, ["show", run])).toMatchObject({ status: "paused", beats: 1 });
  expect((await cairn(at, ["resume", run])).exit).toBe(0);
  await reaches("completed");
  const { out } = await cairn(at, ["timeline", run]);
  expect(out.match(/says: a word from outside/g)).toHaveLength(1);
  expect(out).toMatch(/paused[^]*resumed[^]*■ completed/);
  const late = await cairn(at, ["send", run, "too late"]);
  expect([late.exit, late.err]).toEqual([4, expect.stringContaining("error Late")]);
});

it("cancels: nothing new is started, and the run says so", async () => {
  const { at, run, open, reaches } = await atGate("gate", "mail");
  expect((await cairn(at, ["cancel", run, "--json"])).exit).toBe(0);
  open();
  await reaches("cancelled");
  expect(linesOf((await cairn(at, ["ledger", run, "--json"])).out).map((call) => call["tool"])).toEqual(["gate"]);
  const again = await cairn(at, ["cancel", run]);
  expect([again.exit, again.err]).toEqual([4, expect.stringContaining("error Late")]);
  const waited = await cairn(at, ["watch", run]);
  expect([waited.exit, waited.out]).toEqual([1, expect.stringContaining("■ cancelled")]);
});

it("refuses words that are too many, and a run that is not there", async () => {
  const at = desk(PATIENT);
  const { run } = await documentOf(at, ["start", "clerk", "--input", input("note")]);
  const long = await cairn(at, ["send", String(run), "x".repeat(70_000)]);
  expect([long.exit, long.err]).toEqual([2, expect.stringContaining("error TooLarge")]);
  const nobody = await cairn(at, ["pause", "nobody"]);
  expect([nobody.exit, nobody.err]).toEqual([3, expect.stringContaining("error RunUnknown")]);
  expect(await documentOf(at, ["show", String(run)])).toMatchObject({ status: "queued" });
});
