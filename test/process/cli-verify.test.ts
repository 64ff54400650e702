/** `cairn verify` as people and programs use it: a run that is whole, one that is damaged, and one that is not there. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { type Desk, cairn, desk, input } from "../support/cli.ts";

/** Takes the first snapshot of the store away, and gives its key. */
function loseSnapshot({ store }: Desk): string {
  const file = new DatabaseSync(join(store, "cairn.sqlite"));
  const found = file.prepare("SELECT key FROM objects WHERE key LIKE '%/snapshots/00000000-%'").get();
  const key = String(found?.["key"]);
  file.prepare("DELETE FROM objects WHERE key = ?").run(key);
  file.close();
  return key;
}

it("says whether everything is as it was written, and ends with 1 where it is not", async () => {
  const at = desk({ CAIRN_BEAT_SECONDS: "10" });
  const words = ["start", "clerk", "--input", input("note", "note"), "--wait", "--json"];
  const { run } = JSON.parse((await cairn(at, words)).out) as { run: string };
  const [whole, counted, unknown] = await Promise.all([
    cairn(at, ["verify", run.slice(0, 12)]),
    cairn(at, ["verify", run, "--json"]),
    cairn(at, ["verify", "nobody"]),
  ]);
  expect(whole).toEqual({ exit: 0, out: expect.stringContaining(`${run}  clerk\nlooked at `), err: "" });
  expect(whole.out).toMatch(/\nall right: .*\n$/);
  expect(counted.exit).toBe(0);
  expect(JSON.parse(counted.out)).toMatchObject({ run, agent: "clerk", snapshots: 4, sealed: 0, findings: [] });
  expect([unknown.exit, unknown.err]).toEqual([3, expect.stringContaining("error RunUnknown")]);

  const key = loseSnapshot(at);
  const [damaged, told] = await Promise.all([cairn(at, ["verify", run]), cairn(at, ["verify", run, "--json"])]);
  expect(damaged.exit).toBe(1);
  expect(damaged.out).toMatch(
    /\n1 finding:\n✖ snapshot 0: snapshot runs\/local\/.* is missing\nwhat to do: what the run stands on is whole.*\n$/,
  );
  expect(told.exit).toBe(1);
  const findings = [{ where: "snapshot 0", what: `snapshot ${key} is missing` }];
  expect(JSON.parse(told.out)).toMatchObject({ run, findings });
});
