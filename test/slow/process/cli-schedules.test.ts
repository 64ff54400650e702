/** Schedules of a real `cairn work`: new, missed while nobody worked, and found again after a kill. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { sqlitePorts } from "../../support/harness/ports.ts";
import {
  askCairn,
  type CliFolder,
  type CliProcess,
  runCairn,
  spawnCairn,
  createCliFolder,
  parseJsonLines,
  waitForOutput,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

const MONTH = 30 * 24 * 3_600_000;
const MUTEX_LEASE = "schedule local clerk";

/** Its clerk is started every thirty days. */
function scheduledFolder(): CliFolder {
  const at = createCliFolder();
  const file = join(at.dir, "clerk.ts");
  const schedule = 'schedule: { every: "rate(30 days)", input: { steps: ["note"] } },';
  writeFileSync(file, readFileSync(file, "utf8").replace("  price: {", `  ${schedule}\n  price: {`));
  return at;
}

const firedAs = (running: CliProcess, kind: string): Promise<void> =>
  waitForOutput(running, new RegExp(`"kind":"fired".*"outcome":{"kind":"${kind}"`));

async function kill({ child, ended }: CliProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await ended;
}

async function runsOf(at: CliFolder): Promise<readonly Record<string, unknown>[]> {
  const { out } = await askCairn(at, ["list", "--json"]);
  return out === "" ? [] : parseJsonLines(out);
}

/** As if the last firing that anybody saw had been the one before the latest. */
async function forgetLatest(at: CliFolder): Promise<void> {
  const store = openStore({ dir: at.store, create: false });
  const table = sqlitePorts(store);
  const last = JSON.parse((await table.cursorOf(MUTEX_LEASE)) ?? "") as { readonly at: number };
  const [owner, now] = ["test", Date.now()];
  const cursor = JSON.stringify({ ...last, at: last.at - MONTH });
  expect(await table.take({ name: MUTEX_LEASE, owner, until: now, now, cursor })).toMatchObject({ kind: "taken" });
  store.close();
}

it("counts from the first time that it is seen, makes up for missed firings once, and repeats nothing", async () => {
  const at = scheduledFolder();
  const first = spawnCairn(at, ["work", "--json"]);
  await firedAs(first, "unseen");
  await kill(first, "SIGTERM");
  expect(await runsOf(at)).toEqual([]);

  await forgetLatest(at);
  const second = spawnCairn(at, ["work", "--json"]);
  await firedAs(second, "started");
  await waitUntil(async () => expect(await runsOf(at)).toMatchObject([{ agent: "clerk", status: "completed" }]));
  await kill(second, "SIGKILL");

  const third = spawnCairn(at, ["work", "--json"]);
  await firedAs(third, "exists");
  await kill(third, "SIGTERM");
  const runs = await runsOf(at);
  expect(runs).toHaveLength(1);
  const [scheduled] = parseJsonLines((await runCairn(at, ["schedules", "--json"])).out);
  expect(scheduled).toMatchObject({
    ...{ agent: "clerk", every: "rate(30 days)", timezone: "UTC" },
    last: { run: runs[0]?.["run"], stage: "started" },
  });
  const [next] = (scheduled?.["next"] ?? []) as readonly number[];
  expect(Number(next) % MONTH).toBe(0);
  expect((await runCairn(at, ["schedules"])).out).toMatch(/^clerk +rate\(30 days\) +UTC +.* started local-/m);
});

it("drives runs without the schedules of a file that cannot be loaded, and says so", async () => {
  const at = scheduledFolder();
  writeFileSync(join(at.dir, "broken.ts"), 'throw new Error("not today");\n');
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./broken.ts", "./clerk.ts"] };\n');
  const looked = await runCairn(at, ["schedules"]);
  expect({ exit: looked.exit, err: looked.err }).toEqual({ exit: 0, err: expect.stringContaining("not today") });
  const work = spawnCairn(at, ["work"]);
  await waitForOutput(work, /schedule of clerk: rate\(30 days\) UTC, next 20\d\d-.* \(in [1-9]\w+\)/);
  await waitForOutput(work, /do not fire: .*not today/);
  await waitForOutput(work, /its schedule is new/);
});
