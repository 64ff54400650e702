/**
 * `cairn doctor [--production]`: whether everything that runs need is there and as it has to be, and how to mend what is
 * not. It reads, and changes nothing. Exit 1 if a check failed; what nobody could look at is `unknown` and no failure.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { inspectStore } from "../../adapters/local/inspection.ts";
import { lookFor } from "../../adapters/local/secrets.ts";
import { StoreDamaged, StoreInvalid, StoreTooNew } from "../../adapters/local/store-errors.ts";
import { checkAgent } from "../../sdk/check.ts";
import { isolatedOf } from "../../sdk/config.ts";
import { AgentInvalid } from "../../ports/agent-invalid.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { SECRET_CHARACTERS_MIN } from "../../codec/redaction/redaction.ts";
import { pricedBy } from "../../sdk/prices.ts";
import { sentenceOf } from "../../codec/value.ts";
import { AGENT_CHECKS, AGENT_RULES, type AgentsCase, type SecretSeen, agentSeen } from "../../doctor/agents.ts";
import { type Judged, judgeAll } from "../../doctor/check.ts";
import { LOCAL_CHECKS, type StoreLook } from "../../doctor/local.ts";
import { judgePoints } from "../../doctor/production.ts";
import type { SecretLook } from "../../ports/secrets.ts";
import { StoreUnreachable } from "../../ports/world.ts";
import { readCatalogue } from "./agents.ts";
import { EXIT } from "../errors.ts";
import { isMissing, openSettled } from "../open.ts";
import { type Examined, renderExamined } from "../render/doctor.ts";
import { type Settings, settingsOf } from "../settings.ts";
import { type BeatFlags, type Shell, printDocument } from "../shell.ts";
import { count } from "../render/words.ts";
import type { AwsNames } from "../worlds.ts";

export interface DoctorFlags extends BeatFlags {
  readonly production?: boolean;
}

export async function doctor(
  shell: Shell,
  { flags, version }: { readonly flags: DoctorFlags; readonly version: string },
): Promise<number> {
  const settings = await settingsOf(shell, flags);
  const { terminal } = shell;
  const production = flags.production === true;
  terminal.waitFor("loading the agents");
  registerResolution();
  const seen = await lookAtAgents(settings);
  const agents = judgeAll(production ? [...AGENT_CHECKS, ...AGENT_RULES] : AGENT_CHECKS, { seen, production });
  const known = settings.hasConfig ? seen.agents.map(({ name }) => name) : [];
  const world =
    settings.aws === null
      ? examineLocal(shell, settings)
      : await examineAws(shell, { settings, names: settings.aws, agents: known, production });
  terminal.waitFor(null);
  const checks = [...agents, ...world.checks];
  const examined: Examined = {
    cairn: version,
    ...{ world: settings.aws === null ? "local" : "aws", production, hints: world.hints },
    ok: checks.every(({ status }) => status !== "fail"),
    checks: production ? [...checks, ...judgePoints(checks)] : checks,
  };
  if (shell.json) printDocument(shell, examined);
  else terminal.out(renderExamined(examined, terminal.paintOut));
  return examined.ok ? EXIT.done : EXIT.failed;
}

interface Part {
  readonly checks: readonly Judged[];
  readonly hints: readonly string[];
}

async function lookAtAgents(settings: Settings): Promise<AgentsCase> {
  const { agentFiles, exampleFiles, limits, prices } = settings;
  const { agents, broken } = await readCatalogue([...agentFiles, ...exampleFiles]);
  const priced = agents.map(({ agent }) => pricedBy(agent, prices));
  const unfit = (agent: (typeof priced)[number]): string | null => {
    try {
      checkAgent(agent, limits);
      return null;
    } catch (error) {
      if (!(error instanceof AgentInvalid)) throw error;
      return sentenceOf(error);
    }
  };
  return {
    node: process.version,
    agents: priced.map((agent) => agentSeen(agent, unfit(agent))),
    broken: broken.map(({ why }) => why),
    secrets: await Promise.all(
      agents.flatMap(({ agent }) => (agent.secrets ?? []).map((name) => lookAtSecret(settings, agent.name, name))),
    ),
  };
}

async function lookAtSecret(settings: Settings, agent: string, name: string): Promise<SecretSeen> {
  try {
    const look = await secretOf(settings, name);
    if (look.kind !== "found") return { name, agent, is: look.kind, why: look.where, mend: look.mend };
    const is = look.value.length < SECRET_CHARACTERS_MIN ? "short" : "there";
    const why = `it has fewer than ${SECRET_CHARACTERS_MIN} characters`;
    return { name, agent, is, why, mend: `give ${name} a longer value` };
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return { name, agent, is: "unread", why: sentenceOf(error), mend: "look as whoever runs the agents" };
  }
}

/** What speaks to AWS is loaded here, and by nobody who does not need it. */
async function secretOf({ aws, env, cwd }: Settings, name: string): Promise<SecretLook> {
  if (aws === null) return lookFor(name, { env, file: join(cwd, ".env") });
  const { deploymentOf } = await import("../../adapters/aws/keys.ts");
  const { parameterSecrets } = await import("../../adapters/aws/secrets.ts");
  return parameterSecrets({ deployment: deploymentOf(aws.machine), names: [name] }).get(name);
}

function examineLocal({ terminal }: Shell, settings: Settings): Part {
  const { limits, command, dir } = settings;
  const bytes = statSync(join(dir, "cairn.sqlite"), { throwIfNoEntry: false })?.size ?? 0;
  // SQLite reads it without letting go of the process, so nothing could be drawn meanwhile.
  if (bytes > LARGE_BYTES)
    terminal.err(`reading all ${count(Math.round(bytes / 1024 ** 2), "MiB", "MiB")} of the store at ${dir}`);
  const now = Date.now();
  const seen = { look: lookAtStore(settings, now), limits, now, command };
  return { checks: judgeAll(LOCAL_CHECKS, { seen, production: false }), hints: [] };
}

/** What takes longer than a moment. */
const LARGE_BYTES = 256 * 1024 ** 2;

function lookAtStore(settings: Settings, now: number): StoreLook {
  if (isMissing(settings)) return { kind: "missing", dir: settings.dir };
  try {
    const { store } = openSettled(settings, { create: false, check: "none" });
    try {
      return { kind: "seen", store: inspectStore(store, { overdueBefore: now - settings.limits.overdueMs }) };
    } finally {
      store.close();
    }
  } catch (error) {
    const isStores = [StoreDamaged, StoreInvalid, StoreTooNew, StoreUnreachable].some((kind) => error instanceof kind);
    if (!isStores) throw error;
    return { kind: "broken", why: sentenceOf(error) };
  }
}

/** What speaks to AWS is loaded here, and by nobody who does not need it. */
async function examineAws(
  { terminal }: Shell,
  of: {
    readonly settings: Settings;
    readonly names: AwsNames;
    readonly agents: readonly string[];
    readonly production: boolean;
  },
): Promise<Part> {
  const { settings, names, production } = of;
  const { inspectAws } = await import("../../adapters/aws/inspection.ts");
  const { awsChecks } = await import("../../doctor/aws.ts");
  const { AWS_HINTS } = await import("../../doctor/aws-account.ts");
  const isolated = isolatedOf(settings, of.agents);
  const onLook = (what: string): void => terminal.waitFor(what);
  const aws = await inspectAws({ names, probe: production, onLook, agents: isolated });
  const seen = { aws, limits: settings.limits, isolated };
  return { checks: judgeAll(awsChecks({ production }), { seen, production }), hints: AWS_HINTS };
}
