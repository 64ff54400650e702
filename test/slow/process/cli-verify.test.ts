/** `cairn verify` as people and programs use it: a run that is whole, one that is damaged, and one that is not there. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { PATIENT, type Desk, cairn, cairnRunning, desk, input, until, untilSaid } from "../../support/cli.ts";

/** Takes the oldest snapshot away that is not before that version, and gives its key. */
function loseSnapshot({ store }: Desk, version = 0): string {
  const file = new DatabaseSync(join(store, "cairn.sqlite"));
  const keys = file.prepare("SELECT key FROM objects WHERE key LIKE '%/snapshots/%' ORDER BY putAt, key").all();
  const found = keys.find(({ key }) => Number(/snapshots\/(\d+)-/.exec(String(key))?.[1]) >= version);
  const key = String(found?.["key"]);
  file.prepare("DELETE FROM objects WHERE key = ?").run(key);
  file.close();
  return key;
}

it("says whether everything is as it was written, and ends with 1 where it is not", async () => {
  const at = desk(PATIENT);
  const words = ["start", "clerk", "--input", input("note", "note"), "--wait", "--json"];
  const { run } = JSON.parse((await cairn(at, words)).out) as { run: string };
  const [whole, counted, unknown] = await Promise.all([
    cairn(at, ["verify", run.slice(0, 12)]),
    cairn(at, ["verify", run, "--json"]),
    cairn(at, ["verify", "nobody"]),
  ]);
  expect(whole).toEqual({ exit: 0, out: expect.stringContaining(`${run}  clerk\nchecked `), err: "" });
  expect(whole.out).toMatch(/\nverified: .*\n$/);
  expect(counted.exit).toBe(0);
  expect(JSON.parse(counted.out)).toMatchObject({ run, agent: "clerk", snapshots: 4, sealed: 0, findings: [] });
  expect([unknown.exit, unknown.err]).toEqual([3, expect.stringContaining("error RunUnknown")]);

  const key = loseSnapshot(at);
  const [damaged, told] = await Promise.all([cairn(at, ["verify", run]), cairn(at, ["verify", run, "--json"])]);
  expect(damaged.exit).toBe(1);
  expect(damaged.out).toMatch(
    /\n1 finding:\n✖ snapshot 0: snapshot runs\/local\/.* is missing\nwhat to do: the newest state is intact.*\n$/,
  );
  expect(told.exit).toBe(1);
  const findings = [{ where: "snapshot 0", what: `snapshot ${key} is missing` }];
  expect(JSON.parse(told.out)).toMatchObject({ run, findings });
});

it("finds everything sealed that processes with a key wrote, and nothing goes on with it without the key", async () => {
  const key = { CAIRN_SEAL_KEY: "0f".repeat(32) };
  const at = desk({ CAIRN_BEAT_SECONDS: "10", ...key });
  const words = ["start", "clerk", "--input", input("note", "mail", "pay"), "--json"];
  const { run } = JSON.parse((await cairn(at, words)).out) as { run: string };
  const worker = cairnRunning(at, ["work"]);
  await until(async () => expect((await cairn(at, ["show", run])).out).toContain("approve"));
  worker.child.kill("SIGTERM");
  await worker.ended;
  expect((await cairn(at, ["verify", run])).out).toMatch(
    /\nsealed: all of it was written with key [0-9a-f]{12}\nverified: /,
  );
  const other = { ...at, env: { ...at.env, CAIRN_SEAL_KEY: undefined } };
  expect((await cairn(other, ["verify", run])).out).toMatch(
    /\nsealed, not judged: .* cannot say whether it is forged\n/,
  );
  expect((await cairn(other, ["approve", run])).exit).toBe(0);
  const without = cairnRunning(other, ["work"]);
  await untilSaid(without, "SealKeyMissing");
  expect((await cairn(at, ["show", run])).out).not.toContain("completed");
});

it("waits for a run whose older history is damaged, says so once, and ends as the run did", async () => {
  const at = desk(PATIENT);
  const words = (...steps: readonly string[]) => ["start", "clerk", "--input", input(...steps), "--key", steps.join()];
  const done = ["note", "note"];
  expect((await cairn(at, [...words(...done), "--wait"])).exit).toBe(0);
  const key = loseSnapshot(at, 1);
  const [said, told, watched] = await Promise.all([
    cairn(at, [...words(...done), "--wait"]),
    cairn(at, [...words(...done), "--wait", "--json"]),
    cairn(at, ["watch", (JSON.parse((await cairn(at, ["list", "--json"])).out) as { run: string }).run]),
  ]);
  expect([said.exit, told.exit, watched.exit]).toEqual([0, 0, 0]);
  expect(JSON.parse(told.out)).toMatchObject({ status: "completed" });
  for (const { err } of [said, told, watched]) {
    const lines = err.split("\n").filter((line) => line.includes("older history"));
    expect(lines).toEqual([expect.stringMatching(/is damaged.*npx cairn verify local-/)]);
    expect(lines[0]).toContain(`snapshot ${key} is missing`);
  }
  // What came after the damage is shown.
  expect(said.out).toMatch(/completed/);
  // The exit code is that of the end: this one fails.
  const hopeless = ["note", "note", "despair"];
  const other = desk(PATIENT);
  expect((await cairn(other, [...words(...hopeless), "--wait"])).exit).toBe(1);
  loseSnapshot(other, 1);
  const again = await cairn(other, [...words(...hopeless), "--wait"]);
  expect([again.exit, again.err]).toEqual([1, expect.stringContaining("older history")]);
});
