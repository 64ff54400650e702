/** The function of the state Beat: performs one beat of a run. */
import { type MachineInput, ChangedError } from "../src/adapters/aws/machine/machine-input.ts";
import { withKernel } from "../src/features/compose.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import { tenantPlaces } from "cairn-agents";
import { beatInPlace } from "../src/engine/loop/beat-in-place.ts";
import { CommitCache } from "../src/history/commits.ts";
import { SegmentCache } from "../src/history/load.ts";
import type { Runner } from "../src/engine/context/runner.ts";
import { agentOf } from "./agents.ts";
import { type LambdaContext, endIfChanged, invocation } from "./invocation.ts";
import { type AskedBeat, answerBeat, readBeat } from "./machine.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { secretsOf } from "./secrets.ts";
import { IntrinsicChanged } from "../src/ports/intrinsics.ts";
import { intactWorld } from "../src/sdk/intact-world.ts";
import { watchIntrinsics } from "../src/sdk/watched-intrinsics.ts";
import { settingsOf, spansOf } from "./settings.ts";
import { requestsToDeliver } from "./deliveries.ts";
import { webhooksOf } from "./webhooks.ts";

const spans = spansOf();
const settings = settingsOf("beat");
const telemetry = { ...settings.telemetry, ...(spans && { spans }) };
const stores = withKernel(awsWorld({ ...settings, telemetry, secrets: secretsOf(), sealKeys: sealKeysOf() }));
const deliveries = requestsToDeliver();
// Before any agent is loaded.
const intrinsics = watchIntrinsics();
const world = intactWorld({ ...stores, ...webhooksOf(deliveries?.noted) }, intrinsics);
const caches = { segments: new SegmentCache(), commits: new CommitCache() };
const runner: Runner = { world, agentOf: agentOf(world, intrinsics), ...caches };

interface BeatContext extends LambdaContext {
  /** The published version of the running function: a number, or `$LATEST` if the deployment published none. */
  readonly functionVersion: string;
}

/** Throws every route that does not lead to the next beat. */
export async function handler(asked: AskedBeat, context: BeatContext): Promise<MachineInput> {
  endIfChanged(intrinsics);
  const task = readBeat(asked);
  const { run } = task.payload;
  const { reply } = await invocation({ world, context, run }, async (own) => {
    try {
      const result = await beatInPlace(runner, tenantPlaces, { task, invocation: own });
      intrinsics.check();
      return result;
    } catch (error) {
      throw error instanceof IntrinsicChanged ? new ChangedError(error) : error;
    } finally {
      // Lambda freezes the process after its answer.
      await Promise.all([spans?.flush(), deliveries?.flush()]);
    }
  });
  return answerBeat(asked, { reply, code: context.functionVersion });
}
