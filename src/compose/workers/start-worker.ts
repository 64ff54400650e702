/**
 * The child process of a supervisor, which executes the beats of runs. It gets its settings from the supervisor that
 * may kill it, so that both use the same limits. The entry module passes in the fault injection.
 *
 * If an agent cannot be loaded, the process keeps that failure, because Node does not import a broken module twice. So
 * with its answer it asks to be replaced, and a fresh process tries the import again.
 *
 * Node writes its compile cache when a process exits, and a worker is killed. So it writes the cache itself.
 */
import { existsSync, readFileSync } from "node:fs";
import nodeModule from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { type Store, openStore } from "../../adapters/local/store/database.ts";
import { patientPorts } from "../../adapters/local/store/patient-ports.ts";
import { executionsOf } from "../../adapters/local/store/executions.ts";
import { agentFileOf } from "../../adapters/local/store/agent-files.ts";
import { AT_WORK, announceInto } from "../../workers/at-work.ts";
import { SEAL_VARIABLES, environmentSealKeys } from "../../adapters/local/seal-keys.ts";
import { localSecrets } from "../../adapters/local/secrets.ts";
import { type GoOn, type Served, serveTasks } from "../../workers/serve.ts";
import { ALLOCATOR } from "../../workers/wire.ts";
import { otlpSpans } from "../../adapters/otlp/exporter.ts";
import { withKernel } from "../../features/compose.ts";
import { localWorld } from "../../adapters/local/world.ts";
import { canonical, sha256 } from "../../codec/canonical.ts";
import { checkAgent } from "../../sdk/check.ts";
import { protectIntrinsics } from "../../sdk/protect-intrinsics.ts";
import { intactWorld } from "../../sdk/intact-world.ts";
import { type WatchedIntrinsics, watchIntrinsics } from "../../sdk/watched-intrinsics.ts";
import { modelsOf } from "../../providers/model.ts";
import { pricedBy } from "../../sdk/prices.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { sentenceOf } from "../../codec/value.ts";
import { taskOfExecution } from "../../protocol/execution.ts";
import type { Agent } from "../../ports/agent.ts";
import type { FaultInjection, Faults } from "../../ports/fault-point.ts";
import type { RunTask } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import type { LoadedAgent, Runner } from "../../engine/context/runner.ts";
import { runTask } from "../../maintenance/chain-tasks.ts";
import { CommitCache } from "../../history/commits.ts";
import { SegmentCache } from "../../history/load.ts";
import { readerIn, redactionIn } from "../../history/secrets.ts";
import { AgentUnknown, locateNamed } from "../locate.ts";
import type { BeatsHere } from "../../ports/supervision.ts";
import type { IntrinsicChanged } from "../../ports/intrinsics.ts";
import type { Settings } from "../settings.ts";
import type { WorkerSettings } from "../supervise.ts";
import { PRINTED_TELEMETRY } from "./telemetry-line.ts";
import { postWebhook } from "../../adapters/webhooks/post.ts";
import { deliveriesOf } from "../../features/webhooks/deliver.ts";
import type { Webhook } from "../../ports/webhooks.ts";

type Found = Awaited<ReturnType<Runner["agentOf"]>>;

/** The settings from the supervisor, and the fault injection of the entry module. */
export interface WorkerStart {
  readonly settings: WorkerSettings;
  /** The environment of the process itself, which processes started by tools inherit. */
  readonly env: Record<string, string | undefined>;
  readonly inject: FaultInjection;
  /** The agents of a program that is bundled, and the file of the process; absent: agents are loaded from their files. */
  readonly given?: GivenAgents;
}

interface GivenAgents {
  readonly agents: readonly Agent[];
  readonly file: string;
}

