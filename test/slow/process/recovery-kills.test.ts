/**
 * Real processes, killed with SIGKILL in the middle of a recovery: after a gate sent the invoice back, while the event
 * gets another plan, in the later rounds of the letter, from the closing call of a trip to its last cancellation, and
 * while a hand-off is lost after its effect.
 * Whatever the moment, the run takes the same way and has the same result and effects as one that nothing happened to.
 */
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { chaos as eventChaos, event } from "../../../agents/event/agent.ts";
import { chaos as invoiceChaos, invoiceClerk } from "../../../agents/invoice/agent.ts";
import { chaos as letterChaos, letter } from "../../../agents/letter/agent.ts";
import { rememberAgentFile } from "../../../src/adapters/local/store/agent-files.ts";
import type { Json } from "../../../src/core/json.ts";
import type { State } from "../../../src/core/state.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { FaultPoint } from "../../../src/ports/fault-point.ts";
import type { World } from "../../../src/ports/world.ts";
import type { Chaos } from "../../../src/sdk/chaos.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { startRun } from "../../../src/operations/start.ts";
import { agentWithFaultPoints, worldWithFaultPoints } from "../../../src/testing/fault-points.ts";
import { assistant, chaos as handOffChaos, editor } from "../../process/fixtures/lost-hand-off.ts";
import { chaos as tripChaos, shortTrip } from "../../process/fixtures/short-trip.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { assertSafety, waitUntil } from "../../support/gate/safety.ts";
import { sampled } from "../../support/gate/stride.ts";
import { beginRun, createLocalHarness, drive, runnerOf } from "../../support/harness/drive.ts";
import {
  createProcessHarness,
  killPausedProcesses,
  startSupervisorProcess,
} from "../../support/processes/supervisor-process.ts";

interface Recovery {
  readonly agent: Agent;
  readonly chaos: Chaos;
  /** The agents of its child runs. They are in the same file. */
  readonly others?: readonly Agent[];
  /** The file of the agents, if the configuration does not name it. */
  readonly file: string | null;
  /** The number of a task of `chaos` whose run recovers. Tasks that differ by `every` are alike. */
  readonly task: number;
  readonly every: number;
  readonly recovers: (state: State) => boolean;
}

const FIXTURES = join(import.meta.dirname, "..", "..", "process", "fixtures");

type Own = Readonly<Record<string, Json>>;
const own = ({ topology }: State): Own => (topology?.progress as { readonly own?: Own } | undefined)?.own ?? {};

const RECOVERIES: Readonly<Record<string, Recovery>> = {
  "roll-back of a pipeline": {
    ...{ agent: invoiceClerk as Agent, chaos: invoiceChaos, file: null, task: 1, every: 1 },
    recovers: (state) => (own(state)["runs"] as readonly number[] | undefined)?.[0] === 2,
  },
  "another plan": {
    ...{ agent: event as Agent, chaos: eventChaos, file: null, task: 1, every: 1 },
    recovers: (state) => Number(own(state)["replans"] ?? 0) > 0,
  },
  "rounds of a debate": {
    ...{ agent: letter as Agent, chaos: letterChaos, file: null, task: 2, every: 3 },
    recovers: (state) => Number(own(state)["round"] ?? 0) > 0,
  },
  "closing call and compensation": {
    ...{ agent: shortTrip as Agent, chaos: tripChaos, task: 1, every: 1 },
    file: join(FIXTURES, "short-trip.ts"),
    recovers: ({ cracks, stopsFor, saga }) => (cracks?.runaway ?? stopsFor ?? saga) !== undefined,
  },
  "a hand-off that is lost after its effect": {
    ...{ agent: editor as Agent, others: [assistant as Agent], chaos: handOffChaos, task: 1, every: 1 },
    file: join(FIXTURES, "lost-hand-off.ts"),
    recovers: ({ cracks }) => cracks?.lostHandoff !== undefined,
  },
};

/** How many kills each recovery gets, spread over all of its fault points. */
const KILLS = sampled(3, 8);

