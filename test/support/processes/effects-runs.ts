/** Runs of the effects agent, started by command, and the records of the external service about them. */
import { join } from "node:path";
import { rememberAgentFile } from "../../../src/adapters/local/store/agent-files.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { startRun } from "../../../src/operations/start.ts";
import { type ExternalService, externalService } from "./external-service.ts";
import { type EffectsTask, effectsAgent } from "./effects-agent.ts";
import type { ProcessHarness } from "./supervisor-process.ts";

const FILE = join(import.meta.dirname, "effects-agent.ts");

/** Starts a run whose code every supervisor of the store finds. */
export async function startEffectsRun({ store, world }: ProcessHarness, errand: EffectsTask): Promise<Row> {
  rememberAgentFile(store, { agent: effectsAgent.name, file: FILE, keepOther: false });
  const input = { ...errand, steps: [...errand.steps] };
  const started = await startRun(world, { agent: effectsAgent as Agent, input, tenant: "local", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(`not started: ${JSON.stringify(started)}`);
  return started.row;
}

export function externalServiceOf({ dir, atEnd }: ProcessHarness): ExternalService {
  const side = externalService(dir);
  atEnd(() => side.close());
  return side;
}
