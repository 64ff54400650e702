/**
 * The worker process of the plain loops with which `cairn chaos` compares cairn. Like a worker of cairn it runs one
 * task after another, and finds secrets in the same places. It exits together with the process that counts its effects.
 */
import { join } from "node:path";
import { systemClock } from "../adapters/local/clock.ts";
import { lookFor } from "../adapters/local/secrets.ts";
import { loadAgentFile } from "../sdk/load.ts";
import { modelOf } from "../providers/model.ts";
import { registerResolution } from "../sdk/resolution.ts";
import { leaveOutCallbacks } from "../sdk/tool-loop/callbacks.ts";
import type { LoopSaid } from "./plain.ts";
import type { LoopSettings, LoopTask } from "./strategy.ts";
import { type PlainLoop, plainLoop } from "./plain-loop.ts";
import { Fakes } from "./fakes.ts";
import { gateRule } from "./gates.ts";
import { agentStandingIn } from "./stand-ins.ts";
import { chaosIn } from "../sdk/chaos-file.ts";
import { readPlan, rigFor } from "./rig.ts";
import { append } from "./trace.ts";
import { sentenceOf } from "../codec/value.ts";
import type { Json } from "../core/json.ts";
import type { Secrets } from "../ports/secrets.ts";
import { readerIn, secretsFor } from "../history/secrets.ts";

// The worker must not outlive the process that counts its effects.
process.on("disconnect", () => process.exit(1));
registerResolution();
leaveOutCallbacks();

const { dir, marks, agentFile, agent: name, real, gates } = JSON.parse(process.argv[2] ?? "") as LoopSettings;
let inHand: number | null = null;

const secrets: Secrets = {
  get: async (name) => lookFor(name, { env: process.env, file: join(process.cwd(), ".env") }),
  // A plain loop writes no records from which secrets would have to be removed.
  declare: async () => {},
  declared: async () => [],
};

async function prepared(): Promise<Omit<PlainLoop, "task" | "file">> {
  const found = (await loadAgentFile(agentFile)).find((each) => each.name === name);
  if (found === undefined) throw new Error(`${agentFile} exports no agent named ${name}`);
  const chaos = await chaosIn(agentFile);
  const standIns = chaos?.standIns ?? {};
  const agent = agentStandingIn(found, { root: name, standIns, real, fakes: new Fakes(dir), taskInHand: () => inHand });
  const decide = gateRule(chaos, gates);
  const world = { secrets, clock: systemClock };
  const rig = rigFor({ dir: marks, plan: readPlan(marks), taskInHand: () => inHand });
  const model = rig.model(modelOf(agent.model, readerIn(world)));
  return {
    agent: rig.agent(agent),
    model,
    rig,
    secrets: secretsFor(world, agent),
    gates: (gate) => {
      const decision = decide(gate);
      if (inHand !== null)
        append(marks, inHand, { kind: "decision", as: decision === "approve" ? "approved" : "denied" });
      return decision;
    },
  };
}

/** Loads the agent once: Node does not import a broken module twice. */
let loaded: ReturnType<typeof prepared> | null = null;

async function run({ task, input, file }: LoopTask): Promise<LoopSaid> {
  loaded ??= prepared();
  const { agent, ...loop } = await loaded;
  const parsed = agent.task.parse(input) as Json;
  inHand = task;
  append(marks, task, { kind: "begun" });
  return { kind: "ended", end: await plainLoop({ ...loop, agent, task: parsed, file }) };
}

process.on("message", (task: LoopTask) => {
  const why = (error: unknown): LoopSaid => ({ kind: "broken", why: sentenceOf(error) });
  void run(task).then(say, (error: unknown) => say(why(error)));
});

function say(said: LoopSaid): void {
  inHand = null;
  process.send?.(said);
}