const taskOf = ({ task, every }: Recovery, index: number): number => task + index * every;

/** What a run came to, without the names that tell its task from others. */
async function outcomeOf(world: World, run: string) {
  const shown = await show(world, run);
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const way = events.flatMap((event) => {
    if (event.kind === "TopologyMoved") return [event.where];
    // The death of a boss is one more signal, and no other way.
    if (event.kind === "CrackSignalled" && event.crack === "bossDeath") return [];
    return event.kind === "CrackSignalled" ? [`${event.crack} ${event.times ?? 0}`] : [];
  });
  return { status: shown?.status, result: shown?.result, code: shown?.failure?.code, way, beats: shown?.beats };
}

/** The keys of the calls of a run and of its children, and how often work was handed to another child. */
async function familyOf(world: World, root: string) {
  const events = (await timeline(world, { run: root, after: 0 })) ?? [];
  const dispatches = events.flatMap((event) => (event.kind === "ChildDispatched" ? [event] : []));
  const runs = [root, ...dispatches.map(({ child }) => child)];
  const calls = await Promise.all(runs.map(async (run) => (await ledger(world, run)) ?? []));
  return {
    keys: calls.flat().flatMap(({ key }) => key ?? []),
    handedOutAgain: dispatches.filter((event) => event.try > 1).length,
  };
}

const plain = (value: unknown): string => JSON.stringify(value).replaceAll(/\d+|[A-Z0-9]{6}/g, "#");

/** In which order the child runs of one round end, and whether their boss takes a beat after each of them. */
const ORDERS = ["together", "one by one", "one by one, last first"] as const;
type Order = (typeof ORDERS)[number];

/**
 * One uninterrupted run in this process: what it came to, and the fault points whose first passing was in its recovery.
 * A run pauses at its first passing only, which for a tool or a start of a child may be before the recovery.
 */
async function uninterrupted(recovery: Recovery, order: Order) {
  const { agent, others = [], chaos, recovers } = recovery;
  const { dir, world } = createLocalHarness();
  for (const [name, value] of Object.entries(chaos.env(dir))) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const payload = await beginRun(world, agent, chaos.input(recovery.task) as Json);
  const passed = new Set<string>();
  const points: FaultPoint[] = [];
  const note = async (point: FaultPoint): Promise<void> => {
    const isFirst = !passed.has(textOf(point));
    passed.add(textOf(point));
    const row = await world.table.read(payload.run, Date.now());
    if (row === null || !isFirst) return;
    if (recovers((await load(world, row, new SegmentCache())).state)) points.push(point);
  };
  const observed = runnerOf(worldWithFaultPoints(world, note), [agentWithFaultPoints(agent, note), ...others]);
  let reply = await drive(observed, payload);
  while (reply.route === "park") {
    const { rows } = await world.table.alive({ limit: 9, after: null, now: 0 });
    const children = rows.filter(({ parent }) => parent !== null);
    if (order === "one by one, last first") children.reverse();
    for (const { run, born, chain, epoch, agent: name } of order === "together" ? children : children.slice(0, 1)) {
      await drive(runnerOf(world, others), { run, born, chain, epoch, agent: name });
    }
    reply = await drive(observed, reply);
  }
  vi.unstubAllEnvs();
  return { outcome: await outcomeOf(world, payload.run), points, effects: (await chaos.effects?.(dir)) ?? [] };
}

const textOf = ({ when, name, at }: FaultPoint): string => `${when}:${name}:${at}`;

/**
 * The fault points that stand for this one in any order of the reports. Children that end one by one wake their boss
 * more often, so what one order records with a snapshot or with its last commit of a beat, another one records with a
 * commit in between. But each order makes every version that the calm one makes, and takes every epoch.
 */
function alike({ when, name, at }: FaultPoint): readonly FaultPoint[] {
  if (name !== "put" && name !== "intent" && name !== "release") return [{ when, name, at }];
  const names = name === "put" ? (["put", "intent", "release"] as const) : (["intent", "release"] as const);
  return names.map((each) => ({ when, name: each, at }));
}

