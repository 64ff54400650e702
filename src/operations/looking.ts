/** The operations that only read, as rows of the operation table. */
import * as z from "zod";
import { CRACK_NAMES } from "../core/crack.ts";
import { type Status, PHASES, PHASE_NAMES } from "../core/phases.ts";
import { type Exported, exportRun } from "../history/export.ts";
import { type Verified, verify } from "../history/verify.ts";
import { type RunReceipt, receiptOfRun } from "../history/run-receipt.ts";
import { type FileFound, findFile } from "./files.ts";
import { HELP } from "./help.ts";
import { type AgentList, listAgents } from "./agents.ts";
import { listGates } from "./approvals.ts";
import { type Finding, diagnose } from "./diagnose.ts";
import { type Listed, listRuns } from "./list.ts";
import { RESPONSES, runInput, operation, respond } from "./operation.ts";
import { EVENT_BYTES_MAX, type EventPage, POLL_SECONDS_MAX, pollEvents, pollLive } from "./event-page.ts";
import { CURSOR, parseCursor } from "./live-cursor.ts";
import { type ReplayOutcome, replayStored } from "./replay.ts";
import { STATE_BYTES_MAX, showSnapshot } from "./snapshot.ts";
import { shownLedger } from "./ledger-view.ts";
import { type LedgerEntry, type Shown, showRow, timeline } from "./views.ts";

const statuses: readonly Status[] = ["queued", ...new Set(PHASE_NAMES.map((name) => PHASES[name].status))];

/** The most runs or calls in one response. */
const LISTED_MAX = 500;

const versionUnknown = {
  exit: "notFound",
  status: 404,
  code: "VersionUnknown",
  says: "The run has no such version.",
} as const;

type Missing = { readonly kind: "missing" };

