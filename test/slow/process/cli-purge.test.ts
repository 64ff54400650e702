/** `cairn purge`: an ended run goes with everything, and whoever asks for something else is told what to type. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../../src/adapters/local/database.ts";
import { type Desk, cairn, desk, documentOf, input, queued } from "../../support/cli.ts";

/** How many rows of all tables name that run. */
function traces({ store: dir }: Desk, run: string): number {
  const store = openStore({ dir, create: false });
  // The tombstone of its key is no trace of the run itself.
  const tables = [...["runs.run", "inbox.run", "seen.run", "removed.run"], ...["objects.key", "executions.name"]];
  const counts = tables.map((each) => {
    const [table, column] = each.split(".");
    const select = `SELECT count(*) AS n FROM ${table} WHERE ${column} LIKE ?`;
    return Number(store.rows.prepare(select).get(`%${run}%`)?.["n"]);
  });
  store.close();
  return counts.reduce((sum, n) => sum + n, 0);
}

const ended = (at: Desk): Promise<Record<string, unknown>> =>
  documentOf(at, ["start", "clerk", "--input", input("note"), "--key", "k", "--wait"]);

it("removes an ended run at once, without anybody at work, and says what went", async () => {
  const at = desk();
  const run = String((await ended(at))["run"]);
  const other = await queued(at, "note");
  expect(traces(at, run)).toBeGreaterThan(3);
  const before = traces(at, other);
  const { exit, out } = await cairn(at, ["purge", run.slice(0, 14), "--yes"]);
  expect([exit, out]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^removed ${run} {2}clerk: completed .*checkpoint`)),
  ]);
  expect([traces(at, run), traces(at, other)]).toEqual([0, before]);
  const again = await cairn(at, ["purge", run, "--yes"]);
  expect([again.exit, again.err]).toEqual([3, expect.stringMatching(/error RunUnknown.*\n.*\nnext: npx cairn list/)]);
});

const START = ["start", "clerk", "--input", input("note"), "--key", "k"];

it("keeps the key of the run: a start under it is told how the work ended, and starts nothing", async () => {
  const at = desk();
  const run = String((await ended(at))["run"]);
  const { out } = await cairn(at, ["purge", run, "--yes"]);
  expect(out).toContain(`its idempotency key stays reserved; to free it: npx cairn purge ${run} --forget-key`);
  const again = await cairn(at, START);
  expect([again.exit, again.out]).toEqual([4, ""]);
  expect(again.err).toMatch(
    /error Ended: this key was used before: its run \S+ completed .*, and the data of that run is removed/,
  );
  expect(again.err).toMatch(
    /why: the key is kept so that a late retry does not start the work again; it becomes free in (29|30)d, or after/,
  );
  expect(again.err).toContain("next: npx cairn start clerk --input");
  expect(again.err).toContain("--key ANOTHER_KEY");
  expect(await documentOf(at, START)).toMatchObject({
    error: { code: "Ended", run, status: "completed", inputDigest: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  const other = await documentOf(at, ["start", "clerk", "--input", input("note", "note"), "--key", "k"]);
  expect(other).toMatchObject({ error: { code: "KeyConflict", run } });
});

it("keeps the key for as many days as the config says", async () => {
  const at = desk();
  const config = 'export const config = { agents: ["./clerk.ts"], keyDays: 60 };\n';
  writeFileSync(join(at.dir, "cairn.config.ts"), config);
  const run = String((await ended(at))["run"]);
  expect((await cairn(at, ["purge", run, "--yes"])).exit).toBe(0);
  const { error } = (await documentOf(at, START)) as { error: { keptUntil: number; endedAt: number } };
  expect(Math.round((error.keptUntil - error.endedAt) / (24 * 3_600_000))).toBe(60);
});

it("frees the key where that is wanted, with the run or long after it", async () => {
  const at = desk();
  const run = String((await ended(at))["run"]);
  const freed = await documentOf(at, ["purge", run, "--forget-key", "--yes"]);
  expect(freed).toMatchObject({ run, purged: true, keyForgotten: true });
  // The same start makes a run again, and it comes to its end.
  expect(await ended(at)).toMatchObject({ run, status: "completed" });
  expect((await cairn(at, ["purge", run, "--yes"])).exit).toBe(0);
  const late = await cairn(at, ["purge", run, "--forget-key"]);
  expect([late.exit, late.out]).toEqual([
    0,
    expect.stringMatching(
      /^freed the idempotency key of \S+ {2}clerk: completed .*, its data was removed before\nits idempotency key is free/,
    ),
  ]);
  expect((await cairn(at, ["purge", run, "--forget-key"])).exit).toBe(3);
  expect(await ended(at)).toMatchObject({ run, status: "completed" });
});

it("says the same to programs", async () => {
  const at = desk();
  const run = String((await ended(at))["run"]);
  expect(await documentOf(at, ["purge", run, "--yes"])).toEqual({
    ...{ run, agent: "clerk", status: "completed", version: expect.any(Number), purged: true, keyForgotten: false },
  });
  expect(await documentOf(at, ["purge", run, "--yes"])).toMatchObject({ error: { code: "RunUnknown" } });
});

it("removes nothing unasked where there is no terminal, and says what to type", async () => {
  const at = desk();
  const run = String((await ended(at))["run"]);
  const before = traces(at, run);
  const unasked = await cairn(at, ["purge", run], { stdin: "yes\n" });
  expect([unasked.exit, unasked.out]).toEqual([2, ""]);
  expect(unasked.err).toMatch(/error NotConfirmed: .*\nwhy: there is no terminal .*\nnext: npx cairn purge .* --yes/);
  expect(traces(at, run)).toBe(before);
});

it("refuses a run that goes on, and says what to type", async () => {
  const at = desk();
  const run = await queued(at, "note");
  const before = traces(at, run);
  const live = await cairn(at, ["purge", run]);
  expect([live.exit, live.err]).toEqual([4, expect.stringContaining(`next: npx cairn cancel ${run}`)]);
  expect(live.err).toMatch(/error NotEnded: .*has not ended, it is queued/);
  expect((await cairn(at, ["cancel", run])).exit).toBe(0);
  const asked = await cairn(at, ["purge", run]);
  expect([asked.exit, asked.err]).toEqual([4, expect.stringContaining("next: npx cairn work")]);
  expect(traces(at, run)).toBe(before);
});

/** The clerk as an agent whose runs are kept for a week, and archived. */
function archivist(): Desk {
  const at = desk();
  const file = join(at.dir, "clerk.ts");
  const kept = 'version: "1",\n  retention: { hotDays: 7, archive: "warm" },';
  writeFileSync(file, readFileSync(file, "utf8").replace('version: "1",', kept));
  return at;
}

it("says where the archive of a run lies, refuses to remove it while it may still be put, and can leave it", async () => {
  const at = archivist();
  const run = String((await ended(at))["run"]);
  const { archive, keptUntil } = await documentOf(at, ["show", run]);
  expect(archive).toEqual({
    tier: "warm",
    key: expect.stringMatching(`^archive/warm/local/${run}/[a-z2-7]{10}.jsonl.gz$`),
  });
  expect(Number(keptUntil)).toBeGreaterThan(Date.now() + 6 * 24 * 3_600_000);
  const early = await cairn(at, ["purge", run, "--yes"]);
  expect([early.exit, early.err]).toEqual([
    4,
    expect.stringContaining(`next: npx cairn purge ${run} --keep-archive --yes`),
  ]);
  expect(early.err).toMatch(/error TooEarly: the archive of run .* cannot be removed yet/);
  const { exit, out } = await cairn(at, ["purge", run, "--keep-archive", "--yes"]);
  expect([exit, out]).toEqual([0, expect.stringContaining("; its archive is kept, if it has one\n")]);
  const store = openStore({ dir: at.store, create: false });
  const keys = store.rows.prepare("SELECT key FROM objects").all();
  store.close();
  expect(keys).toEqual([{ key: (archive as { key: string }).key }]);
});

it("removes the archive with its run as soon as nobody can put it any more", async () => {
  const at = archivist();
  const run = String((await ended(at))["run"]);
  const store = openStore({ dir: at.store, create: false });
  const hourMs = 3_600_000;
  const { since, expires } = store.rows
    .prepare("SELECT statusSince AS since, expiresAtSec AS expires FROM runs WHERE run = ?")
    .get(run) as { since: number; expires: number };
  // As if it had ended an hour ago.
  const row = "json_remove(json_set(row, '$.statusSince', ?, '$.expiresAtSec', ?), '$.sum')";
  store.rows.prepare(`UPDATE runs SET row = ${row} WHERE run = ?`).run(since - hourMs, expires - hourMs / 1_000, run);
  store.close();
  const { exit } = await cairn(at, ["purge", run, "--yes"]);
  expect([exit, traces(at, run)]).toEqual([0, 0]);
});
