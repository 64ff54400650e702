/**
 * An upgrade of cairn itself, and the way back, with packed versions on one live store. The steps are those of
 * docs/upgrades.md. An error here would repeat effects of runs, or leave runs behind that no version drives.
 *
 * Until version 0.1.0 there is one version of each format. So `new` and `next` are this code under two version numbers,
 * and `old` is the last code from before the first release, which reads and writes format 1.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { UpgradeProject, type Version } from "./upgrade-project.ts";

let project: UpgradeProject;

beforeAll(() => {
  project = new UpgradeProject();
});
beforeEach(() => project.clear());
afterAll(() => project.close());

type Runs = Readonly<Record<"working" | "boss" | "gated" | "paused", string>>;

/** Runs of a version whose supervisor was killed: one worked, the others waited for a child, a human, an operator. */
async function killedRunsOf(version: Version): Promise<Runs> {
  project.install(version);
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

/** Continues these runs with the installed version to their ends. */
async function finish({ working, boss, gated, paused }: Runs): Promise<void> {
  const supervisor = project.work();
  for (const run of [working, boss]) await project.reaches(run, "completed");
  await project.reaches(gated, "waiting");
  await project.reaches(paused, "paused");
  expect(project.cairn("approve", gated)).toMatchObject({ exit: 0 });
  expect(project.cairn("resume", paused)).toMatchObject({ exit: 0 });
  for (const run of [gated, paused]) await project.reaches(run, "completed");
  for (const run of [working, boss, gated, paused]) expect(project.cairn("verify", run).exit).toBe(0);
  expect(project.letters()).toBe(3 + 3 + 1 + 3);
  await supervisor.end("SIGTERM");
}

test("a new version continues each run of a killed older one, and the older one continues their backup", async () => {
  const runs = await killedRunsOf("new");
  project.install("next");
  expect(project.cairn("--version").out).toContain(project.versionOf("next"));
  expect(project.cairn("backup", "backup")).toMatchObject({ exit: 0 });
  await finish(runs);

  const { working, gated, paused } = runs;
  const store = ["--store", "restored"];
  expect(project.cairn("restore", "backup", ...store)).toMatchObject({ exit: 0 });
  project.install("new");
  expect(project.cairn("--version").out).toContain(project.versionOf("new"));
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

describe("a store of the other format", () => {
  const task = ["--input", '{"to":"Ann"}'];
  const refusals: readonly (readonly [Version, Version, RegExp])[] = [
    ["old", "new", /^error BeforeFirstRelease: .*before its first release.*\(commit 77840092\)/s],
    ["new", "old", /^error StoreTooNew: .*store format 3/s],
  ];
  test.each(refusals)(
    "of the %s version is refused by name by the %s one, and no byte of it changes",
    async (...of) => {
      const [writer, reader, named] = of;
      const runs = await killedRunsOf(writer);
      expect(project.cairn("backup", "backup")).toMatchObject({ exit: 0 });
      const before = project.storeBytes();
      project.install(reader);
      const { gated, paused } = runs;
      const commands = [["list"], ["show", gated], ["verify", gated], ["approve", gated], ["cancel", paused], ["work"]];
      for (const words of [
        ...commands,
        ["send", gated, "Hurry!"],
        ["start", "clerk", ...task],
        ["backup", "another"],
      ]) {
        const { exit, err } = project.cairn(...words);
        expect({ words, exit, err }).toEqual({ words, exit: 5, err: expect.stringMatching(named) });
        expect({ words, storeBytes: project.storeBytes() }).toEqual({ words, storeBytes: before });
      }
      const restored = project.cairn("restore", "backup", "--store", "restored");
      expect({ exit: restored.exit, err: restored.err }).toEqual({
        exit: 4,
        err: expect.stringMatching(/BeforeFirstRelease|BackupInvalid/),
      });
      // The version that wrote it finishes its runs, as if nothing had been asked.
      project.install(writer);
      await finish(runs);
    },
  );
});
