/** The process of a plain loop, which `cairn chaos` measures cairn against: one task, and no life beyond it. */
import { join } from "node:path";
import { lookFor } from "../adapters/local/secrets.ts";
import { loadAgentFile } from "../agent/load.ts";
import { modelOf } from "../agent/model.ts";
import { registerResolution } from "../agent/resolution.ts";
import type { LoopSaid } from "../chaos/plain.ts";
import type { LoopSettings } from "../chaos/strategy.ts";
import { plainLoop } from "../chaos/plain-loop.ts";
import { readPlan, rigFor } from "../chaos/rig.ts";
import { append } from "../chaos/trace.ts";
import { sentenceOf } from "../codec/value.ts";
import type { Json } from "../core/json.ts";

// It must not outlive whoever counts its effects.
process.on("disconnect", () => process.exit(1));
registerResolution();

async function run({ marks, task, input, agentFile, agent: name, file }: LoopSettings): Promise<LoopSaid> {
  const agent = (await loadAgentFile(agentFile)).find((each) => each.name === name);
  if (agent === undefined) return { kind: "broken", why: `${agentFile} exports no agent named ${name}` };
  const rig = rigFor({ dir: marks, plan: readPlan(marks), taskInHand: () => task });
  const model = modelOf(agent.model, async (name) => secretNamed(name));
  const parsed = agent.task.parse(input) as Json;
  const secrets = { get: async (name: string) => secretNamed(name) ?? "" };
  const loop = { agent: rig.agent(agent), model: rig.model(model), task: parsed, rig, file, secrets };
  append(marks, task, { kind: "begun" });
  return { kind: "ended", end: await plainLoop(loop) };
}

function secretNamed(name: string): string | null {
  const look = lookFor(name, { env: process.env, file: join(process.cwd(), ".env") });
  return look.kind === "found" ? look.value : null;
}

const said = await run(JSON.parse(process.argv[2] ?? "") as LoopSettings).catch((error: unknown): LoopSaid => {
  return { kind: "broken", why: sentenceOf(error) };
});
process.send?.(said, undefined, undefined, () => process.exit(0));
