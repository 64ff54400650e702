/** One beat of a run, for the state Beat of the machine. */
import type { MachineInput } from "../src/adapters/aws/machine-input.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import type { Reply } from "../src/protocol/chain.ts";
import { beat } from "../src/runner/beat.ts";
import { CommitCache } from "../src/runner/history.ts";
import { SegmentCache } from "../src/runner/load.ts";
import type { Runner } from "../src/runner/step.ts";
import { agentOf } from "./agents.ts";
import { type LambdaContext, invocation } from "./invocation.ts";
import { type AskedBeat, answerBeat, readBeat } from "./machine.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { secretsOf } from "./secrets.ts";
import { settingsOf } from "./settings.ts";

const world = awsWorld({ ...settingsOf("beat"), secrets: secretsOf(), sealKeys: sealKeysOf() });
const caches = { segments: new SegmentCache(), commits: new CommitCache() };
const runner: Runner = { world, agentOf: agentOf(world), ...caches };

interface BeatContext extends LambdaContext {
  /** The published version of the function that runs: a number, or `$LATEST` where the deployment published none. */
  readonly functionVersion: string;
}

/** Throws every route that does not lead to the next beat. */
export async function handler(asked: AskedBeat, context: BeatContext): Promise<MachineInput | Reply> {
  const task = readBeat(asked);
  const { run } = task.payload;
  const { reply } = await invocation({ world, context, run }, (own) => beat(runner, task, own));
  return answerBeat(asked, { reply, code: context.functionVersion });
}
