/**
 * A campaign: fourteen kinds of runs on one store under `cairn serve`, with an operator and readers, while processes are
 * killed and frozen at random moments. Services outside count what was done, by what it is for and not by keys.
 */
import { setTimeout as elapse } from "node:timers/promises";
import { effectsIn } from "../../../agents/shared/outside.ts";
import { startRun } from "../../../src/operations/start.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { freePort } from "../../support/processes/cli-process.ts";
import { externalServiceOf } from "../../support/processes/effects-runs.ts";
import type { ProcessHarness } from "../../support/processes/supervisor-process.ts";
import { seededChoices } from "../../simulation/seeded-choices.ts";
import { join } from "node:path";
import { type Findings, type Outside, type StartedRun, findingsOf } from "./checks.ts";
import { FAULTS, type FaultKind, type FaultPlayer, createFaultPlayer } from "./faults.ts";
import { KINDS } from "./kinds.ts";
import { type Said, createOperator } from "./operator.ts";
import { type Death, startCampaignServer } from "./server.ts";

export interface CampaignOptions {
  readonly seed: string;
  /** How long new runs are started and faults are played. */
  readonly forMs: number;
  /** Runs at once; children come on top. */
  readonly runs: number;
  readonly faults: readonly FaultKind[];
  readonly onProgress?: (line: string) => void;
}

export interface Campaign extends Findings {
  readonly runs: number;
  readonly effects: number;
  readonly played: Readonly<Record<FaultKind, number>>;
  readonly said: Readonly<Said>;
  /** Processes that died in an attempt although no fault had hit them. */
  readonly falseDeaths: readonly Death[];
}

/** Between two faults. */
const PAUSE_MS_MAX = 2_500;
const OPERATOR_EVERY_MS = 400;
const BEAT_SECONDS = 6;

/** The environment of the campaign's processes. */
export const CAMPAIGN_ENV = { CAIRN_BEAT_SECONDS: String(BEAT_SECONDS) };

export async function campaign(harness: ProcessHarness, options: CampaignOptions): Promise<Campaign> {
  const { seed, forMs, faults, onProgress = () => undefined } = options;
  const chance = seededChoices(seed);
  const side = externalServiceOf(harness);
  let player: FaultPlayer | null = null;
  const server = await startCampaignServer(harness, { port: await freePort(), faultNow: () => player?.now() ?? null });
  const operator = createOperator(harness.world, side);
  const started: StartedRun[] = [];
  const faultPlayer = createFaultPlayer({
    ...{ dir: harness.dir, server, chance: chance.child("faults"), freezeMsMax: 2 * BEAT_SECONDS * 1_000 },
    readRun: () => started[0]?.run ?? "none",
  });
  player = faultPlayer;
  const begun = performance.now();
  const isOver = (): boolean => performance.now() - begun > forMs;
  let open = 0;
  const startOne = async (): Promise<void> => {
    const index = started.length;
    const kind = KINDS[index % KINDS.length] as (typeof KINDS)[number];
    // A compare of two products has a number that is divisible by four.
    const label = String(4 * (index + 1));
    const of = { agent: kind.agent, input: kind.taskOf(label), tenant: "local", idempotencyKey: `campaign-${index}` };
    const outcome = await startRun(harness.world, of);
    if (outcome.kind !== "started") throw new Error(`not started: ${JSON.stringify(outcome)}`);
    started.push({ run: outcome.row.run, label, kind });
  };
  const operate = async (until: () => boolean): Promise<void> => {
    while (!until()) {
      try {
        open = await operator.look();
        while (!isOver() && open < options.runs) {
          await startOne();
          open += 1;
        }
      } catch (error) {
        // A frozen client holds the store: the keyed start is repeated.
        if (!(error instanceof StoreUnreachable)) throw error;
      }
      await elapse(OPERATOR_EVERY_MS);
    }
  };
  const disturb = async (): Promise<void> => {
    const draws = chance.child("moments");
    while (!isOver() && faults.length > 0) {
      await elapse(draws.below(PAUSE_MS_MAX));
      await faultPlayer.play(draws.pick(faults));
      const total = Object.values(faultPlayer.played).reduce((sum, each) => sum + each, 0);
      onProgress(`${total} faults, ${started.length} runs started, ${open} open`);
    }
  };
  await Promise.all([operate(isOver), disturb()]);
  const drainBegun = performance.now();
  // The world is quiet now. What has not ended within the limit is stuck.
  open = await operator.look();
  await operate(() => open === 0 || performance.now() - drainBegun > 2 * LIMITS.sceneMs);
  const outside: readonly Outside[] = [
    ...side.effects().map(({ tool, of, step }) => ({ tool, subject: `${of} ${step}` })),
    ...effectsIn(join(harness.dir, "examples")).map(({ tool, of }) => ({ tool, subject: of })),
  ];
  const findings = await findingsOf(harness.world, started, { outside, gaveUp: operator.gaveUp });
  await server.stop();
  return {
    ...findings,
    ...{ runs: started.length, effects: outside.length, played: faultPlayer.played, said: operator.said },
    falseDeaths: server.deaths.filter(({ pid }) => !faultPlayer.hit.has(pid)),
  };
}

/** For people. */
export function inWords({ runs, effects, played, said, ...found }: Campaign): string {
  const faults = FAULTS.map((kind) => `${kind}: ${played[kind]}`).join(", ");
  const words = Object.entries(said).map(([word, count]) => `${count} ${word}`);
  return [
    `${runs} runs, ${effects} effects outside; ${faults}`,
    `the operator: ${words.join(", ")}`,
    ...found.doubled.map((each) => `doubled: ${each}`),
    ...found.lost.map((each) => `lost: ${each}`),
    ...found.stuck.map((each) => `stuck: ${each}`),
    ...found.falseDeaths.map(
      ({ pid, run, how, during }) =>
        `a death that no fault explains: worker ${pid}, run ${run}, ${how} (during: ${during ?? "no fault"})`,
    ),
    `${found.doubled.length} doubled, ${found.lost.length} lost, ${found.stuck.length} stuck, ` +
      `${found.falseDeaths.length} false deaths`,
  ].join("\n");
}

export const brokenBy = ({ doubled, lost, stuck, falseDeaths }: Campaign): number =>
  doubled.length + lost.length + stuck.length + falseDeaths.length;
