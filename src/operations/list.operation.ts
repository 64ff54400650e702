import * as z from "zod";
import { CRACK_NAMES } from "../core/crack.ts";
import { PHASES, PHASE_NAMES, type Status } from "../core/phases.ts";
import { LISTED_MAX, type Listed, listRuns } from "./list.ts";
import { operation, respond } from "./operation.ts";
import { type Syntaxes, tenantFlag, wholeNumbers } from "./syntax.ts";
import { wantedLabels } from "./values.ts";

const statuses: readonly Status[] = ["queued", ...new Set(PHASE_NAMES.map((name) => PHASES[name].status))];

export const listOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "list" }],
  help: "list runs, the latest change of status first",
  input: z.strictObject({
    status: z.enum(statuses).nullable().default(null),
    begins: z.string().min(1).nullable().default(null),
    agent: z.string().nullable().default(null),
    agentVersion: z.string().nullable().default(null),
    phase: z.enum(PHASE_NAMES).nullable().default(null),
    schedule: z.string().nullable().default(null),
    key: z.string().min(1).nullable().default(null),
    named: z.string().trim().min(1).nullable().default(null),
    label: wantedLabels.nullable().default(null),
    parent: z.string().min(1).nullable().default(null),
    crack: z.enum(CRACK_NAMES).nullable().default(null),
    since: z.int().nonnegative().nullable().default(null),
    usdAbove: z.number().nonnegative().nullable().default(null),
    tenant: z.string().nullable().default(null),
    limit: z.int().min(1).max(100_000).default(20),
    after: z.string().nullable().default(null),
  }),
  run: async (
    { world, tenant, isOperator = false },
    { tenant: asked, label, ...wanted },
  ): Promise<Listed | { readonly kind: "tenantForeign" }> => {
    if (asked !== null && asked !== tenant && !isOperator) return { kind: "tenantForeign" };
    return listRuns(world, { ...wanted, label: label === null ? null : [label].flat(), tenant: asked ?? tenant });
  },
  outcomes: {
    listed: respond.done("The runs are listed."),
    tenantForeign: {
      exit: "notFound",
      status: 404,
      code: "TenantForeign",
      says: "There is no such tenant, or the caller belongs to another one.",
    },
  },
  over: ["store", "http"],
  http: { method: "get", path: "/runs", bounds: { limit: z.int().min(1).max(LISTED_MAX).default(20) } },
});

export const listSyntax = (): Syntaxes => ({
  list: {
    group: "Inspecting",
    flags: [
      { flag: "--status <status>", help: "only runs of this status", choices: statuses },
      { flag: "--agent <name>", help: "only runs of this agent" },
      { flag: "--agent-version <version>", help: "only runs of this version of their agent" },
      { flag: "--phase <phase>", help: "only runs in this phase, such as AwaitingApproval", choices: PHASE_NAMES },
      { flag: "--schedule <agent>", help: "only runs that the schedule of this agent started" },
      { flag: "--key <key>", help: "only runs that were started under this key, or one that begins so" },
      { flag: "--named <text>", help: "only runs whose title or key begins with this text" },
      {
        flag: "--label <name=value>",
        help: "only runs that were started with this label, such as team=ops; several: with all of them",
        takes: { kind: "repeated" },
      },
      { flag: "--parent <run>", help: "only runs that this run started" },
      { flag: "--crack <name>", help: "only runs that gave this first signal of a failure", choices: CRACK_NAMES },
      { flag: "--since <time>", help: "only runs that began since then: an age such as 2h or 7d, or a date" },
      { flag: "--above <dollars>", help: "only runs that spent more", takes: { kind: "dollars" }, fills: "usdAbove" },
      tenantFlag("the tenant of the runs"),
      { flag: "--limit <n>", help: "at most this many", takes: wholeNumbers(1, 100_000), default: 20 },
    ],
  },
});
