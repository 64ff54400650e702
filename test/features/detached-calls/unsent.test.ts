/** Jobs of asynchronous models whose requests never left: they cost nothing, and no model is to blame. */
import { expect, test } from "vitest";
import type { FileContent } from "../../../src/core/file.ts";
import type { Json } from "../../../src/core/json.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { checkedFiles } from "../../../src/operations/files.ts";
import { send } from "../../../src/operations/steer.ts";
import { timeline, transcript } from "../../../src/operations/views.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { png } from "../../files/support.ts";
import { asynchronousAgent } from "../../support/agents/asynchronous-agent.ts";
import { attemptDuringOutage } from "../../support/faults/store-outages.ts";
import { recoveryRulesOf, startKeyedRun, wrapTableCall, beforeCall } from "../../support/harness/chain-steps.ts";
import { runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createChainHarness } from "../../support/harness/harness.ts";

const away = (store: string): Promise<never> =>
  Promise.reject(new StoreUnreachable(`the ${store} does not answer`, { store: `the ${store}` }));

function contents(bytes: Uint8Array): readonly FileContent[] {
  const checked = checkedFiles([{ name: "photo.png", bytes }]);
  return checked.ok ? checked.contents : expect.fail(checked.why);
}

/** A world that calls back after the commit with which a job begins, and that can lose that commit. */
function aroundBegin({ world }: Harness, of: { readonly isLost?: true; readonly after: () => void }): World {
  let isDone = false;
  return wrapTableCall(world, "commit", (call) => async (asked) => {
    if (isDone || asked.release) return call(asked);
    isDone = true;
    const outcome = of.isLost === true ? await away("table") : await call(asked);
    of.after();
    return outcome;
  });
}

interface Of {
  readonly agent: Agent;
  readonly run: string;
  readonly lostStart: string;
}
type Case = (harness: Harness, of: Of) => Promise<unknown>;

/** An attempt whose process is asked to end as soon as `drain` is aborted. */
async function attemptUntil(harness: Harness, agent: Agent, of: { world: World; drain: AbortController }) {
  const out = harness.startAttempt();
  const invocation = { deadline: harness.clock.now() + harness.world.limits.beatMs, drain: of.drain.signal };
  const result = await harness.advanceUntilSettled(runTask(runnerOf(of.world, agent))(out.task, invocation));
  out.end(result);
}

/** Sends the run a file that no other case shows, so that it is not in the cache of the process. */
const sendFile = ({ world }: Harness, run: string, name: string): Promise<unknown> =>
  send(world, { run, text: "See.", files: contents(png(name)), by: "ann", id: "m" });

const CASES: Readonly<Record<string, Case>> = {
  "its process is asked to end": async (harness, { agent }) => {
    const drain = new AbortController();
    await attemptUntil(harness, agent, { world: aroundBegin(harness, { after: () => drain.abort() }), drain });
  },
  "its process is asked to end while a file is read": async (harness, { agent, run, lostStart }) => {
    await sendFile(harness, run, `end ${lostStart}`);
    const drain = new AbortController();
    const { objects } = harness.world;
    const get: World["objects"]["get"] = (key) => {
      if (key.includes("/files/")) drain.abort();
      return objects.get(key);
    };
    await attemptUntil(harness, agent, { world: { ...harness.world, objects: { ...objects, get } }, drain });
  },
  "a file of its request cannot be read": async (harness, { agent, run, lostStart }) => {
    await sendFile(harness, run, `away ${lostStart}`);
    let isAway = false;
    const { objects, ...world } = aroundBegin(harness, { after: () => (isAway = true) });
    const get: World["objects"]["get"] = (key) => (isAway ? away("objects") : objects.get(key));
    await attemptDuringOutage(harness, agent, { ...world, objects: { ...objects, get } });
  },
  "the table does not take its begin": async (harness, { agent }) => {
    await attemptDuringOutage(harness, agent, aroundBegin(harness, { isLost: true, after: () => undefined }));
  },
};

const endsOf = async (world: World, run: string): Promise<readonly Json[]> =>
  ((await timeline(world, { run, after: 0 })) ?? []).flatMap((entry) =>
    entry.kind === "DetachedCallEnded" ? [entry.how as Json] : [],
  );

test.each(Object.keys(CASES).flatMap((name) => [[name, "find"] as const, [name, "none"] as const]))(
  "a job costs nothing and counts as no failure if %s before its request leaves, with lost starts known by %s",
  async (name, lostStart) => {
    const harness = createChainHarness();
    const { agent, model } = asynchronousAgent({ lostStart });
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    await CASES[name]?.(harness, { agent, run, lostStart });
    expect(model.started()).toEqual([]);
    await harness.runUntilIdle(agent);
    expect(harness.row(run)).toMatchObject({ status: "completed", spent: { tokensIn: 100, tokensOut: 10 } });
    expect(await endsOf(harness.world, run)).toEqual(["unsent"]);
    expect(await recoveryRulesOf(harness.world, run)).toEqual([]);
    expect(model.started()).toHaveLength(2);
  },
);

test("a text that such a job left in the inbox is read before the model is asked", async () => {
  const harness = createChainHarness();
  const { agent } = asynchronousAgent();
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  await sendFile(harness, run, "before the text");
  const drain = new AbortController();
  const world = beforeCall(
    harness.world,
    "commit",
    () => send(harness.world, { run, text: "x".repeat(40_000), by: "ann", id: "large" }),
    ({ release }) => !release,
  );
  const { objects } = world;
  const get: World["objects"]["get"] = (key) => {
    if (key.includes("/files/")) drain.abort();
    return objects.get(key);
  };
  await attemptUntil(harness, agent, { world: { ...world, objects: { ...objects, get } }, drain });
  await harness.runUntilIdle(agent);
  const sources = (await transcript(harness.world, run))?.map(({ source }) => source);
  expect(sources?.slice(0, 4)).toEqual(["task", "user:ann", "user:ann", "model:scripted:slow"]);
});
