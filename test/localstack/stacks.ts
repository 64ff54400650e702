/** The deployments of the LocalStack tests, and how each of them is created. */
import { join } from "node:path";
import type { Instead } from "../../infra/bundle.ts";
import { type Deployed, type Parts, type PartsOf, deployParts, partsIn, withParts } from "../../localstack/deploy.ts";
import { type Limits, TIMES } from "../../src/protocol/limits.ts";
import { LIMITS } from "../support/gate/limits.ts";

/** A beat that Lambda ends is the subject of some tests, which wait for it. */
export const BEAT_SECONDS = (2 * LIMITS.shortBeatMs) / 1_000;

/** The shortest times that a busy machine can keep. Their runs wait with an open execution, as shorter waits do. */
const SHORT = { openParkMs: TIMES.parkSecondsMax * 1_000 + 1, rescueMs: 2_000, overdueMs: 1_000, settleMs: 1_000 };
const PATIENT = { ...SHORT, entryAttemptsMax: 5, backoffMsMax: 4_000 };

const STAGES = {
  lane: PATIENT,
  /** Its executions allow three claims each, and its runs wait only briefly for an answer. */
  impatient: { ...PATIENT, chainClaimsMax: 3, idleRunMs: LIMITS.turnMs, gateMs: LIMITS.shortBeatMs },
  /** Its stores become unavailable, and it has the same patience with them as a real deployment. */
  away: SHORT,
  /** Each of its agents has a function of its own; in the other stages they share one, which is deployed sooner. */
  isolated: PATIENT,
} as const;

type StackName = keyof typeof STAGES;

export interface Stack extends Deployed {
  readonly limits: Partial<Limits>;
}

const FIXTURES = join(import.meta.dirname, "fixtures");
const TRAVEL = join(import.meta.dirname, "..", "..", "agents", "travel", "agent.ts");

const INSTEAD = { park: join(FIXTURES, "park.ts"), cleanup: join(FIXTURES, "cleanup.ts") };

/** The stages of the deployments that most tests use. */
export const AGENTS = ["clerk.ts", "patient.ts", "scanner.ts", "teller.ts", "team.ts"] as const;

export interface LanePlace {
  readonly url: string;
  /** Where the travel agent's services keep their files. */
  readonly services: string;
  /** Where fixtures write and read their files. */
  readonly files: string;
}

interface StacksOf<Name extends StackName> {
  /** Fixture files. */
  readonly agents: readonly string[];
  readonly names: readonly Name[];
  /** Additional environment variables of its functions. */
  readonly env?: Readonly<Record<string, string>>;
  /** Files that replace functions. */
  readonly instead?: Instead;
}

type StacksByName<Name extends StackName> = Readonly<Record<Name, Stack>>;

/** Deploys the agents of those fixture files; existing stacks are updated. */
export const deployStacks = <Name extends StackName>(
  place: LanePlace,
  wanted: StacksOf<Name>,
): Promise<StacksByName<Name>> => withParts(partsOf(wanted), (parts) => deployEach(place, wanted, parts));

/** Deploys in the same way, and bundles the same agents once: the bundles stay in `folder`, one for each set of agents. */
export function redeployments(place: LanePlace, folder: string) {
  const built = new Map<string, Promise<Parts>>();
  return async <Name extends StackName>(wanted: StacksOf<Name>): Promise<StacksByName<Name>> => {
    const name = wanted.agents.join("+");
    const parts = built.get(name) ?? partsIn(join(folder, name), partsOf(wanted));
    built.set(name, parts);
    return deployEach(place, wanted, await parts);
  };
}

const isolationOf = (names: readonly StackName[]) => (names.includes("isolated") ? "agent" : "none");

function partsOf({ agents, names, instead }: StacksOf<StackName>): PartsOf {
  const agentFiles = [TRAVEL, ...agents.map((file) => join(FIXTURES, file))];
  return { agentFiles, isolation: isolationOf(names), instead: { ...INSTEAD, ...instead } };
}

async function deployEach<Name extends StackName>(
  { url, services, files }: LanePlace,
  wanted: StacksOf<Name>,
  parts: Parts,
): Promise<StacksByName<Name>> {
  const env = { TRAVEL_SERVICES: services, TRAVEL_PACE: "0", TRAVEL_WALL: "1h", LANE_FILES: files, ...wanted.env };
  const deploy = { isolation: isolationOf(wanted.names) } as const;
  const shared = { url, env, config: { beatSeconds: BEAT_SECONDS, deploy } };
  const made = wanted.names.map(async (stage) => {
    const limits = STAGES[stage];
    return [stage, { ...(await deployParts(parts, { ...shared, stage, limits })), limits }] as const;
  });
  return Object.fromEntries(await Promise.all(made)) as StacksByName<Name>;
}
