/**
 * An upgrade of cairn itself, and the way back, with two packed versions on one live store. The steps are those of
 * docs/upgrades.md. An error here would repeat effects of runs, or leave runs behind that no version drives.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { UpgradeProject } from "./upgrade-project.ts";

let project: UpgradeProject;

beforeAll(() => {
  project = new UpgradeProject();
});
beforeEach(() => project.clear());
afterAll(() => project.close());

/** Runs of the old version whose supervisor was killed: one worked, the others waited for a child, a human, an operator. */
async function killedOldRuns(): Promise<Readonly<Record<"working" | "boss" | "gated" | "paused", string>>> {
  project.install("old");
  const runs = {
    working: project.start("clerk"),
    gated: project.start("payer"),
    paused: project.start("clerk"),
    boss: project.start("boss"),
  };
  project.cairn("pause", runs.paused);
  project.slow(true);
  const killed = project.work();
  await project.reaches(runs.gated, "waiting");
  await project.reaches(runs.paused, "paused");
  await project.reaches(runs.boss, "waiting");
  await project.sent(2);
  await killed.end("SIGKILL");
  project.slow(false);
  return runs;
}

test("a new version continues each run of a killed old one, and the old one continues their backup", async () => {
  const { working, boss, gated, paused } = await killedOldRuns();
  project.install("new");
  expect(project.cairn("backup", "backup")).toMatchObject({ exit: 0 });
  const upgraded = project.work();
  for (const run of [working, boss]) await project.reaches(run, "completed");
  await project.reaches(gated, "waiting");
  await project.reaches(paused, "paused");
  expect(project.cairn("approve", gated)).toMatchObject({ exit: 0 });
  expect(project.cairn("resume", paused)).toMatchObject({ exit: 0 });
  for (const run of [gated, paused]) await project.reaches(run, "completed");
  for (const run of [working, boss, gated, paused]) expect(project.cairn("verify", run).exit).toBe(0);
  expect(project.letters()).toBe(3 + 3 + 1 + 3);
  await upgraded.end("SIGTERM");

  const store = ["--store", "restored"];
  expect(project.cairn("restore", "backup", ...store)).toMatchObject({ exit: 0 });
  project.install("old");
  for (const run of [working, gated, paused]) project.cairn("resume", run, ...store);
  expect(project.cairn("approve", gated, ...store)).toMatchObject({ exit: 0 });
  // A supervisor that begins finds the restored runs at once; one that works already, within a minute.
  const back = project.work(...store);
  for (const run of [working, gated, paused]) {
    await project.reaches(run, "completed", ...store);
    expect(project.cairn("verify", run, ...store).exit).toBe(0);
  }
  await back.end("SIGTERM");
});

test("an old version leaves runs that need the new one as they are, drives the others, and gives all back", async () => {
  project.install("new");
  const [asking, killed, gated] = [project.start("asker"), project.start("asker"), project.start("payer")];
  project.slow(true);
  const before = project.work();
  for (const run of [asking, killed, gated]) await project.reaches(run, "waiting");
  expect(project.cairn("answer", killed, "c1", "--result", '{"may":true}')).toMatchObject({ exit: 0 });
  await project.sent(1);
  await before.end("SIGKILL");
  project.slow(false);

  project.install("old");
  const stored = [asking, killed].map((run) => project.stored(run));
  const rolledBack = project.work();
  expect(project.cairn("approve", gated)).toMatchObject({ exit: 0 });
  await project.reaches(gated, "completed");
  expect(project.cairn("list").out.match(/needs a newer cairn/g)).toHaveLength(2);
  for (const command of ["show", "verify", "approve"]) {
    expect(project.cairn(command, killed)).toMatchObject({ exit: 5, err: expect.stringMatching(/^error RowNewer: /) });
  }
  expect([asking, killed].map((run) => project.stored(run))).toEqual(stored);
  // A message belongs to the format. It wakes the old version, which leaves the run to the new one.
  expect(project.cairn("send", asking, "Hurry!")).toMatchObject({ exit: 0 });
  expect(project.start("clerk")).toMatch(/^local-/);
  await project.sent(2 + 3);
  await rolledBack.end("SIGTERM");

  project.install("new");
  const again = project.work();
  expect(project.cairn("answer", asking, "c1", "--result", '{"may":true}')).toMatchObject({ exit: 0 });
  for (const run of project.runs()) await project.reaches(run, "completed");
  for (const run of project.runs()) expect(project.cairn("verify", run).exit).toBe(0);
  expect(project.cairn("timeline", asking).out).toContain("Hurry!");
  expect(project.letters()).toBe(2 + 2 + 1 + 3);
  await again.end("SIGTERM");
});
