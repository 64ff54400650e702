/**
 * Checks of agents that are possible before any run: whether they load, have their secrets, and declare what production
 * needs.
 */
import type { Agent } from "../ports/agent.ts";
import { EFFECTS } from "../core/calls/effects.ts";
import { priceWords } from "../sdk/prices.ts";
import { type DiagnosisCheck, type CheckVerdict, fail, ok, unknown, warn } from "../ports/diagnosis.ts";
import { NODE_MIN, isNodeTooOld } from "./node-version.ts";

/** An agent as the checks see it. */
export interface AgentSeen {
  readonly name: string;
  readonly version: string;
  /** Why the agent cannot run here; null: it can. */
  readonly unfit: string | null;
  /** Tools that must not run twice and need no approval. */
  readonly unsafeAlone: readonly string[];
  readonly doneChecks: number;
  /** Whether the agent limits the money or tokens of a run. */
  readonly isBounded: boolean;
  /** The price of its model and where it comes from, for humans; null if it is unknown. */
  readonly price: string | null;
}

/** A secret that an agent declares, and whether its world has it. The doctor never sees its value. */
export interface SecretSeen {
  readonly name: string;
  readonly agent: string;
  /**
   * `short`: too short to redact, because it would match too much other text. `unread`: the doctor has no permission to
   * look.
   */
  readonly is: "there" | "short" | "absent" | "unread";
  /** Where the doctor looked, or why it could not. */
  readonly why: string;
  readonly mend: string;
}

/** The server of a model of one's own, at the address that agents name. */
export interface ModelServerSeen {
  readonly address: string;
  readonly agents: readonly string[];
  /** Why it gave no answer of HTTP; null: it answers. */
  readonly silent: string | null;
}

/** Everything that the checks of agents need. */
export interface AgentsCase {
  /** The Node version that runs the doctor, such as `v24.9.0`. */
  readonly node: string;
  readonly agents: readonly AgentSeen[];
  /** Agent files that cannot be loaded, and why. */
  readonly broken: readonly string[];
  readonly secrets: readonly SecretSeen[];
  /** Absent: each model has the address of its provider. */
  readonly modelServers?: readonly ModelServerSeen[];
  /** The webhooks that the config names. Absent: it names none. */
  readonly webhooks?: WebhooksSeen;
}

interface WebhooksSeen {
  readonly count: number;
  readonly unsigned: readonly WebhookUnsigned[];
  /** Those that accepted none of the last requests. Empty too where there is no store yet. */
  readonly failing: readonly WebhookFailing[];
  /** Those that the config named before, and for which something waits. */
  readonly removed: readonly { readonly id: string; readonly to: string }[];
}

interface WebhookFailing {
  readonly to: string;
  readonly failures: number;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly why: string;
}

/** A webhook whose requests cannot be signed, so that nothing is sent to it. */
interface WebhookUnsigned {
  readonly to: string;
  readonly is: "absent" | "unread" | "malformed";
  readonly why: string;
  readonly mend: string;
}

/** Reduces an agent to what the checks need. */
export const agentSeen = (agent: Agent, unfit: string | null): AgentSeen => ({
  name: agent.name,
  version: agent.version,
  unfit,
  unsafeAlone: Object.entries(agent.tools).flatMap(([name, { effect, approval }]) =>
    !EFFECTS[effect].mayRepeat && approval === "never" ? [name] : [],
  ),
  doneChecks: agent.done.length,
  isBounded: agent.budget.microUsd !== null || agent.budget.tokens !== null,
  price: agent.priceFrom.kind === "none" ? null : priceWords(agent),
});

/** Checks that always run: Node's version, agent files and secrets. */
export const AGENT_CHECKS: readonly DiagnosisCheck<AgentsCase>[] = [
  {
    id: "node",
    says: "Node is new enough",
    judge: ({ node }) =>
      isNodeTooOld(node.slice(1)) ? fail(`this is ${node}`, `install Node ${NODE_MIN} or newer`) : ok(node),
  },
  {
    id: "agents",
    says: "every agent can be loaded with its models, and its timeouts fit into a beat",
    judge: ({ agents, broken }) => {
      const wrong = [...broken, ...agents.flatMap(({ unfit }) => unfit ?? [])];
      const mend = "fix the agent, or remove it from cairn.config.ts";
      if (wrong.length > 0) return fail(wrong.join("; "), mend);
      const names = agents.map(({ name, version }) => `${name} ${version}`);
      return names.length > 0
        ? ok(names.join(", "))
        : warn("there is no agent", "name an agent file in cairn.config.ts");
    },
  },
  {
    id: "agents-secrets",
    says: "each secret that an agent declares, or its model needs, has a value",
    needs: ["agents"],
    judge: ({ secrets }) => judgeSecrets(secrets),
  },
];

/** The check of models of one's own, for agents that name the address of one. A deployment may reach what a laptop does not. */
export const MODEL_CHECK: DiagnosisCheck<AgentsCase> = {
  id: "models",
  says: "the server of each model of one's own answers",
  needs: ["agents"],
  judge: ({ modelServers = [] }) => {
    const silent = modelServers.filter((each) => each.silent !== null);
    if (silent.length === 0) return ok(modelServers.map(({ address }) => address).join(", "));
    const why = silent.map(({ address, agents, silent: said }) => `${address} of ${agents.join(", ")}: ${said ?? ""}`);
    const mend = "start that server, or correct its address in the model of the agent; until then runs wait for it";
    return warn(`no answer from ${why.join("; ")}`, mend);
  },
};