/** Opens the store and serves the tasks of the supervisor until it ends. */
export function startWorker({ settings, env, inject, given }: WorkerStart): void {
  const { dir, limits } = settings;
  // By default V8 lets what lives grow fourfold before it collects, while the machine has memory (ADR 0167).
  setFlagsFromString("--heap-growing-percent=50");
  registerResolution();
  protectIntrinsics();
  let [giveBack, loaded]: readonly [Served["giveBack"], Served["loaded"]] = [() => {}, () => {}];
  const intrinsics = watchIntrinsics((error) => giveBack(error));
  // Example agents keep their own files beside the runs.
  env["CAIRN_STORE"] = dir;
  const store = openStore({ dir, create: false, check: "worker" });
  const secrets = localSecrets({ store, env, file: join(process.cwd(), ".env") });
  const sealKeys = environmentSealKeys({ env, cwd: process.cwd() });
  // Processes that tools start must not inherit the seal key, nor what the allocator of this process has read.
  for (const name of SEAL_VARIABLES) Reflect.deleteProperty(env, name);
  for (const [name, own] of Object.entries(ALLOCATOR)) if (env[name] === own) Reflect.deleteProperty(env, name);
  const spans = otlpSpans(env);
  const traced = spans === undefined ? PRINTED_TELEMETRY : { ...PRINTED_TELEMETRY, spans };
  const stores = patientPorts(withKernel(localWorld({ store, limits, telemetry: traced, secrets, sealKeys })));
  const { world: bare, flush } = withWebhooks(stores, settings.webhooks ?? []);
  /** Fault points are per run, so a process with any has one task at a time. */
  let inHand = "";
  let isStale = false;
  const faults = inject({ runInHand: () => inHand });
  const world = { ...intactWorld(faults.world(bare), intrinsics), ...announcing(env) };
  const agentOf = agentsOf({
    settings,
    ...(given && { given }),
    store,
    world,
    faults,
    intrinsics,
    onLoaded: (code) => {
      isStale ||= code === null;
      loaded(code);
    },
  });
  const run = runTask({ world, agentOf, segments: new SegmentCache(), commits: new CommitCache() });
  const serve: RunTask = async (task, invocation) => {
    inHand = "payload" in task ? task.payload.run : "";
    const result = await run(task, invocation);
    intrinsics.check();
    // The supervisor may end this process once no run is under way.
    if (result.kind !== "beat" || result.reply.route !== "beat") await Promise.all([spans?.flush(), flush()]);
    return isStale && result.kind === "beat" ? { kind: "exit", reply: result.reply } : result;
  };
  const executions = executionsOf(store);
  const goOn: GoOn = {
    beatMs: limits.beatMs,
    next: (answered) => {
      intrinsics.check();
      const next = executions.goOn(answered);
      return next === null ? null : taskOfExecution(next);
    },
  };
  // Uncaught errors are printed beside the telemetry, so secrets are removed from them too.
  ({ giveBack, loaded } = serveTasks(serve, {
    clean: (text) => redactionIn(bare).text(text),
    clock: bare.clock,
    goOn,
  }));
  setImmediate(keepCompiled);
}

/** Other runtimes than Node have no such cache. */
const keepCompiled = (): void => (nodeModule as Partial<typeof nodeModule>).flushCompileCache?.();

/** Announces code of agents to the supervisor, which gives the file for it. What tools start must not get its name. */
function announcing(env: WorkerStart["env"]): Pick<World, "announce"> {
  const fd = Number(env[AT_WORK.variable] ?? Number.NaN);
  Reflect.deleteProperty(env, AT_WORK.variable);
  return Number.isNaN(fd) ? {} : { announce: announceInto(fd) };
}

/** Loads each agent once, when a run needs it. */
function agentsOf({
  settings,
  intrinsics,
  given,
  store,
  onLoaded,
  faults,
  world,
}: {
  readonly settings: WorkerSettings;
  readonly given?: GivenAgents;
  readonly store: Store;
  readonly world: World;
  readonly faults: Faults;
  readonly intrinsics: WatchedIntrinsics;
  readonly onLoaded: Served["loaded"];
}): Runner["agentOf"] {
  const { agentFiles, limits, prices, modelRates } = settings;
  const loaded = new Map<string, Promise<LoadedAgent>>();
  const load = async (name: string): Promise<LoadedAgent> => {
    const located = await intrinsics.loading(async () =>
      given === undefined
        ? locateNamed(name, { agentFiles, remembered: agentFileOf(store, name) })
        : givenNamed(name, given),
    );
    const agent = pricedBy(located.agent, prices);
    checkAgent(agent, limits);
    setImmediate(keepCompiled);
    onLoaded({ agent: name, code: codeOf(located) });
    return { kind: "agent", ...faults.agent({ agent, ...modelsOf(agent, readerIn(world), modelRates) }) };
  };
  return async (name): Promise<Found> => {
    try {
      // Also an import under way, which the beats of several runs share.
      const agent = loaded.get(name) ?? load(name);
      loaded.set(name, agent);
      return await agent;
    } catch (error) {
      onLoaded(null);
      const why = sentenceOf(error);
      return error instanceof AgentUnknown ? { kind: "absent", why } : { kind: "absent", why, isBroken: true };
    }
  };
}

