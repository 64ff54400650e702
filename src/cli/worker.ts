/**
 * The child of a supervisor: where a run's beats really happen. It gets its settings as one JSON argument, so that it
 * works with the very limits of the supervisor that kills it.
 *
 * A process in which an agent could not be loaded keeps that failure for ever: Node does not import a broken module
 * twice. So it asks for its own end with its answer, and a fresh process looks again.
 */
import { join } from "node:path";
import { openStore } from "../adapters/local/database.ts";
import { agentFileOf } from "../adapters/local/agent-files.ts";
import { SEAL_VARIABLES, environmentSealKeys } from "../adapters/local/seal-keys.ts";
import { localSecrets } from "../adapters/local/secrets.ts";
import { serveTasks } from "../adapters/local/serve.ts";
import { localWorld } from "../adapters/local/world.ts";
import { checkAgent } from "../sdk/check.ts";
import { protectIntrinsics } from "../sdk/protect-intrinsics.ts";
import { modelsOf } from "../providers/model.ts";
import { pricedBy } from "../sdk/prices.ts";
import { registerResolution } from "../sdk/resolution.ts";
import { type Rig, readPlan, rigFor } from "../chaos/rig.ts";
import { sentenceOf } from "../codec/value.ts";
import type { RunTask } from "../ports/tasks.ts";
import type { Clock, Telemetry } from "../ports/world.ts";
import type { LoadedAgent, Runner } from "../engine/context/runner.ts";
import { runTask } from "../maintenance/chain-tasks.ts";
import { agentWithEdges, worldWithEdges } from "../engine/fault-points.ts";
import { CommitCache } from "../history/commits.ts";
import { SegmentCache } from "../history/load.ts";
import { readerIn, redactionIn } from "../history/secrets.ts";
import { holdAt, holdsIn } from "./pause-at-fault-point.ts";
import { locateNamed } from "./locate.ts";
import type { WorkerSettings } from "./supervise.ts";

type Found = Awaited<ReturnType<Runner["agentOf"]>>;

registerResolution();
protectIntrinsics();
const settings = JSON.parse(process.argv[2] ?? "") as WorkerSettings;
// Agents that keep files of their own keep them beside the runs.
process.env["CAIRN_STORE"] = settings.dir;

function taskRunner({ dir, limits, agentFiles, prices, chaos }: WorkerSettings): RunTask {
  const store = openStore({ dir, create: false, check: "worker" });
  const holds = holdsIn(process.env["CAIRN_HOLD"]);
  let inHand = "";
  const rig = chaos === undefined ? null : rigOf(chaos, () => inHand);
  const onEdge = rig?.onMoment ?? (holds.length === 0 ? null : holdAt({ holds, dir, runInHand: () => inHand }));
  const secrets = localSecrets({ store, env: process.env, file: join(process.cwd(), ".env") });
  const sealKeys = environmentSealKeys({ env: process.env, cwd: process.cwd() });
  // What tools start must not inherit the key.
  for (const name of SEAL_VARIABLES) Reflect.deleteProperty(process.env, name);
  const bare = localWorld({ store, limits, telemetry, secrets, sealKeys });
  clean = (text) => redactionIn(bare).text(text);
  clock = bare.clock;
  const world = onEdge === null ? bare : worldWithEdges(bare, onEdge);
  const loaded = new Map<string, LoadedAgent>();
  let isStale = false;

  const load = async (name: string): Promise<LoadedAgent> => {
    const located = await locateNamed(name, { agentFiles, remembered: agentFileOf(store, name) });
    const agent = pricedBy(located.agent, prices);
    checkAgent(agent, limits);
    const models = modelsOf(agent, readerIn(world));
    if (rig !== null) {
      const [model, fallbacks] = [rig.model(models.model), models.fallbacks.map((each) => rig.model(each))];
      return { kind: "agent", agent: rig.agent(agent), model, fallbacks };
    }
    return { kind: "agent", agent: onEdge === null ? agent : agentWithEdges(agent, onEdge), ...models };
  };
  const agentOf = async (name: string): Promise<Found> => {
    try {
      const agent = loaded.get(name) ?? (await load(name));
      loaded.set(name, agent);
      return agent;
    } catch (error) {
      isStale = true;
      return { kind: "absent", why: sentenceOf(error) };
    }
  };
  const run = runTask({ world, agentOf, segments: new SegmentCache(), commits: new CommitCache() });
  return async (task, invocation) => {
    inHand = "payload" in task ? task.payload.run : "";
    const result = await run(task, invocation);
    return isStale && result.kind === "beat" ? { kind: "exit", reply: result.reply } : result;
  };
}

/** `cairn chaos` kills this process where it wants to; `runInHand` tells whose beat it is doing. */
function rigOf(dir: string, runInHand: () => string): Rig {
  const plan = readPlan(dir);
  return rigFor({ dir, plan, taskInHand: () => plan.taskOf[runInHand()] ?? null });
}

/** What a person should see goes to stderr; the supervisor hands it through. */
const telemetry: Telemetry = {
  record: ({ run, level, what, detail }) => {
    if (level === "alarm") print(`alarm ${what} ${run}: ${detail["why"] ?? ""}`);
    else if (what === "PhaseStuck") print(`${run} is still ${detail["label"]}, for ${detail["seconds"]} s now`);
    else if (what === "log") print(`${run} ${detail["tool"]}: ${detail["line"]}`);
  },
};

/** The supervisor may have a spinner on that line. */
const print = (line: string): void =>
  void process.stderr.write(`${process.stderr.isTTY ? "\r\u001b[2K" : ""}${line}\n`);

/** Of what is said beside the telemetry: an error that nobody caught. */
let clean = (text: string): string => text;
let clock: Clock | undefined;

// Last: everything above is there now.
const run = taskRunner(settings);
serveTasks(run, { clean: (text) => clean(text), ...(clock === undefined ? {} : { clock }) });
