/** Runs of the porter agent, started by command, and the records of the external service about them. */
import { join } from "node:path";
import { rememberAgentFile } from "../../src/adapters/local/agent-files.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Row } from "../../src/protocol/row.ts";
import { startRun } from "../../src/operations/start.ts";
import { type OtherSide, otherSide } from "./other-side.ts";
import { type Errand, porter } from "./porter.ts";
import type { Workshop } from "./processes.ts";

const FILE = join(import.meta.dirname, "porter.ts");

/** Starts a run whose code every supervisor of the store finds. */
export async function startErrand({ store, world }: Workshop, errand: Errand): Promise<Row> {
  rememberAgentFile(store, { agent: porter.name, file: FILE, keepOther: false });
  const input = { ...errand, steps: [...errand.steps] };
  const started = await startRun(world, { agent: porter as Agent, input, tenant: "local", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(`not started: ${JSON.stringify(started)}`);
  return started.row;
}

export function otherSideOf({ dir, atEnd }: Workshop): OtherSide {
  const side = otherSide(dir);
  atEnd(() => side.close());
  return side;
}
