/** The provider of the embedded world, which puts a store and the processes that work on it together. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { localProvider } from "../../src/compose/worlds/local.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { identityOf } from "../../src/adapters/local/process-identity.ts";
import { takeSupervision } from "../../src/adapters/local/store/processes.ts";
import { NO_SEAL_KEYS } from "../../src/ports/seal-keys.ts";
import { startRun } from "../../src/operations/start.ts";
import { scriptedAgent } from "../support/harness/harness.ts";
import { NOW, temporaryStore } from "../process/fixtures/store.ts";

test("its diagnosis names the supervisor of the store while that process lives", async () => {
  const store = temporaryStore();
  const self = identityOf(process.pid);
  if (self === null) throw new Error("this process is not known");
  const places = { env: {}, cwd: store.dir };
  const configured = localProvider.configure({ ...places, options: { store: store.dir }, config: {} });
  if (configured.kind !== "configured") throw new Error(configured.trouble.what);
  const workSeen = async (): Promise<string | undefined> => {
    const { checks } = await configured.world.diagnose({
      ...{ limits: limitsFor(60_000), production: false, agents: null, isolated: [] },
      ...{ command: (...words) => words.join(" "), onLook: () => {}, onLong: () => {} },
    });
    return checks.find(({ id }) => id === "work")?.why;
  };
  takeSupervision(store, { self, now: NOW });
  expect(await workSeen()).toBe(`process ${process.pid}, 0 live runs`);
  store.rows.exec("UPDATE supervisor SET startedAt = 'before'");
  expect(await workSeen()).toBe("no process, and no run is live");
});

test("prints the alarms of a command that starts a run, such as of a title function that throws", async () => {
  const { dir } = temporaryStore();
  const configured = localProvider.configure({ ...{ env: {}, cwd: dir }, options: { store: dir }, config: {} });
  if (configured.kind !== "configured") throw new Error(configured.trouble.what);
  const opened = await configured.world.open({ create: true, limits: limitsFor(60_000), sealKeys: NO_SEAL_KEYS });
  onTestFinished(() => opened.close());
  const printed = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => printed.mockRestore());
  const title = (): never => {
    throw new Error("there is no order");
  };
  const agent = { ...scriptedAgent({}), title };
  const start = { agent, input: {}, tenant: "local", idempotencyKey: null };
  expect(await startRun(opened.world, start)).toMatchObject({ kind: "started" });
  expect(printed.mock.calls.map(([line]) => String(line))).toEqual([
    expect.stringMatching(/alarm TitleInvalid local-\w+: the title of agent .+ threw: there is no order; /),
  ]);
});

test.each([
  ["~/runs", /only a shell replaces ~/],
  ["file:///var/runs", /by its path, not by a URL/],
])("takes no folder named %s for a store", (store, why) => {
  const configured = localProvider.configure({ ...{ env: {}, cwd: "/somewhere" }, options: { store }, config: {} });
  expect(configured).toMatchObject({
    kind: "invalid",
    trouble: { code: "StoreInvalid", why: expect.stringMatching(why) },
  });
});

test("a store whose link leads back to itself is said to be one", async () => {
  const { dir } = temporaryStore();
  const store = join(dir, "loop");
  symlinkSync(store, store);
  const configured = localProvider.configure({ ...{ env: {}, cwd: dir }, options: { store }, config: {} });
  if (configured.kind !== "configured") throw new Error(configured.trouble.what);
  const opened = configured.world.open({ create: true, limits: limitsFor(60_000), sealKeys: NO_SEAL_KEYS });
  await expect(opened).rejects.toThrow(/loop is a link that leads back to itself; name another directory/);
  await expect(opened).rejects.toMatchObject({ code: "StoreInvalid" });
});
