/** Files of a run: an object is there before anything names it, whoever dies, and nothing removes it too early. */
import { expect, test } from "vitest";
import { sha256 } from "../../src/codec/canonical.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { fileKey } from "../../src/history/object-keys.ts";
import { toolFile } from "../../src/index.ts";
import { collectOrphans } from "../../src/maintenance/orphans.ts";
import { checkedFiles } from "../../src/operations/files.ts";
import { send } from "../../src/operations/steer.ts";
import { show } from "../../src/operations/views.ts";
import type { World } from "../../src/ports/world.ts";
import type { FileContent } from "../../src/core/file.ts";
import { png } from "../files/support.ts";
import { beforeCall, startKeyedRun } from "../support/harness/chain-steps.ts";
import { createChainHarness, neverSettles, scriptedAgent, flushPromises } from "../support/harness/harness.ts";

function contents(bytes: Uint8Array): readonly FileContent[] {
  const checked = checkedFiles([{ name: "photo.png", bytes }]);
  return checked.ok ? checked.contents : expect.fail(checked.why);
}

const PHOTO = png("photo");
const MESSAGE = { text: "look at this", files: contents(PHOTO), by: "ann", id: "m" };

const filesOf = async (world: World, run: string): Promise<readonly string[]> =>
  ((await show(world, run))?.files ?? []).map(({ file }) => file);

/** What `verify` finds wrong. */
const findingsOf = async (world: World, run: string) => (await verify(world, { run }))?.findings;

test("schedule 167: a sender dies between the put of a file and the delivery of its message; the repeated message brings the file", async () => {
  const agent = scriptedAgent({});
  const harness = createChainHarness();
  const { world } = harness;
  const row = await startKeyedRun(world, { agent, key: "k" });
  const stored: boolean[] = [];
  const dies: World = {
    ...world,
    inbox: { ...world.inbox, deliver: () => neverSettles() },
  };
  void send(dies, { ...MESSAGE, run: row.run });
  await flushPromises();
  const watched = beforeCall(world, "deliver", async () => {
    stored.push((await world.objects.get(fileKey(row, sha256(PHOTO)))) !== null);
  });
  expect(await send(watched, { ...MESSAGE, run: row.run })).toEqual({ kind: "delivered" });
  expect(await send(world, { ...MESSAGE, run: row.run })).toEqual({ kind: "duplicate" });
  const another = { ...MESSAGE, files: contents(png("another")) };
  expect(await send(world, { ...another, run: row.run })).toEqual({ kind: "conflict" });
  await harness.runUntilIdle(agent);
  expect(stored).toEqual([true]);
  expect(harness.row(row.run).status).toBe("completed");
  expect(await filesOf(world, row.run)).toEqual([sha256(PHOTO)]);
  expect(await findingsOf(world, row.run)).toEqual([]);
});

test("schedule 168: the search for orphans passes while a delivered message waits, and while a start has no row yet; no file goes", async () => {
  const agent = scriptedAgent({});
  const harness = createChainHarness();
  const { world, clock } = harness;
  const row = await startKeyedRun(world, { agent, key: "k" });
  await send(world, { ...MESSAGE, run: row.run });
  clock.moveTo(clock.now() + 2 * TIMES.orphanAgeMs);
  const slow = beforeCall(world, "create", async () => {
    for (let after: string | null = ""; after !== null;) after = await collectOrphans(world, after || null);
  });
  const other = await startKeyedRun(slow, { agent, key: "other" });
  await harness.runUntilIdle(agent);
  expect([harness.row(row.run).status, harness.row(other.run).status]).toEqual(["completed", "completed"]);
  expect(await findingsOf(world, row.run)).toEqual([]);
  expect(await world.objects.get(fileKey(row, sha256(PHOTO)))).toEqual(PHOTO);
});

test("schedule 169: a beat that lost its run puts another file of the same call; the row names the file of its own epoch", async () => {
  const shots = [png("stale"), png("fresh")];
  let taken = 0;
  const agent = scriptedAgent({
    run: () => {
      taken += 1;
      return { shot: toolFile(shots[taken - 1] ?? png(), { name: "shot.png" }) };
    },
  });
  const harness = createChainHarness();
  const { world } = harness;
  const { run } = await startKeyedRun(world, { agent, key: "k" });
  const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>();
  const stale: World = {
    ...world,
    objects: {
      ...world.objects,
      put: async (key, bytes) => {
        if (key.includes("/files/")) await thawed;
        return world.objects.put(key, bytes);
      },
    },
  };
  const out = harness.startAttempt();
  const lost = out.perform({ world: stale, agent }).catch(() => undefined);
  await flushPromises();
  out.end(null);
  await harness.runUntilIdle(agent);
  thaw();
  await lost;
  expect(taken).toBe(2);
  expect(await filesOf(world, run)).toEqual([sha256(png("fresh"))]);
  expect(await findingsOf(world, run)).toEqual([]);
  expect(await world.objects.get(fileKey(harness.row(run), sha256(png("stale"))))).toEqual(png("stale"));
});