/** What the calm run came to, and the fault points of its recovery that belong to the recovery in every order. */
async function calmRun(recovery: Recovery) {
  const calm = await uninterrupted(recovery, "together");
  const { others = [] } = recovery;
  const orders = others.length === 0 ? [] : ORDERS.filter((order) => order !== "together");
  let { points } = calm;
  for (const order of orders) {
    const other = await uninterrupted(recovery, order);
    expect(plain([order, other.outcome])).toBe(plain([order, calm.outcome]));
    const passed = new Set(other.points.map(textOf));
    points = points.filter((point) => alike(point).some((each) => passed.has(textOf(each))));
  }
  return { ...calm, points };
}

test.each(Object.keys(RECOVERIES))(
  "a kill in the middle of the recovery changes neither its way nor its end: %s",
  { timeout: 2 * LIMITS.sceneMs },
  async (name) => {
    const recovery = RECOVERIES[name] as Recovery;
    const { agent, others = [], chaos, file } = recovery;
    const calm = await calmRun(recovery);
    expect(calm.points.length).toBeGreaterThanOrEqual(KILLS);
    const points = Array.from({ length: KILLS }, (_, index) => {
      return calm.points[Math.floor((index * calm.points.length) / KILLS)] as FaultPoint;
    });

    // An undo waits for the lease of a dead process, and nothing here should meet the deadline of a beat.
    const harness = createProcessHarness({ CAIRN_BEAT_SECONDS: String((3 * LIMITS.shortBeatMs) / 1_000) });
    if (file !== null) {
      for (const each of [agent, ...others]) {
        rememberAgentFile(harness.store, { agent: each.name, file, keepOther: false });
      }
    }
    const pointOf = new Map<string, FaultPoint>();
    for (const [index, point] of points.entries()) {
      const input = chaos.input(taskOf(recovery, index)) as Json;
      const started = await startRun(harness.world, { agent, input, tenant: "local", idempotencyKey: null });
      if (started.kind !== "started") throw new Error(started.kind);
      pointOf.set(started.row.run, point);
    }
    const holds = [...pointOf].flatMap(([run, point]) => alike(point).map((each) => `${run}=${textOf(each)}`));
    startSupervisorProcess(harness, { env: { CAIRN_HOLD: holds.join(","), ...chaos.env(harness.dir) }, workers: 2 });

    const killed = new Set<string>();
    const killAndCount = async (): Promise<number> => {
      killPausedProcesses(harness.dir, killed);
      const shown = await Promise.all([...pointOf.keys()].map((run) => show(harness.world, run)));
      return shown.filter((each) => each !== null && !each.inProgress).length;
    };
    await waitUntil(async () => expect(await killAndCount()).toBe(KILLS), LIMITS.sceneMs);
    expect(killed.size).toBe(KILLS);

    for (const [run, point] of pointOf) {
      const where = `killed ${textOf(point)}`;
      const outcome = await outcomeOf(harness.world, run);
      expect(plain({ where, ...outcome })).toBe(plain({ where, ...calm.outcome }));
      expect({ where, findings: (await verify(harness.world, { run }))?.findings }).toEqual({ where, findings: [] });
    }
    const effects = (await chaos.effects?.(harness.dir)) ?? [];
    const families = await Promise.all([...pointOf.keys()].map((run) => familyOf(harness.world, run)));
    const subjects = new Set(effects.map(({ tool, of }) => `${tool} of ${of}`));
    const again = families.reduce((sum, family) => sum + family.handedOutAgain, 0);
    const keys = new Set(families.flatMap((family) => family.keys));
    assertSafety("no work has a second effect, whatever its key, and none is handed out again", () => {
      expect(again).toBe(0);
      expect(effects.length).toBe(subjects.size);
      expect(effects.length).toBe(KILLS * calm.effects.length);
    });
    assertSafety("each effect is a call of a run", () => expect(effects.filter(({ id }) => !keys.has(id))).toEqual([]));
  },
);
