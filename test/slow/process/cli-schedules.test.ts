/** Schedules of a real `cairn work`: new, missed while nobody worked, and found again after a kill. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../../src/adapters/local/database.ts";
import { sqliteRunTable } from "../../../src/adapters/local/run-table.ts";
import { type Desk, type Running, cairn, cairnRunning, desk, linesOf, until, untilSaid } from "../../support/cli.ts";

const MONTH = 30 * 24 * 3_600_000;
const TURN = "schedule local clerk";

/** Its clerk is started every thirty days. */
function scheduledDesk(): Desk {
  const at = desk();
  const file = join(at.dir, "clerk.ts");
  const schedule = 'schedule: { every: "rate(30 days)", input: { steps: ["note"] } },';
  writeFileSync(file, readFileSync(file, "utf8").replace("  price: {", `  ${schedule}\n  price: {`));
  return at;
}

const firedAs = (running: Running, kind: string): Promise<void> =>
  untilSaid(running, new RegExp(`"kind":"fired".*"outcome":{"kind":"${kind}"`));

async function kill({ child, ended }: Running, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await ended;
}

async function runsOf(at: Desk): Promise<readonly Record<string, unknown>[]> {
  const { out } = await cairn(at, ["list", "--json"]);
  return out === "" ? [] : linesOf(out);
}

/** As if the last firing that anybody saw had been the one before the latest. */
async function forgetLatest(at: Desk): Promise<void> {
  const store = openStore({ dir: at.store, create: false });
  const table = sqliteRunTable(store);
  const last = JSON.parse((await table.cursorOf(TURN)) ?? "") as { readonly at: number };
  const [owner, now] = ["test", Date.now()];
  const cursor = JSON.stringify({ ...last, at: last.at - MONTH });
  expect(await table.takeTurn({ name: TURN, owner, until: now, now, cursor })).toMatchObject({ kind: "taken" });
  store.close();
}

it("counts from the first time that it is seen, makes up for what was missed once, and repeats nothing", async () => {
  const at = scheduledDesk();
  const first = cairnRunning(at, ["work", "--json"]);
  await firedAs(first, "unseen");
  await kill(first, "SIGTERM");
  expect(await runsOf(at)).toEqual([]);

  await forgetLatest(at);
  const second = cairnRunning(at, ["work", "--json"]);
  await firedAs(second, "started");
  await until(async () => expect(await runsOf(at)).toMatchObject([{ agent: "clerk", status: "completed" }]));
  await kill(second, "SIGKILL");

  const third = cairnRunning(at, ["work", "--json"]);
  await firedAs(third, "exists");
  await kill(third, "SIGTERM");
  const runs = await runsOf(at);
  expect(runs).toHaveLength(1);
  const [scheduled] = linesOf((await cairn(at, ["schedules", "--json"])).out);
  expect(scheduled).toMatchObject({
    ...{ agent: "clerk", every: "rate(30 days)", timezone: "UTC" },
    last: { run: runs[0]?.["run"], stage: "started" },
  });
  const [next] = (scheduled?.["next"] ?? []) as readonly number[];
  expect(Number(next) % MONTH).toBe(0);
  expect((await cairn(at, ["schedules"])).out).toMatch(/^clerk +rate\(30 days\) +UTC +.* started local-/m);
}, 60_000);

it("works on without the schedules of a file that cannot be loaded, and says so", async () => {
  const at = scheduledDesk();
  writeFileSync(join(at.dir, "broken.ts"), 'throw new Error("not today");\n');
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./broken.ts", "./clerk.ts"] };\n');
  const looked = await cairn(at, ["schedules"]);
  expect([looked.exit, looked.err]).toEqual([0, expect.stringContaining("not today")]);
  const work = cairnRunning(at, ["work"]);
  await untilSaid(work, /schedule of clerk: rate\(30 days\) UTC, next 20\d\d-.* \(in \d+d\)/);
  await untilSaid(work, /do not fire: .*not today/);
  await untilSaid(work, /its schedule is new/);
}, 60_000);