/**
 * Beats of these agents in this process, which is one of a program of the user: nothing of it is made read-only, and its
 * environment stays as it is.
 */
export function beatsHere({
  agents,
  world: opened,
  env,
  settings,
}: {
  readonly agents: readonly Agent[];
  readonly world: World;
  readonly env: WorkerStart["env"];
  readonly settings: Pick<Settings, "prices" | "modelRates" | "webhooks">;
}): BeatsHere {
  let heard: (error: IntrinsicChanged) => void = () => {};
  const intrinsics = watchIntrinsics((error) => heard(error));
  const spans = otlpSpans(env);
  const traced = spans === undefined ? opened : { ...opened, telemetry: { ...opened.telemetry, spans } };
  const { world: bare, flush } = withWebhooks(traced, settings.webhooks);
  const world = intactWorld(bare, intrinsics);
  const loaded = new Map<string, LoadedAgent>();
  for (const each of agents) {
    const agent = pricedBy(each, settings.prices);
    const models = modelsOf(agent, readerIn(world), settings.modelRates);
    loaded.set(agent.name, { kind: "agent", agent, ...models });
  }
  const agentOf = async (name: string): Promise<Found> =>
    loaded.get(name) ?? { kind: "absent", why: `driveStore was given no agent named ${name}: add it to agents` };
  const run = runTask({ world, agentOf, segments: new SegmentCache(), commits: new CommitCache() });
  return {
    run: async (task, invocation) => {
      const result = await run(task, invocation);
      intrinsics.check();
      if (result.kind !== "beat" || result.reply.route !== "beat") await Promise.all([spans?.flush(), flush()]);
      return result;
    },
    clean: (text) => redactionIn(bare).text(text),
    onBroken: (call) => {
      heard = call;
    },
  };
}

function givenNamed(name: string, { agents, file }: GivenAgents): Awaited<ReturnType<typeof locateNamed>> {
  const agent = agents.find((each) => each.name === name);
  if (agent !== undefined) return { agent, file };
  throw new AgentUnknown(`workFor was given no agent named ${name}: add it to agents, in both programs`);
}

/**
 * Names the code of an agent on this machine: its version and its file. A module that the file imports does not count, so
 * a new version needs a new `version`.
 */
function codeOf({ agent, file }: Awaited<ReturnType<typeof locateNamed>>): string {
  const of = [hostname(), process.version, agent.name, agent.version];
  return sha256(canonical([...of, existsSync(file) ? sha256(readFileSync(file)) : ""])).slice(0, 32);
}

/** How long one delivery of a queue may take. A process that dies keeps others from it for so long. */
const DELIVERY_MS = 15_000;
/** How long the answer of a task waits for deliveries: its process may be killed after it. */
const FLUSH_MS = 1_000;

interface WebhooksOfWorker {
  readonly world: World;
  /** Waits a moment for deliveries that are under way. */
  readonly flush: () => Promise<void>;
}

/**
 * The webhooks of a worker process. It delivers soon after a commit that noted something, beside its tasks. The world
 * with its webhooks; as it is, if there are none.
 */
function withWebhooks(world: World, endpoints: readonly Webhook[]): WebhooksOfWorker {
  if (endpoints.length === 0) return { world, flush: async () => undefined };
  let underWay: Promise<void> | null = null;
  const noted = (): void => {
    // What fails here, the next sweep repeats.
    const round = deliver().catch(() => undefined);
    underWay = round;
    void round.then(() => {
      if (underWay === round) underWay = null;
    });
  };
  const own: World = { ...world, webhooks: { endpoints, post: postWebhook, noted } };
  const deliver = deliveriesOf(own, () => ({ deadline: world.clock.now() + DELIVERY_MS, drain: NEVER }));
  const flush = async (): Promise<void> => {
    if (underWay === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = world.clock.after(FLUSH_MS, resolve);
    await Promise.race([underWay, promise]);
    cancel();
  };
  return { world: own, flush };
}

const NEVER = new AbortController().signal;
