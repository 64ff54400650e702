/** Faults of an attempt at a named call or in its tool: it dies, freezes, or meets what another process does. */
import type { Json } from "../../../src/core/json.ts";
import type { Agent, Tool, ToolContext } from "../../../src/ports/agent.ts";
import type { Payload, TaskResult } from "../../../src/protocol/chain.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import type { Incarnation, Row } from "../../../src/protocol/row.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import type { World } from "../../../src/ports/world.ts";
import { ActiveRun } from "../../../src/engine/context/active-run.ts";
import { CommitCache } from "../../../src/history/commits.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { timeline } from "../../../src/operations/views.ts";
import { startRun } from "../../../src/operations/start.ts";
import { decisionCalls, withCalls } from "../../../src/testing/decisions.ts";
import type { Operations, Ports } from "./ports.ts";
import { killableWorld } from "./drive.ts";
import { type Harness, type StartedAttempt, neverSettles, performTask, scriptedAgent } from "./harness.ts";

/** Starts the run of that key; returns its row. */
export async function startKeyedRun(
  world: World,
  of: { readonly agent: Agent; readonly key: string; readonly parent?: Incarnation; readonly input?: Json },
): Promise<Row> {
  const { key: idempotencyKey, ...asked } = of;
  const started = await startRun(world, { input: {}, ...asked, tenant: "local", idempotencyKey });
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  return started.row;
}

export const withTakeovers = (agent: Agent, takeovers: number): Agent => ({
  ...agent,
  budget: { ...agent.budget, takeovers },
});

/** The run in an invocation that the test plays itself: claimed and loaded as that attempt. */
export async function claimAndLoad(
  { world, clock }: Harness,
  of: { readonly payload: Payload; readonly retry: number; readonly restart: number },
): Promise<ActiveRun> {
  const { run, born, chain, epoch } = of.payload;
  const now = clock.now();
  const entry = { execution: executionName(run, born, chain), epoch, retry: of.retry };
  const deadline = now + world.limits.beatMs;
  const leaseUntil = deadline + world.limits.skewMs;
  const claimed = await world.table.decide(
    { run, born, chain, entry, owner: `test ${of.retry}`, leaseUntil, now },
    CLAIM,
  );
  if (claimed.kind !== "granted") throw new Error(`not granted: ${claimed.kind}`);
  const segments = new SegmentCache();
  const loaded = await load(world, claimed.row, segments);
  const invocation = { deadline, drain: new AbortController().signal };
  const state = { ...loaded.state, restart: of.restart };
  return new ActiveRun({ world, invocation, loaded: { ...loaded, state }, segments, commits: new CommitCache() });
}

/** One round of the sweeper. */
export const sweep = (world: World): Promise<TaskResult> =>
  performTask({ kind: "sweep" }, { world, agent: scriptedAgent({}) });

type Asked<C extends keyof Operations> = Parameters<Operations[C]>[0];
type Call = (asked: unknown, ...rest: unknown[]) => Promise<unknown>;

/** A world in which `instead` wraps one operation of the rows, messages or mutex leases. */
export function wrapTableCall<C extends keyof Operations>(
  world: World,
  name: C,
  instead: (call: Operations[C]) => Operations[C],
): World {
  const port = (["table", "inbox", "leases"] as const).find((each) => name in world[each]) ?? "table";
  const ports = world[port] as Ports;
  const { [name]: call } = { ...ports, ...decisionCalls(world.table) };
  const wrapped = { [name]: instead(call) } as Partial<Operations>;
  return { ...world, [port]: port === "table" ? withCalls(ports, wrapped) : { ...ports, ...wrapped } };
}

/** The same for any operation and its arguments. */
const meetingAny = (world: World, name: keyof Operations, instead: (call: Call) => Call): World =>
  wrapTableCall(world, name, (call) => instead(call as Call) as typeof call);

/** Its process dies right after the first such call is applied: it gets no response and does nothing more. */
export function crashAfterCall<C extends keyof Operations>(
  world: World,
  call: C,
  when: (asked: Asked<C>) => boolean = () => true,
): World {
  const { world: mine, kill } = killableWorld(world);
  return meetingAny(mine, call, (made) => async (asked, ...rest) => {
    const outcome = await made(asked, ...rest);
    if (!when(asked as Asked<C>)) return outcome;
    kill();
    return neverSettles();
  });
}

/** Its process is frozen right before the first such call, until it is thawed. */
export function freezeBeforeCall(
  world: World,
  call: keyof Operations,
): { readonly world: World; readonly thaw: () => void } {
  const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>();
  const frozen = meetingAny(world, call, (made) => async (asked, ...rest) => {
    await thawed;
    return made(asked, ...rest);
  });
  return { world: frozen, thaw };
}

/** Runs `happens` right before the first such call. */
export function beforeCall<C extends keyof Operations>(
  world: World,
  call: C,
  happens: () => Promise<unknown>,
  when: (asked: Asked<C>) => boolean = () => true,
): World {
  let isDone = false;
  return meetingAny(world, call, (made) => async (asked, ...rest) => {
    if (!isDone && when(asked as Asked<C>)) {
      isDone = true;
      await happens();
    }
    return made(asked, ...rest);
  });
}

/** The world of a process whose clock is ahead. */
export const withClockAhead = (world: World, ms: number): World => ({
  ...world,
  clock: { ...world.clock, now: () => world.clock.now() + ms, earliest: () => world.clock.earliest() + ms },
});

/** An attempt that is frozen in its tool and may still act. */
interface AttemptInTool {
  readonly out: StartedAttempt;
  readonly key: string;
  readonly result: Promise<TaskResult>;
  /** It thaws, and its tool returns. */
  readonly thaw: (returns: string) => void;
}

/** Starts the next attempt and waits until it reaches its tool. */
export async function enterTool(harness: Harness, agent: Agent, world: World = harness.world): Promise<AttemptInTool> {
  const reached = Promise.withResolvers<string>();
  const returned = Promise.withResolvers<string>();
  const run = ({ key }: ToolContext<unknown>): Promise<string> => {
    reached.resolve(key);
    return returned.promise;
  };
  const act = { ...(agent.tools["act"] as Tool), run };
  const out = harness.startAttempt();
  const result = out.perform({ world, agent: { ...agent, tools: { act } } });
  result.then(
    ({ kind }) => reached.reject(new Error(`it came to its end as ${kind} before its tool`)),
    (error: unknown) => reached.reject(error),
  );
  return { out, key: await reached.promise, result, thaw: returned.resolve };
}

/** Starts the next attempt, which reaches its tool and dies there; returns the key of its call. */
export async function dieInTool(harness: Harness, agent: Agent): Promise<string> {
  const { world, kill } = killableWorld(harness.world);
  const { out, key } = await enterTool(harness, agent, world);
  kill();
  out.end(null);
  return key;
}

/** The recovery rules that the run recorded, in order. */
export const recoveryRulesOf = async (world: World, run: string): Promise<readonly string[]> =>
  ((await timeline(world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "RecoveryDecided" ? [event.rule] : [],
  );
