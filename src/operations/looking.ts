/** The operations that only read, as rows of the operation table. */
import * as z from "zod";
import { type Status, PHASES, PHASE_NAMES } from "../core/phases.ts";
import { type Exported, exportRun } from "../history/export.ts";
import { type Verified, verify } from "../history/verify.ts";
import { type Receipt, receiptOf } from "../history/receipt.ts";
import { HELP } from "./help.ts";
import { type AgentList, listAgents } from "./agents.ts";
import { listGates } from "./approvals.ts";
import { type Finding, diagnose } from "./diagnose.ts";
import { type Listed, listRuns } from "./list.ts";
import { RESPONSES, runInput, operation, respond } from "./operation.ts";
import { EVENT_BYTES_MAX, type EventPage, POLL_SECONDS_MAX, pollEvents } from "./event-page.ts";
import { type LedgerEntry, type Shown, ledger, showRow, timeline } from "./views.ts";

const statuses: readonly Status[] = ["queued", ...new Set(PHASE_NAMES.map((name) => PHASES[name].status))];

/** The most runs or calls in one response. */
const LISTED_MAX = 500;

type Missing = { readonly kind: "missing" };

export const READ_ROWS = {
  list: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "list" }] },
    help: HELP.list,
    input: z.strictObject({
      status: z.enum(statuses).nullable().default(null),
      agent: z.string().nullable().default(null),
      limit: z.int().min(1).max(100_000).default(20),
      after: z.string().nullable().default(null),
    }),
    run: ({ world, tenant }, wanted): Promise<Listed> => listRuns(world, { tenant, ...wanted }),
    outcomes: { listed: respond.done("The runs are listed.") },
    http: { method: "get", path: "/runs", bounds: { limit: z.int().min(1).max(LISTED_MAX).default(20) } },
  }),
  show: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "show" }] },
    help: HELP.show,
    input: runInput,
    run: async ({ world, row: seen }, of): Promise<Missing | { readonly kind: "shown"; readonly shown: Shown }> => {
      const row = seen ?? (await world.table.read(of.run, world.clock.now()));
      const shown = row === null ? null : await showRow(world, row);
      return shown === null ? { kind: "missing" } : { kind: "shown", shown };
    },
    outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
    http: { method: "get", path: "/runs/{run}" },
  }),
  timeline: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "timeline" }] },
    help: HELP.timeline,
    input: runInput.extend({
      after: z.int().nonnegative().default(0),
      wait: z.int().min(0).max(POLL_SECONDS_MAX).default(0),
      bytesMax: z.int().positive().nullable().default(null),
    }),
    run: async ({ world }, of): Promise<Missing | EventPage> => (await pollEvents(world, of)) ?? { kind: "missing" },
    outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
    http: {
      ...{ method: "get", path: "/runs/{run}/events" },
      bounds: { bytesMax: z.int().min(1).max(EVENT_BYTES_MAX).default(EVENT_BYTES_MAX) },
    },
  }),
  ledger: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "ledger" }] },
    help: HELP.ledger,
    input: runInput.extend({
      after: z.int().nonnegative().default(0),
      limit: z.int().positive().nullable().default(null),
    }),
    run: async (
      { world },
      { run: of, after, limit },
    ): Promise<
      Missing | { readonly kind: "shown"; readonly calls: readonly LedgerEntry[]; readonly next: number | null }
    > => {
      const all = await ledger(world, of);
      if (all === null) return { kind: "missing" };
      const calls = all.slice(after, limit === null ? undefined : after + limit);
      return { kind: "shown", calls, next: after + calls.length < all.length ? after + calls.length : null };
    },
    outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
    http: {
      ...{ method: "get", path: "/runs/{run}/ledger" },
      bounds: { limit: z.int().min(1).max(LISTED_MAX).default(LISTED_MAX) },
    },
  }),
  cost: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "cost" }] },
    help: HELP.cost,
    input: runInput,
    run: async ({ world }, of): Promise<Missing | { readonly kind: "shown"; readonly receipt: Receipt }> => {
      const events = await timeline(world, { run: of.run, after: 0 });
      return events === null ? { kind: "missing" } : { kind: "shown", receipt: receiptOf(events) };
    },
    outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
    http: { method: "get", path: "/runs/{run}/cost" },
  }),
  diagnose: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "diagnose" }] },
    help: HELP.diagnose,
    input: runInput,
    run: async (
      { world },
      of,
    ): Promise<Missing | { readonly kind: "shown"; readonly findings: readonly Finding[] }> => {
      const findings = await diagnose(world, of.run);
      return findings === null ? { kind: "missing" } : { kind: "shown", findings };
    },
    outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
    http: { method: "get", path: "/runs/{run}/diagnosis" },
  }),
  approvals: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "approvals" }] },
    help: HELP.approvals,
    input: z.strictObject({
      after: z.string().nullable().default(null),
      bytesMax: z.int().positive().nullable().default(null),
    }),
    run: ({ world, tenant }, of) => listGates(world, { tenant, ...of }),
    outcomes: { listed: respond.done("The open gates and questions are listed.") },
    http: {
      ...{ method: "get", path: "/approvals" },
      bounds: { bytesMax: z.int().min(1).max(EVENT_BYTES_MAX).default(EVENT_BYTES_MAX) },
    },
  }),
  agents: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "agents" }] },
    help: HELP.agents,
    input: z.strictObject({}),
    run: async ({ agents }): Promise<AgentList> => listAgents((await agents?.()) ?? { agents: [], broken: [] }),
    outcomes: { listed: respond.done("The agents are listed.") },
    http: { method: "get", path: "/agents" },
  }),
  verify: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "verify" }] },
    help: HELP.verify,
    input: runInput,
    run: async (
      { world, onStep },
      of,
    ): Promise<Missing | { readonly kind: "whole" | "differs"; readonly verified: Verified }> => {
      const verified = await verify(world, { run: of.run, ...(onStep && { onStep }) });
      if (verified === null) return { kind: "missing" };
      return { kind: verified.findings.length === 0 ? "whole" : "differs", verified };
    },
    outcomes: {
      whole: respond.done("All data is unchanged and complete."),
      differs: { exit: "failed", status: 200, code: null, says: "Some data is changed or missing." },
      missing: RESPONSES.missing,
    },
    http: { method: "get", path: "/runs/{run}/verification" },
  }),
  export: operation({
    ...{ scope: "read", writes: false, typed: [{ command: "export" }, { command: "pin", help: HELP.pin }] },
    help: HELP.export,
    input: runInput,
    run: async (
      { world, onStep, write = () => undefined },
      of,
    ): Promise<Missing | { readonly kind: "exported"; readonly exported: Exported }> => {
      const exported = await exportRun(world, { run: of.run, write, ...(onStep && { onStep }) });
      return exported === null ? { kind: "missing" } : { kind: "exported", exported };
    },
    outcomes: { exported: respond.done("It is exported."), missing: RESPONSES.missing },
  }),
} as const;