export const READ_ROWS = {
  list: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "list" }] },
    help: HELP.list,
    input: z.strictObject({
      status: z.enum(statuses).nullable().default(null),
      agent: z.string().nullable().default(null),
      agentVersion: z.string().nullable().default(null),
      phase: z.enum(PHASE_NAMES).nullable().default(null),
      schedule: z.string().nullable().default(null),
      crack: z.enum(CRACK_NAMES).nullable().default(null),
      since: z.int().nonnegative().nullable().default(null),
      usdAbove: z.number().nonnegative().nullable().default(null),
      tenant: z.string().nullable().default(null),
      limit: z.int().min(1).max(100_000).default(20),
      after: z.string().nullable().default(null),
    }),
    run: async (
      { world, tenant, isOperator = false },
      { tenant: asked, ...wanted },
    ): Promise<Listed | { readonly kind: "tenantForeign" }> => {
      if (asked !== null && asked !== tenant && !isOperator) return { kind: "tenantForeign" };
      return listRuns(world, { ...wanted, tenant: asked ?? tenant });
    },
    outcomes: {
      listed: respond.done("The runs are listed."),
      tenantForeign: {
        ...{ exit: "notFound", status: 404, code: "TenantForeign" },
        says: "There is no such tenant, or the caller belongs to another one.",
      },
    },
    http: { method: "get", path: "/runs", bounds: { limit: z.int().min(1).max(LISTED_MAX).default(20) } },
  }),
  show: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "show" }] },
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
    ...{ scope: "runs:read", writes: false, typed: [{ command: "timeline" }] },
    help: HELP.timeline,
    input: runInput.extend({
      after: z.int().nonnegative().default(0),
      wait: z.int().min(0).max(POLL_SECONDS_MAX).default(0),
      startIndex: z.int().nonnegative().nullable().default(null),
      bytesMax: z.int().positive().nullable().default(null),
      deltas: z.boolean().default(false),
      cursor: z.string().regex(CURSOR).nullable().default(null),
    }),
    run: async ({ world }, { deltas, cursor, ...of }): Promise<Missing | EventPage> => {
      const place = parseCursor(cursor ?? `${of.after}`);
      const page = deltas ? pollLive(world, { ...of, cursor: place }) : pollEvents(world, of);
      return (await page) ?? { kind: "missing" };
    },
    outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
    http: {
      ...{ method: "get", path: "/runs/{run}/events" },
      bounds: { bytesMax: z.int().min(1).max(EVENT_BYTES_MAX).default(EVENT_BYTES_MAX) },
    },
  }),
  ledger: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "ledger" }] },
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
      const all = await shownLedger(world, of);
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
    ...{ scope: "runs:read", writes: false, typed: [{ command: "cost" }] },
    help: HELP.cost,
    input: runInput,
    run: async ({ world }, of): Promise<Missing | { readonly kind: "shown"; readonly receipt: RunReceipt }> => {
      const events = await timeline(world, { run: of.run, after: 0 });
      return events === null ? { kind: "missing" } : { kind: "shown", receipt: receiptOfRun(events) };
    },
    outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
    http: { method: "get", path: "/runs/{run}/cost" },
  }),
  diagnose: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "diagnose" }] },
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
    ...{ scope: "runs:read", writes: false, typed: [{ command: "approvals" }] },
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
    ...{ scope: "runs:read", writes: false, typed: [{ command: "agents" }] },
    help: HELP.agents,
    input: z.strictObject({}),
    run: async ({ agents }): Promise<AgentList> => listAgents((await agents?.()) ?? { agents: [], broken: [] }),
    outcomes: { listed: respond.done("The agents are listed.") },
    http: { method: "get", path: "/agents" },
  }),
  file: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "file" }] },
    help: HELP.file,
    input: runInput.extend({ file: z.string() }),
    run: ({ world, row }, of): Promise<FileFound> => findFile(world, { ...of, row }),
    outcomes: {
      found: respond.done("The file."),
      missing: RESPONSES.missing,
      fileUnknown: { exit: "notFound", status: 404, code: "FileUnknown", says: "The run has no such file." },
    },
    http: { method: "get", path: "/runs/{run}/files/{file}" },
  }),
  verify: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "verify" }] },
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
  snapshot: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "snapshot" }] },
    help: HELP.snapshot,
    input: runInput.extend({
      version: z.int().nonnegative(),
      bytesMax: z.int().positive().nullable().default(null),
    }),
    run: ({ world }, of) => showSnapshot(world, of),
    outcomes: { shown: RESPONSES.shown, versionUnknown, missing: RESPONSES.missing },
    http: {
      ...{ method: "get", path: "/runs/{run}/snapshots/{version}" },
      bounds: { bytesMax: z.int().min(1).max(STATE_BYTES_MAX).default(STATE_BYTES_MAX) },
    },
  }),
  replay: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "replay" }] },
    help: HELP.replay,
    input: runInput.extend({
      at: z.int().nonnegative().nullable().default(null),
      against: z.string().nullable().default(null),
    }),
    run: async (
      { world, agentOf },
      { run, at, against },
    ): Promise<ReplayOutcome | { readonly kind: "agentUnknown" }> => {
      const agent = against === null ? null : await agentOf(against);
      if (against !== null && agent === null) return { kind: "agentUnknown" };
      return replayStored(world, { run, at, against: agent });
    },
    outcomes: {
      identical: respond.done("The events give the stored states, and each compared request is the same."),
      differs: { exit: "failed", status: 200, code: null, says: "Something differs." },
      damaged: { exit: "failed", status: 200, code: null, says: "A part of the history cannot be read." },
      unrecorded: respond.refused("RequestsUnrecorded", "No reply has a digest of its request to compare with."),
      versionUnknown,
      agentUnknown: { exit: "notFound", status: 404, code: "AgentUnknown", says: "There is no such agent." },
      missing: RESPONSES.missing,
    },
    http: { method: "get", path: "/runs/{run}/replay" },
  }),
  export: operation({
    ...{ scope: "runs:read", writes: false, typed: [{ command: "export" }, { command: "pin", help: HELP.pin }] },
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
    http: { method: "get", path: "/runs/{run}/export" },
  }),
} as const;
