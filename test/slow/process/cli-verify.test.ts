/** `cairn verify` as people and programs use it: a run that is whole, one that is damaged, and one that is not there. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import {
  askCairn,
  LONG_TIMEOUTS,
  type CliFolder,
  runCairn,
  spawnCairn,
  createCliFolder,
  stepsInput,
  waitForOutput,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

/** Takes the oldest snapshot away that is not before that version, and gives its key. */
function loseSnapshot({ store }: CliFolder, version = 0): string {
  const file = new DatabaseSync(join(store, "cairn.sqlite"));
  const keys = file.prepare("SELECT key FROM objects WHERE key LIKE '%/snapshots/%' ORDER BY putAt, key").all();
  const found = keys.find(({ key }) => Number(/snapshots\/(\d+)-/.exec(String(key))?.[1]) >= version);
  const key = String(found?.["key"]);
  file.prepare("DELETE FROM objects WHERE key = ?").run(key);
  file.close();
  return key;
}

/** Runs to the end what parks for an approval in between: the park leaves a snapshot. */
async function endAfterApproval(at: CliFolder, start: readonly string[]): Promise<void> {
  const { run } = JSON.parse((await runCairn(at, [...start, "--json"])).out) as { run: string };
  const worker = spawnCairn(at, ["work"]);
  await waitUntil(async () => expect((await askCairn(at, ["show", run])).out).toContain("approve"));
  expect((await askCairn(at, ["approve", run])).exit).toBe(0);
  await waitUntil(async () => expect((await askCairn(at, ["show", run])).out).toMatch(/completed|failed/));
  worker.child.kill("SIGTERM");
  await worker.ended;
}

it("reports whether everything is as it was written, and exits with 1 when it is not", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const words = ["start", "clerk", "--input", stepsInput("note", "note"), "--wait", "--json"];
  const { run } = JSON.parse((await runCairn(at, words)).out) as { run: string };
  const [whole, counted, unknown] = await Promise.all([
    askCairn(at, ["verify", run.slice(0, 12)]),
    askCairn(at, ["verify", run, "--json"]),
    askCairn(at, ["verify", "nobody"]),
  ]);
  expect(whole).toEqual({ exit: 0, out: expect.stringContaining(`${run}  clerk\nchecked `), err: "" });
  expect(whole.out).toMatch(/\nverified: .*\n$/);
  expect(counted.exit).toBe(0);
  expect(JSON.parse(counted.out)).toMatchObject({ run, agent: "clerk", snapshots: 2, sealed: 0, findings: [] });
  expect({ exit: unknown.exit, err: unknown.err }).toEqual({
    exit: 3,
    err: expect.stringContaining("error RunUnknown"),
  });

  const key = loseSnapshot(at);
  const [damaged, told] = await Promise.all([askCairn(at, ["verify", run]), askCairn(at, ["verify", run, "--json"])]);
  expect(damaged.exit).toBe(1);
  expect(damaged.out).toMatch(
    /\n1 finding:\n✖ snapshot 0: snapshot runs\/local\/.* is missing\nwhat to do: the newest state is intact.*\n$/,
  );
  expect(told.exit).toBe(1);
  const findings = [{ where: "snapshot 0", what: `snapshot ${key} is missing` }];
  expect(JSON.parse(told.out)).toMatchObject({ run, findings });
});

it("verifies what processes with a key sealed, and no process without the key continues the run", async () => {
  const key = { CAIRN_SEAL_KEY: "0f".repeat(32) };
  const at = createCliFolder({ ...LONG_TIMEOUTS, ...key });
  const words = ["start", "clerk", "--input", stepsInput("note", "mail", "pay"), "--json"];
  const { run } = JSON.parse((await runCairn(at, words)).out) as { run: string };
  const worker = spawnCairn(at, ["work"]);
  await waitUntil(async () => expect((await askCairn(at, ["show", run])).out).toContain("approve"));
  worker.child.kill("SIGTERM");
  await worker.ended;
  expect((await askCairn(at, ["verify", run])).out).toMatch(
    /\nsealed: all of it was written with key [0-9a-f]{12}\nverified: /,
  );
  const other = { ...at, env: { ...at.env, CAIRN_SEAL_KEY: undefined } };
  expect((await askCairn(other, ["verify", run])).out).toMatch(
    /\nsealed, not judged: .* cannot say whether it is forged\n/,
  );
  expect((await askCairn(other, ["approve", run])).exit).toBe(0);
  const without = spawnCairn(other, ["work"]);
  await waitForOutput(without, "SealKeyMissing");
  expect((await askCairn(at, ["show", run])).out).not.toContain("completed");
});

it("waits for a run whose older history is damaged, reports that once, and exits like the run", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const words = (...steps: readonly string[]) => [
    "start",
    "clerk",
    "--input",
    stepsInput(...steps),
    "--key",
    steps.join(),
  ];
  const done = ["note", "mail", "pay"];
  await endAfterApproval(at, words(...done));
  const key = loseSnapshot(at, 1);
  const [said, told, watched] = await Promise.all([
    runCairn(at, [...words(...done), "--wait"]),
    runCairn(at, [...words(...done), "--wait", "--json"]),
    runCairn(at, ["watch", (JSON.parse((await askCairn(at, ["list", "--json"])).out) as { run: string }).run]),
  ]);
  expect({ said: said.exit, told: told.exit, watched: watched.exit }).toEqual({ said: 0, told: 0, watched: 0 });
  expect(JSON.parse(told.out)).toMatchObject({ status: "completed" });
  for (const { err } of [said, told, watched]) {
    const lines = err.split("\n").filter((line) => line.includes("older history"));
    expect(lines).toEqual([expect.stringMatching(/is damaged.*npx cairn verify local-/)]);
    expect(lines[0]).toContain(`snapshot ${key} is missing`);
  }
  // What came after the damage is shown.
  expect(said.out).toMatch(/completed/);
  // The exit code is that of the end: this one fails.
  const hopeless = ["note", "mail", "pay", "despair"];
  const other = createCliFolder(LONG_TIMEOUTS);
  await endAfterApproval(other, words(...hopeless));
  loseSnapshot(other, 1);
  const again = await runCairn(other, [...words(...hopeless), "--wait"]);
  expect({ exit: again.exit, err: again.err }).toEqual({ exit: 1, err: expect.stringContaining("older history") });
});
