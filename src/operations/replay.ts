/**
 * Folds the recorded events of a run again and says whether they give the stored state. With an agent it also compares
 * each recorded request to the model with the one that today's code would make. It calls no model and no tool.
 */
import type { Failure } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Phase, Status } from "../core/phases.ts";
import { usd } from "../core/policy/spending.ts";
import { statusOf } from "../core/calls/open-calls.ts";
import type { State } from "../core/state.ts";
import type { Kernel } from "../core/transition.ts";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import { type Recording, RecordingDamaged, recordingIn } from "../features/archive/recording.ts";
import { type Difference, type Replayed, replaySteps } from "../features/archive/replay.ts";
import type { OnStep } from "../history/reader.ts";
import { modelName } from "../ports/named-models.ts";
import { inTurns } from "../history/stepwise.ts";
import { type Comparison, RequestComparison } from "./replay-against.ts";
import type { Summary } from "./views.ts";

/** The folded state, and whether it equals the stored state. */
export interface ReplayShown {
  readonly run: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly status: Status;
  readonly phase: Phase;
  /** The version of the last folded commit; `of` is the version of the run. */
  readonly version: number;
  readonly of: number;
  readonly at: number | null;
  readonly epoch: number;
  readonly attempt: number;
  readonly beats: number;
  readonly spent: Summary["spent"];
  readonly calls: number;
  readonly messages: number;
  readonly task: Json;
  readonly result: Json;
  readonly failure: Failure | null;
  readonly replayed: { readonly commits: number; readonly events: number; readonly snapshots: number };
  readonly identical: boolean;
  readonly differs: Difference | null;
  readonly against: AgainstShown | null;
}

interface AgainstShown extends Comparison {
  readonly agent: string;
  readonly agentVersion: string;
  /** The model that the agent uses now. */
  readonly model: string;
}

export type ReplayOutcome =
  | { readonly kind: "identical" | "differs"; readonly shown: ReplayShown }
  | { readonly kind: "damaged"; readonly differs: Difference }
  | { readonly kind: "versionUnknown"; readonly of: number }
  /** No reply of the run has a digest of its request, so there is nothing to compare. */
  | { readonly kind: "unrecorded"; readonly replies: number }
  | { readonly kind: "missing" };

/** `at`: the version to stop at; null: the end. `against`: the agent to compare with; null: none. */
export async function replayStored(
  world: World,
  options: {
    readonly run: string;
    readonly at: number | null;
    readonly against: Agent | null;
    readonly onStep?: OnStep | undefined;
  },
): Promise<ReplayOutcome> {
  try {
    const { onStep } = options;
    const recording = await recordingIn(world, { run: options.run, ...(onStep && { onStep }) });
    return recording === null
      ? { kind: "missing" }
      : await replayRecording(world.kernel, recording, { ...options, turn: world.reading?.turn });
  } catch (error) {
    if (!(error instanceof RecordingDamaged)) throw error;
    return { kind: "damaged", differs: { version: error.version, what: error.message } };
  }
}

/** `check`: a further comparison of the whole replay, if nothing differs so far. */
export async function replayRecording(
  kernel: Kernel,
  recording: Recording,
  {
    at,
    against,
    check = () => null,
    turn,
  }: {
    readonly at: number | null;
    readonly against: Agent | null;
    readonly check?: (replayed: Replayed) => string | null;
    /** Where the process also works for others. */
    readonly turn?: (() => Promise<void>) | undefined;
  },
): Promise<Exclude<ReplayOutcome, { readonly kind: "missing" | "damaged" }>> {
  const { version } = recording.run;
  if (at !== null && at > version) return { kind: "versionUnknown", of: version };
  const comparison = against === null ? null : new RequestComparison(against);
  const steps = replaySteps(kernel, recording, {
    until: at ?? version,
    ...(comparison !== null && { witness: comparison.witness }),
  });
  const replayed = await inTurns(steps, turn);
  const compared = comparison?.result ?? null;
  if (compared !== null && compared.compared === 0 && compared.unrecorded > 0) {
    return { kind: "unrecorded", replies: compared.unrecorded };
  }
  const wrong = replayed.differs === null && (at ?? version) >= version ? check(replayed) : null;
  const differs = wrong === null ? replayed.differs : { version, what: wrong };
  const shown = await shownOf({ recording, replayed: { ...replayed, differs }, at, compared, agent: against });
  return { kind: differs === null && (compared?.first ?? null) === null ? "identical" : "differs", shown };
}

async function shownOf({
  recording,
  replayed,
  at,
  compared,
  agent,
}: {
  readonly recording: Recording;
  readonly replayed: Replayed;
  readonly at: number | null;
  readonly compared: Comparison | null;
  readonly agent: Agent | null;
}): Promise<ReplayShown> {
  const { state, differs, commits, events, snapshots, epoch } = replayed;
  const { run, version, status } = recording.run;
  const json = async (value: typeof state.result): Promise<Json> => (value === null ? null : recording.json(value));
  return {
    run,
    agent: state.agent,
    agentVersion: state.agentVersion,
    phase: state.phase,
    status: commits === 0 && status === "queued" ? status : statusOf(state),
    version: replayed.version,
    of: version,
    at,
    epoch,
    attempt: state.restart,
    beats: state.spent.beats,
    spent: spentOf(state),
    calls: state.calls,
    messages: state.messages.length,
    task: await json(state.task),
    result: await json(state.result),
    failure: state.failure,
    replayed: { commits, events, snapshots },
    identical: differs === null,
    differs,
    against:
      agent === null || compared === null
        ? null
        : { agent: agent.name, agentVersion: agent.version, ...compared, model: modelName(agent.model) },
  };
}

const spentOf = ({ spent: { microUsd, tokensIn, tokensOut } }: State) => ({
  usd: Number(usd(microUsd)),
  tokensIn,
  tokensOut,
});
