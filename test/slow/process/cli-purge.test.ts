/** `cairn purge`: an ended run goes with everything, and whoever asks for something else is told what to type. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { rewriteText } from "../../support/runs/rewrite-text.ts";
import {
  askCairnJson,
  askCairn,
  type CliFolder,
  runCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
  startQueuedRun,
} from "../../support/processes/cli-process.ts";
import { nightTest } from "../../support/gate/stride.ts";

/** How many rows of all tables name that run. */
function traces({ store: dir }: CliFolder, run: string): number {
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

const ended = (at: CliFolder): Promise<Record<string, unknown>> =>
  runCairnJson(at, ["start", "clerk", "--input", stepsInput("note"), "--key", "k", "--wait"]);

it("removes an ended run at once without a supervisor, and says what was removed", async () => {
  const at = createCliFolder();
  const run = String((await ended(at))["run"]);
  const other = await startQueuedRun(at, "note");
  expect(traces(at, run)).toBeGreaterThan(3);
  const before = traces(at, other);
  const { exit, out } = await askCairn(at, ["purge", run.slice(0, 14), "--yes"]);
  expect({ exit, out }).toEqual({
    exit: 0,
    out: expect.stringMatching(new RegExp(`^removed ${run} {2}clerk: completed .*checkpoint`)),
  });
  expect([traces(at, run), traces(at, other)]).toEqual([0, before]);
  const again = await askCairn(at, ["purge", run, "--yes"]);
  expect({ exit: again.exit, err: again.err }).toEqual({
    exit: 3,
    err: expect.stringMatching(/error RunUnknown.*\n.*\nnext: npx cairn list/),
  });
});

const START = ["start", "clerk", "--input", stepsInput("note"), "--key", "k"];

it("keeps the key of the run: a start under it gets the end of the run, and starts nothing", async () => {
  const at = createCliFolder();
  const run = String((await ended(at))["run"]);
  const { out } = await askCairn(at, ["purge", run, "--yes"]);
  expect(out).toContain(`its idempotency key stays reserved; to free it: npx cairn purge ${run} --forget-key`);
  const again = await runCairn(at, START);
  expect({ exit: again.exit, out: again.out }).toEqual({ exit: 4, out: "" });
  expect(again.err).toMatch(
    /error Ended: this key was used before: its run \S+ completed .*, and the data of that run is removed/,
  );
  expect(again.err).toMatch(
    /why: the key is kept so that a late retry does not start the work again; it becomes free in (29|30)d, or after/,
  );
  expect(again.err).toContain("next: npx cairn start clerk --input");
  expect(again.err).toContain("--key ANOTHER_KEY");
  expect(await runCairnJson(at, START)).toMatchObject({
    error: { code: "Ended", run, status: "completed", inputDigest: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  const other = await runCairnJson(at, ["start", "clerk", "--input", stepsInput("note", "note"), "--key", "k"]);
  expect(other).toMatchObject({ error: { code: "KeyConflict", run } });
});

nightTest("keeps the key for the configured number of days", async () => {
  const at = createCliFolder();
  const config = 'export const config = { agents: ["./clerk.ts"], keyDays: 60 };\n';
  writeFileSync(join(at.dir, "cairn.config.ts"), config);
  const run = String((await ended(at))["run"]);
  expect((await askCairn(at, ["purge", run, "--yes"])).exit).toBe(0);
  const { error } = (await runCairnJson(at, START)) as { error: { keptUntil: number; endedAt: number } };
  expect(Math.round((error.keptUntil - error.endedAt) / (24 * 3_600_000))).toBe(60);
});

it("frees the key on request, with the run or long after it", async () => {
  const at = createCliFolder();
  const run = String((await ended(at))["run"]);
  const freed = await askCairnJson(at, ["purge", run, "--forget-key", "--yes"]);
  expect(freed).toMatchObject({ run, purged: true, keyForgotten: true });
  // The same start makes a run again, and it comes to its end.
  expect(await ended(at)).toMatchObject({ run, status: "completed" });
  expect((await askCairn(at, ["purge", run, "--yes"])).exit).toBe(0);
  const late = await askCairn(at, ["purge", run, "--forget-key"]);
  expect({ exit: late.exit, out: late.out }).toEqual({
    exit: 0,
    out: expect.stringMatching(
      /^freed the idempotency key of \S+ {2}clerk: completed .*, its data was removed before\nits idempotency key is free/,
    ),
  });
  expect((await askCairn(at, ["purge", run, "--forget-key"])).exit).toBe(3);
  expect(await ended(at)).toMatchObject({ run, status: "completed" });
});

nightTest("prints the same facts as JSON", async () => {
  const at = createCliFolder();
  const run = String((await ended(at))["run"]);
  expect(await askCairnJson(at, ["purge", run, "--yes"])).toEqual({
    ...{ run, agent: "clerk", status: "completed", version: expect.any(Number), purged: true, keyForgotten: false },
  });
  expect(await askCairnJson(at, ["purge", run, "--yes"])).toMatchObject({ error: { code: "RunUnknown" } });
});

it("removes nothing without confirmation when there is no terminal, and says what to type", async () => {
  const at = createCliFolder();
  const run = String((await ended(at))["run"]);
  const before = traces(at, run);
  const unasked = await runCairn(at, ["purge", run], { stdin: "yes\n" });
  expect({ exit: unasked.exit, out: unasked.out }).toEqual({ exit: 2, out: "" });
  expect(unasked.err).toMatch(/error NotConfirmed: .*\nwhy: there is no terminal .*\nnext: npx cairn purge .* --yes/);
  expect(traces(at, run)).toBe(before);
});

it("refuses a live run, and says what to type", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note");
  const before = traces(at, run);
  const live = await askCairn(at, ["purge", run]);
  expect({ exit: live.exit, err: live.err }).toEqual({
    exit: 4,
    err: expect.stringContaining(`next: npx cairn cancel ${run}`),
  });
  expect(live.err).toMatch(/error NotEnded: .*has not ended, it is queued/);
  expect((await askCairn(at, ["cancel", run])).exit).toBe(0);
  const asked = await askCairn(at, ["purge", run]);
  expect({ exit: asked.exit, err: asked.err }).toEqual({
    exit: 4,
    err: expect.stringContaining("next: npx cairn work"),
  });
  expect(traces(at, run)).toBe(before);
});

/** The clerk as an agent whose runs are kept for a week, and archived. */
function archivist(): CliFolder {
  const at = createCliFolder();
  const file = join(at.dir, "clerk.ts");
  const kept = 'version: "1",\n  retention: { hotDays: 7, archive: "warm" },';
  writeFileSync(file, readFileSync(file, "utf8").replace('version: "1",', kept));
  return at;
}

nightTest(
  "shows the key of a run's archive, refuses to remove it while it may still be stored, and can keep it",
  async () => {
    const at = archivist();
    const run = String((await ended(at))["run"]);
    const { archive, keptUntil } = await askCairnJson(at, ["show", run]);
    expect(archive).toEqual({
      tier: "warm",
      key: expect.stringMatching(`^archive/warm/local/${run}/[a-z2-7]{10}.jsonl.gz$`),
    });
    expect(Number(keptUntil)).toBeGreaterThan(Date.now() + 6 * 24 * 3_600_000);
    const early = await askCairn(at, ["purge", run, "--yes"]);
    expect({ exit: early.exit, err: early.err }).toEqual({
      exit: 4,
      err: expect.stringContaining(`next: npx cairn purge ${run} --keep-archive --yes`),
    });
    expect(early.err).toMatch(/error TooEarly: the archive of run .* cannot be removed yet/);
    const { exit, out } = await askCairn(at, ["purge", run, "--keep-archive", "--yes"]);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("; its archive is kept, if it has one\n") });
    const store = openStore({ dir: at.store, create: false });
    const keys = store.rows.prepare("SELECT key FROM objects").all();
    store.close();
    expect(keys).toEqual([{ key: (archive as { key: string }).key }]);
  },
);

it("removes the archive with its run as soon as no process can store it any more", async () => {
  const at = archivist();
  const run = String((await ended(at))["run"]);
  const store = openStore({ dir: at.store, create: false });
  const hourMs = 3_600_000;
  // As if it had ended an hour ago.
  rewriteText(store, run, ({ statusSince, expiresAtSec, ...row }) => ({
    ...row,
    statusSince: Number(statusSince) - hourMs,
    expiresAtSec: Number(expiresAtSec) - hourMs / 1_000,
  }));
  store.close();
  const { exit } = await askCairn(at, ["purge", run, "--yes"]);
  expect({ exit, traces: traces(at, run) }).toEqual({ exit: 0, traces: 0 });
});