/** The check of the webhooks, for a config that names some, or that named some for which notifications wait. */
export const WEBHOOK_CHECK: DiagnosisCheck<AgentsCase> = {
  id: "webhooks",
  says: "each webhook can be signed and accepts what it is sent",
  judge: ({ webhooks = { count: 0, unsigned: [], failing: [], removed: [] } }) => {
    const { count, unsigned, failing, removed } = webhooks;
    if (unsigned.length > 0) {
      const why = unsigned.map((each) => `nothing is sent to ${each.to}: ${each.why}`).join("; ");
      const verdict = unsigned.every(({ is }) => is === "unread") ? unknown : fail;
      return verdict(why, [...new Set(unsigned.map(({ mend }) => mend))].join("; "));
    }
    const refuse = failing.map(
      ({ to, failures, since, why }) =>
        `${to} refused the last ${failures} requests, since ${new Date(since).toISOString()}: ${why}`,
    );
    const wait = removed.map(({ to }) => `notifications wait for ${to}, which the config names no longer`);
    if (refuse.length + wait.length === 0) return ok(`${count} of ${count}`);
    const moves = removed.map(
      ({ id }) => `npx cairn webhooks redeliver ${id} --to ENDPOINT, or they expire after 30 days`,
    );
    const repair = failing.length === 0 ? [] : [REPAIR];
    return warn([...refuse, ...wait].join("; "), [...repair, ...moves].join("; "));
  },
};

const REPAIR =
  "repair the endpoint: after its next 2xx cairn sends what waits; npx cairn webhooks list shows what was given up";

function judgeSecrets(secrets: readonly SecretSeen[]): CheckVerdict {
  for (const { is, verdict, says } of LACKS) {
    const found = secrets.filter((each) => each.is === is);
    const named = found.map(({ name, agent }) => `${name} of ${agent}`).join(", ");
    const why = `${says}: ${named} (${found[0]?.why ?? ""})`;
    if (found.length > 0) return verdict(why, found.map(({ mend }) => mend).join("; "));
  }
  return ok(secrets.length === 0 ? "no agent declares a secret" : secrets.map(({ name }) => name).join(", "));
}

/** Problems with secrets, the worst first. */
const LACKS = [
  { is: "absent", verdict: fail, says: "not set" },
  { is: "unread", verdict: unknown, says: "cannot be checked here" },
  { is: "short", verdict: warn, says: "too short to be redacted reliably" },
] as const;

/** Checks of an agent's own declarations. They run only with `--production`. */
export const AGENT_RULES: readonly DiagnosisCheck<AgentsCase>[] = [
  {
    id: "agents-budget",
    says: "each agent limits the cost of a run",
    needs: ["agents"],
    strict: true,
    judge: ({ agents }) =>
      lacking(agents, {
        lacks: ({ isBounded }) => !isBounded,
        why: "no budget of money or tokens",
        mend: "write budget: { usd } with a price, or budget: { tokens }",
      }),
  },
  {
    id: "agents-price",
    says: "the price of each model is known",
    needs: ["agents"],
    judge: ({ agents }) => {
      const blind = agents.flatMap(({ name, price }) => (price === null ? [name] : []));
      const mend = "write prices: { MODEL: { inUsd, outUsd } } in cairn.config.ts";
      if (blind.length > 0) return warn(`${blind.join(", ")}: no price is known, so cairn cannot count the cost`, mend);
      return ok(agents.map(({ name, price }) => `${name}: ${price ?? ""}`).join("; "));
    },
  },
  {
    id: "agents-done",
    says: "each agent checks when a run is done",
    needs: ["agents"],
    judge: ({ agents }) =>
      lacking(agents, {
        lacks: ({ doneChecks }) => doneChecks === 0,
        why: "no done check: the model alone decides when a run is complete",
        mend: 'write done: [check("NAME", ...)]',
      }),
  },
  {
    id: "agents-unsafe",
    says: "calls that must not happen twice need approval first",
    needs: ["agents"],
    judge: ({ agents }) => {
      const alone = agents.flatMap(({ name, unsafeAlone }) => unsafeAlone.map((tool) => `${tool} of ${name}`));
      const why = `unsafe and without approval: ${alone.join(", ")}; a process death during such a call blocks its run until an operator reconciles it`;
      return alone.length === 0
        ? ok("no unsafe tool runs without approval")
        : warn(why, 'write approval: "always", or make it keyed or probed');
    },
  },
];

function lacking(
  agents: readonly AgentSeen[],
  { lacks, why, mend }: { readonly lacks: (agent: AgentSeen) => boolean; readonly why: string; readonly mend: string },
) {
  const names = agents.filter(lacks).map(({ name }) => name);
  return names.length === 0
    ? ok(`${agents.length} of ${agents.length} agents`)
    : warn(`${names.join(", ")}: ${why}`, mend);
}
