/**
 * `cairn doctor [--production] [--run RUN]`: checks everything that runs need, and says how to repair what is wrong. It
 * changes nothing.
 *
 * Exits 1 if a check failed. A check that could not be made is `unknown`, which is not a failure.
 */
import { unsignedWebhooks } from "../../compose/webhook-secrets.ts";
import { wrongWithCaps } from "../../compose/check-caps.ts";
import { checkHere } from "../../compose/check-here.ts";
import { isolatedOf } from "../../sdk/config.ts";
import { AgentInvalid } from "../../ports/agent-invalid.ts";
import { ModelNotReady, namedModelsOf } from "../../ports/named-models.ts";
import { requireProviders } from "../../providers/named-model.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import type { Agent } from "../../ports/agent.ts";
import { SECRET_CHARACTERS_MIN } from "../../codec/redaction/redaction.ts";
import { pricedBy } from "../../sdk/prices.ts";
import { sentenceOf } from "../../codec/value.ts";
import {
  AGENT_CHECKS,
  AGENT_RULES,
  MODEL_CHECK,
  WEBHOOK_CHECK,
  type AgentsCase,
  type ModelServerSeen,
  type SecretSeen,
  agentSeen,
} from "../../doctor/agents.ts";
import { type Diagnosis, type ExaminedStore, type Judged, judgeAll } from "../../ports/diagnosis.ts";
import type { DiagnoseOptions } from "../../ports/world-provider.ts";
import { checkBoundary } from "../../history/check-boundary.ts";
import { judgeBoundary } from "../../doctor/boundary.ts";
import { judgePoints } from "../../doctor/production.ts";
import { StoreUnreachable } from "../../ports/world.ts";
import { readWholeCatalogue } from "../../compose/catalogue.ts";
import type { RunOf } from "./show.ts";
import { storeWithRun } from "../choose-transport.ts";
import { EXIT, UserError } from "../../compose/user-error.ts";
import { openSettled } from "../../compose/open.ts";
import { StoreForeign, StoreInvalid, StoreTooNew, StoreUnusable } from "../../ports/store-errors.ts";
import { failingWebhooks, removedWebhooks } from "../../compose/webhook-circuits.ts";
import { type Examined, renderExamined } from "../../render/doctor.ts";
import { type Settings, settingsOf } from "../../compose/settings.ts";
import type { BeatFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";

export interface DoctorFlags extends BeatFlags {
  readonly production?: boolean;
  readonly run?: string;
  readonly wholeStore?: boolean;
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
  const { checks: found, hints } = await checked(shell, settings, {
    production,
    whole: flags.wholeStore === true,
    onLook: (what) => terminal.waitFor(what),
    // The look blocks the event loop, so the spinner cannot be drawn; a plain line is printed before it.
    onLong: (what) => terminal.err(what),
  });
  const stored = flags.run === undefined ? [] : await judgeStoredRun(shell, { run: flags.run, flags });
  terminal.waitFor(null);
  const checks = [...found, ...stored];
  const examined: Examined = {
    cairn: version,
    world: settings.provider.name,
    production,
    hints,
    ok: checks.every(({ status }) => status !== "fail"),
    checks: production ? [...checks, ...judgePoints(checks)] : checks,
  };
  if (shell.json) printDocument(shell, examined);
  else terminal.out(renderExamined(examined, terminal.paintOut));
  return examined.ok ? EXIT.done : EXIT.failed;
}

/** The same checks for a server: it prints nothing while it looks. */
export async function examinedNow(
  shell: Shell,
  { settings, version }: { readonly settings: Settings; readonly version: string },
): Promise<ExaminedStore> {
  const quiet = (): void => undefined;
  const { checks } = await checked(shell, settings, { production: false, whole: false, onLook: quiet, onLong: quiet });
  return { cairn: version, world: settings.provider.name, checks };
}

async function checked(
  shell: Shell,
  settings: Settings,
  look: Pick<DiagnoseOptions, "production" | "onLook" | "onLong"> & { readonly whole: boolean },
): Promise<Diagnosis> {
  const { production } = look;
  const seen = await lookAtAgents(shell, settings);
  const always = [
    ...AGENT_CHECKS,
    ...(seen.modelServers === undefined ? [] : [MODEL_CHECK]),
    ...(seen.webhooks === undefined ? [] : [WEBHOOK_CHECK]),
  ];
  const agents = judgeAll(production ? [...always, ...AGENT_RULES] : always, { seen, production });
  const { world, limits, command } = settings;
  const names = seen.agents.map(({ name }) => name);
  const isolated = settings.hasConfig ? isolatedOf(settings, names) : [];
  const diagnosed = await world.diagnose({
    ...look,
    limits,
    command,
    isolated,
    agents: settings.hasConfig ? names : null,
  });
  return { checks: [...agents, ...diagnosed.checks], hints: diagnosed.hints };
}

/** Checks the stored fields of one run against the persistence boundary. */
async function judgeStoredRun(shell: Shell, typed: RunOf): Promise<readonly Judged[]> {
  const { transport, run } = await storeWithRun(shell, typed);
  const { opened } = transport;
  shell.terminal.waitFor(`reading ${run}`);
  const checked = await checkBoundary(opened.world, run);
  if (checked === null) throw transport.gone(run);
  return judgeBoundary(checked, { verify: opened.settings.command("verify", run) });
}

async function lookAtAgents(shell: Shell, settings: Settings): Promise<AgentsCase> {
  const { agentFiles, exampleFiles, prices, webhooks } = settings;
  const catalogue = await readWholeCatalogue([...agentFiles, ...exampleFiles]);
  const { agents, broken } = catalogue;
  const wrongCap = await wrongWithCaps(shell, settings, catalogue);
  const priced = agents.map(({ agent }) => pricedBy(agent, prices));
  const unfit = async (agent: (typeof priced)[number]): Promise<string | null> => {
    try {
      checkHere(agent, settings);
      await requireProviders(agent);
      return null;
    } catch (error) {
      if (error instanceof ModelNotReady) return `agent ${agent.name}: ${error.message}`;
      if (!(error instanceof AgentInvalid)) throw error;
      return sentenceOf(error);
    }
  };
  const needed = (agent: (typeof priced)[number]): readonly string[] => {
    const keys = namedModelsOf(agent).flatMap(({ needsKey, secret }) => (needsKey ? [secret] : []));
    return [...new Set([...(agent.secrets ?? []), ...keys])];
  };
  const queues = await lookAtQueues(shell, settings);
  const modelServers = await lookAtModelServers(priced, shell.env);
  return {
    node: process.version,
    agents: await Promise.all(priced.map(async (agent) => agentSeen(agent, await unfit(agent)))),
    ...(modelServers.length > 0 && { modelServers }),
    broken: [...broken.map(({ why }) => why), ...(wrongCap === null ? [] : [wrongCap])],
    ...((webhooks.length > 0 || queues.removed.length > 0) && {
      webhooks: { count: webhooks.length, unsigned: await unsignedWebhooks(settings), ...queues },
    }),
    secrets: await Promise.all(
      priced.flatMap((agent) => needed(agent).map((name) => lookAtSecret(settings, agent.name, name))),
    ),
  };
}

/** How long a server may take to its answer. It loads no model for it. */
const MODEL_SERVER_MS = 3_000;

/** Where the packages of providers read an address in place of the provider's own. */
const ADDRESSES: Readonly<Record<string, string>> = {
  "@ai-sdk/anthropic": "ANTHROPIC_BASE_URL",
  "@ai-sdk/openai": "OPENAI_BASE_URL",
  "@ai-sdk/amazon-bedrock": "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
};

/** Any answer shows that the server is there: not every one lists its models, and some ask for a key first. */
async function lookAtModelServers(agents: readonly Agent[], env: Shell["env"]): Promise<readonly ModelServerSeen[]> {
  const named = agents.flatMap((agent) =>
    namedModelsOf(agent).flatMap(({ baseURL: own, package: speaks }) => {
      const baseURL = own ?? env[ADDRESSES[speaks ?? ""] ?? ""] ?? "";
      return baseURL === "" ? [] : [{ baseURL, agent: agent.name }];
    }),
  );
  const ofServers = [...Map.groupBy(named, ({ baseURL }) => baseURL)];
  return Promise.all(
    ofServers.map(async ([address, users]) => {
      const silent = await fetch(`${address.replace(/\/$/, "")}/models`, {
        redirect: "manual",
        signal: AbortSignal.timeout(MODEL_SERVER_MS),
      }).then(async (answer) => {
        await answer.body?.cancel();
        return null;
      }, saidBy);
      return { address, agents: [...new Set(users.map(({ agent }) => agent))], silent };
    }),
  );
}

/** `fetch` says only that it failed. Its cause says why. */
const saidBy = (error: unknown): string =>
  sentenceOf(error instanceof TypeError && error.cause !== undefined ? error.cause : error);

const OF_THE_STORE = [StoreUnreachable, StoreUnusable, StoreInvalid, StoreTooNew, StoreForeign, UserError];

/** What is wrong with the store itself is said by its own checks. */
async function lookAtQueues(
  shell: Shell,
  settings: Settings,
): Promise<Pick<NonNullable<AgentsCase["webhooks"]>, "failing" | "removed">> {
  const unseen = { failing: [], removed: [] };
  if (!settings.world.isThere()) return unseen;
  try {
    const opened = await openSettled(shell, settings, { create: false });
    const { world } = opened;
    const { webhooks } = settings;
    try {
      return { failing: await failingWebhooks(world, webhooks), removed: await removedWebhooks(world, webhooks) };
    } finally {
      // A server looks again and again.
      opened.close();
    }
  } catch (error) {
    if (OF_THE_STORE.some((kind) => error instanceof kind)) return unseen;
    throw error;
  }
}

async function lookAtSecret(settings: Settings, agent: string, name: string): Promise<SecretSeen> {
  try {
    const look = await settings.world.findSecret(name);
    if (look.kind !== "found") return { name, agent, is: look.kind, why: look.where, mend: look.mend };
    const is = look.value.length < SECRET_CHARACTERS_MIN ? "short" : "there";
    const why = `it has fewer than ${SECRET_CHARACTERS_MIN} characters`;
    return { name, agent, is, why, mend: `give ${name} a longer value` };
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return { name, agent, is: "unread", why: sentenceOf(error), mend: "run doctor as the user who runs the agents" };
  }
}
